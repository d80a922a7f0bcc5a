#!/usr/bin/env bash
# Writes requirements.txt and ministack.txt again from what the .in files ask for.
# It needs uv (`pip install uv`), and Python 3.13 for the first.
set -euo pipefail
cd "$(dirname "$0")"
options=(--quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header)
uv pip compile "${options[@]}" --python-version 3.13 --output-file requirements.txt requirements.in
uv pip compile "${options[@]}" --python-version 3.10 --universal --output-file ministack.txt ministack.in
