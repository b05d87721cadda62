#!/usr/bin/env bash
# Installs the window's packages from its lock file, then type-checks and tests it.
set -euo pipefail
cd "$(dirname "$0")/../ui"
[ -d node_modules ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error
npm test
