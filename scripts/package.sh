#!/usr/bin/env bash
# Builds the window in release form, packs it as a .deb, and writes a bill of materials beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd ui && { [ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run build)
cargo build --locked --release -p unavez-desktop --features custom-protocol
# Bundled apart from the build: the command-line tool would take the core's second program for a sidecar.
npx --yes @tauri-apps/cli@2.12.5 bundle --bundles deb
node scripts/licences.mjs --sbom target/release/unavez.cdx.json
ls -lh target/release/bundle/deb/*.deb target/release/unavez.cdx.json
