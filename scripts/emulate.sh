#!/usr/bin/env bash
# An emulator of AWS with berth deployed to it: `emulate.sh up` or `emulate.sh down`.
# EMULATOR is localstack or ministack, PORT that of its endpoint (0: a free one).
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./scripts/emulate -emulator "${EMULATOR:-localstack}" -port "${PORT:-4566}" "${1:-up}"
