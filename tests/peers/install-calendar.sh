#!/usr/bin/env bash
# Installs the calendar servers that tests/peers/calendar.rs drives: Radicale, Xandikos and the Google emulator myworld.
set -euo pipefail
cd "$(dirname "$0")"
home=.cache/calendar
wanted="radicale==3.9.0 xandikos==0.4.10 myworld[gateway]==0.2.1"
[ "$(cat $home/installed 2>/dev/null || true)" = "$wanted" ] && exit 0
mkdir -p .cache
python3 -m venv $home || { echo "SKIPPED: calendar servers (python3-venv is missing)"; exit 0; }
for package in $wanted; do
  $home/bin/pip install -q --disable-pip-version-check "$package" || echo "SKIPPED: $package cannot be installed here"
done
echo "$wanted" > $home/installed
