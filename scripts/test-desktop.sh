#!/usr/bin/env bash
# Drives the real window through WebDriver under a virtual display.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd ui && { [ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run build)
cargo build --locked -p unavez-desktop --features custom-protocol
export WEBKIT_DISABLE_DMABUF_RENDERER=1 LIBGL_ALWAYS_SOFTWARE=1
exec xvfb-run -a -s '-screen 0 1280x900x24' dbus-run-session -- \
  cargo test --locked -p unavez --test desktop -- --test-threads=1 --nocapture "$@"
