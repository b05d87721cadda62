#!/usr/bin/env bash
# One table of measures on this machine, optimised build. Times are medians of repeated runs.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --release -p unavez --bin unavezd
UNAVEZD=$PWD/target/release/unavezd exec cargo bench --locked -p unavez --bench table
