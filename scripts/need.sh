#!/usr/bin/env bash
# need.sh GROUP...: installs the Debian packages of these groups that are missing, the list printed first.
# On other systems it only says what is needed and goes on: most of it is there under other names.
set -euo pipefail

packages() {
  case "$1" in
    build) echo build-essential pkg-config curl ca-certificates git ;;
    window) echo libwebkit2gtk-4.1-dev libgtk-3-dev libayatana-appindicator3-dev librsvg2-dev file ;;
    desktop) echo xvfb webkit2gtk-driver dbus dbus-x11 imagemagick xdotool dunst fonts-dejavu-core fonts-noto-color-emoji ;;
    peers) echo exim4-daemon-light dovecot-imapd dovecot-lmtpd python3-venv xvfb dbus dbus-x11 dunst gnome-keyring libsecret-tools xdotool openssl ;;
    bench) echo python3-venv strace ;;
    *) echo "need.sh: unknown group $1" >&2; exit 2 ;;
  esac
}

for tool in cargo node npm; do
  command -v "$tool" >/dev/null || { echo "missing: $tool (install Rust from https://rustup.rs and Node 20 or later from https://nodejs.org)" >&2; exit 1; }
done

wanted=$(for group in "$@"; do packages "$group"; done | tr ' ' '\n' | sort -u)
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "not a Debian system: what Debian calls $(echo $wanted) should be installed" >&2
  exit 0
fi

missing=()
for package in $wanted; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "These Debian packages are missing and will be installed: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "not root and no sudo: install them yourself, then try again" >&2; exit 1; }
  as_root=(sudo)
fi

# Mail servers must not start by being installed: the tests run their own on loopback ports.
policy=/usr/sbin/policy-rc.d
placed=no
if [[ " ${missing[*]} " == *" exim4"* || " ${missing[*]} " == *" dovecot"* ]] && [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  "${as_root[@]}" chmod 755 $policy
  placed=yes
fi
trap '[ $placed = no ] || "${as_root[@]}" rm -f $policy' EXIT

install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}")
"${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update -qq && "${install[@]}" >/dev/null; }
