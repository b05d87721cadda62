#!/usr/bin/env bash
# Installs the third-party servers (pinned, into tests/peers/.cache), then drives the real program against them.
# A server that cannot be installed here is skipped with a line that says so and why.
set -euo pipefail
cd "$(dirname "$0")/.."
tests/peers/install.sh
# One at a time: the servers share ports and two cores.
exec cargo test --locked -p unavez --features proof --test peers -- --test-threads=1 --nocapture "$@"
