#!/usr/bin/env bash
# On a session bus of its own: without one the doctor says that there is no keychain; with an unlocked one it can be used.
set -uo pipefail
chmod 700 "$HOME"
config=$HOME/config.toml
printf '[telegram]\nenabled = true\ntoken = "keychain"\napi_url = "http://127.0.0.1:9"\n' > "$config"
doctor() { "$UNAVEZD" --config "$config" --data "$HOME/unavez" doctor 2>&1; }

missing=$(DBUS_SESSION_BUS_ADDRESS=unix:path=$HOME/no-bus doctor)
grep -qi keychain <<<"$missing" || { echo "no word of the keychain while there is none: $missing"; exit 1; }

eval "$(printf 'pass' | gnome-keyring-daemon --unlock --components=secrets --daemonize 2>/dev/null)"
printf 'probe' | secret-tool store --label=probe kind probe || { echo "the keychain of the test does not work"; exit 1; }
present=$(doctor)
[ "$missing" != "$present" ] || { echo "the doctor says the same with and without a keychain: $present"; exit 1; }
echo "with and without: told apart"
