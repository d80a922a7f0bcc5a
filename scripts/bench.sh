#!/usr/bin/env bash
# Ratios against anchors that are measured in the same run. Needs bin/berth.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./scripts/bench -berth bin/berth "$@"
