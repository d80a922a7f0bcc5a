#!/usr/bin/env bash
# Runs the pinned SAM command line, which it first installs into a virtual
# environment in the cache folder: scripts/sam.sh validate
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import sys, venv, ensurepip; assert sys.version_info >= (3, 10)' 2>/dev/null; then
  echo 'Python 3.10 or newer with venv is not there' >&2
  exit 1
fi
cache=${BERTH_CACHE:-$root/.cache}
mkdir -p "$cache"
tools=$cache/sam-$({ "$python" --version; cat "$root/infra/sam-requirements.txt"; } | cksum | cut -d' ' -f1)
if [ ! -e "$tools/installed" ]; then
  # A virtual environment knows its own path, so it is made in place; one that was
  # cut short is made anew.
  "$python" -m venv --clear "$tools" >&2
  # The list is whole; without --no-deps pip wants pins of extras too.
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
    --requirement "$root/infra/sam-requirements.txt" >&2
  touch "$tools/installed"
fi
export SAM_CLI_TELEMETRY=0
exec "$tools/bin/sam" "$@"
