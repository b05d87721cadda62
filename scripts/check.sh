#!/usr/bin/env bash
# Everything that is judged without running the program.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; }

step "formatting"
cargo fmt --all --check

step "lints, warnings are errors"
cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
cargo clippy --locked -p unavez --all-targets --features proof --quiet -- -D warnings

step "the repository's own rules"
cargo test --locked -p unavez --features proof --test tidy --quiet

step "licences, sources and banned packages"
node scripts/licences.mjs

step "scripts parse"
for file in scripts/*.sh .ci/run tests/peers/*.sh; do bash -n "$file"; done

if [ -f ui/package.json ]; then
  step "the window: types and style"
  (cd ui && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run --if-present check && npm run --if-present lint)
fi
echo "check: all good"
