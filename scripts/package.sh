#!/usr/bin/env bash
# Builds the window in release form, packs it as a .deb, looks into the package, and writes a bill of materials beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd ui && { [ -d node_modules ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run build)
cargo build --locked --release -p unavez-desktop --features custom-protocol
# Bundled apart from the build: the command-line tool would take the core's second program for a sidecar.
npx --yes @tauri-apps/cli@2.12.5 bundle --bundles deb
node scripts/licences.mjs --sbom target/release/unavez.cdx.json

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
package=$(ls target/release/bundle/deb/Unavez_"$version"_*.deb)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
dpkg-deb -x "$package" "$root"
for file in usr/bin/unavez usr/share/applications/Unavez.desktop usr/share/metainfo/app.unavez.desktop.metainfo.xml usr/share/icons/hicolor/scalable/apps/unavez.svg; do
  [ -f "$root/$file" ] || { echo "the package lacks $file" >&2; exit 1; }
done
! ldd "$root/usr/bin/unavez" | grep 'not found' || { echo "the packed program needs a library that is not there" >&2; exit 1; }
[ "$("$root/usr/bin/unavez" --version)" = "unavez $version" ] || { echo "the packed program does not tell version $version" >&2; exit 1; }
ls -lh "$package" target/release/unavez.cdx.json
echo "Install it with: sudo apt install ./$package"
