#!/usr/bin/env bash
# Installs the third-party servers of the peer tests into tests/peers/.cache (ignored by git), once per set of versions.
# What cannot be installed is named here and skipped, loudly, by its tests.
set -uo pipefail
cd "$(dirname "$0")"
cache=$PWD/.cache
mkdir -p "$cache/npm"

fresh() { # fresh STAMP FILE...: has nothing of FILE changed since STAMP was written?
  local stamp=$1; shift
  [ -f "$stamp" ] && cat "$@" | cmp -s - "$stamp"
}

if ! fresh "$cache/npm/.installed" package.json package-lock.json; then
  echo "installing from npm: crabline (Telegram), aimock (model), emulate (sign-in), reference servers (MCP)"
  cp package.json package-lock.json "$cache/npm/"
  if (cd "$cache/npm" && npm ci --no-audit --no-fund --loglevel=error); then
    cat package.json package-lock.json > "$cache/npm/.installed"
  else
    echo "SKIPPED npm peers: npm could not install them"
  fi
fi

# emulate needs Node 22.15; an older Node on the way in gets a newer one beside it.
if ! node -e 'const [a,b]=process.versions.node.split(".").map(Number); process.exit(a>22||(a===22&&b>=15)?0:1)'; then
  if [ ! -x "$cache/node/node_modules/node/bin/node" ]; then
    echo "installing from npm: Node 24 for emulate"
    mkdir -p "$cache/node"
    (cd "$cache/node" && npm init -y >/dev/null && npm install --save-exact --no-audit --no-fund --loglevel=error node@24.21.0) \
      || echo "SKIPPED emulate: Node 24 could not be installed"
  fi
fi

if ! fresh "$cache/venv/.installed" requirements.txt; then
  echo "installing from PyPI: myworld (Google), Radicale and Xandikos (CalDAV)"
  # Debian's own Python first: it is the one that python3-venv belongs to.
  python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
  rm -rf "$cache/venv"
  if "$python" -m venv "$cache/venv" && "$cache/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt; then
    cp requirements.txt "$cache/venv/.installed"
  else
    echo "SKIPPED PyPI peers: pip could not install them"
  fi
fi
