#!/usr/bin/env bash
# Prints the folder of the pinned node tools (cdk, cdklocal), which it first
# installs into the cache folder when infra/package-lock.json changed.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo 'npm is not there: install Node.js 20 or newer' >&2
  exit 1
fi
cache=${BERTH_CACHE:-$PWD/.cache}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
tools=$cache/node-$(cat infra/package.json infra/package-lock.json | cksum | cut -d' ' -f1)
if [ ! -d "$tools" ]; then
  # Made beside and moved: two that install at once do not meet.
  new=$(mktemp -d "$cache/node-new-XXXXXX")
  trap 'rm -rf "$new"' EXIT
  cp infra/package.json infra/package-lock.json "$new"
  (cd "$new" && npm ci --silent --no-audit --no-fund --ignore-scripts) >&2
  mv -n -T "$new" "$tools" 2>/dev/null || [ -d "$tools" ] || mv "$new" "$tools"
fi
printf '%s\n' "$tools/node_modules/.bin"
