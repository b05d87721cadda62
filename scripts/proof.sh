#!/usr/bin/env bash
# proof.sh short|long|sim: the proofs of docs/RELIABILITY.md. "short" is time-boxed for CI, "long" reaches the stated numbers.
# Every layer prints one line that begins with PROOF and carries its counts.
set -euo pipefail
cd "$(dirname "$0")/.."

# Ignored in an ordinary run because they are bounded by time or count, not by their nature.
layer() {
  cargo test --locked -p unavez --features proof --test suite -- --ignored --nocapture --test-threads=1 "$@"
}

case "${1:-short}" in
  short)
    export UNAVEZ_KILL_SECONDS=${UNAVEZ_KILL_SECONDS:-150} UNAVEZ_SIM_SECONDS=${UNAVEZ_SIM_SECONDS:-120}
    layer proof_
    ;;
  long)
    export UNAVEZ_KILL_ROUNDS=${UNAVEZ_KILL_ROUNDS:-2000} UNAVEZ_SIM_SEEDS=${UNAVEZ_SIM_SEEDS:-10000} PROPTEST_CASES=${PROPTEST_CASES:-10000}
    layer proof_
    ;;
  sim) layer proof_simulation ;;
  *) echo "usage: proof.sh short|long|sim" >&2; exit 2 ;;
esac
