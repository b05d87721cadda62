#!/usr/bin/env bash
# Runs the tests of the core and the shell, with failpoints compiled in. Uses cargo-nextest where it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
if cargo nextest --version >/dev/null 2>&1; then
  exec cargo nextest run --locked --workspace --features unavez/proof "$@"
fi
exec cargo test --locked --workspace --features unavez/proof "$@"
