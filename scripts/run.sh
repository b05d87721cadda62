#!/usr/bin/env bash
# Starts Unavez for a look: the window where there is a display, else the agent without one.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ "${UNAVEZ_HEADLESS:-}" != 1 ]; then
  scripts/need.sh build window
  (cd ui && { [ -d node_modules ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run build)
  exec cargo run --locked -p unavez-desktop --features custom-protocol
fi

scripts/need.sh build
echo "No display: starting the agent without a window, in practice mode (no AI, no accounts needed)."
cargo build --locked -p unavez --bin unavezd

# A place of its own, so that trying it touches no real configuration.
place=target/practice
mkdir -p "$place"
chmod 700 "$place"
[ -s "$place/token" ] || (umask 077; node -e 'process.stdout.write(require("crypto").randomBytes(24).toString("base64url"))' > "$place/token")
cat > "$place/config.toml" <<TOML
[model]
provider = "practice"

[http]
enabled = true
bind = "127.0.0.1:${UNAVEZ_PORT:-0}"
token = { file = "$PWD/$place/token" }
TOML

ready="$place/ready"
: > "$ready"
target/debug/unavezd --config "$place/config.toml" --data "$place/data" run > "$ready" &
agent=$!
trap 'kill $agent 2>/dev/null || true; wait $agent 2>/dev/null || true' EXIT INT TERM
until grep -q '^ready' "$ready"; do
  kill -0 $agent 2>/dev/null || { wait $agent; exit $?; }
  sleep 0.1
done
address=$(sed -n 's/^ready \(http[^ ]*\).*/\1/p' "$ready")
cat <<TEXT

Unavez is running at $address. In another terminal, talk to it:

  curl -s $address/api/sessions/me/invoke -H "Authorization: Bearer $(cat "$place/token")" \\
    -H 'Content-Type: application/json' -d '{"message": "Schedule lunch with Bo on Tuesday at 12"}'

Say it twice and look at what was prevented:

  target/debug/unavezd --config $place/config.toml --data $place/data duplicates list

Ctrl-C stops it.
TEXT
wait $agent
