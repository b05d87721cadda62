#!/usr/bin/env bash
# Screenshots of the real window for the README: the desktop tests leave them in docs/pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p docs/pictures
UNAVEZ_PICTURES=$PWD/docs/pictures exec scripts/test-desktop.sh "$@"
