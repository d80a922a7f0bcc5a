#!/usr/bin/env bash
# Every test that this machine can run. BERTH_REQUIRE=docker,emulators makes a
# missing part a failure instead of a skip.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache
out=.cache/test.json # what it said, for who wants to look closer

go test -json -timeout 45m ./... >"$out"
status=$?
# The deployment is a module of its own.
go -C infra vet ./... || status=1
go -C infra test -json -timeout 30m ./... >>"$out" || status=1
go run ./scripts/testreport <"$out"
report=$?
# What the documents claim of providers, this run has to have shown.
go run ./scripts/gendocs -suite "$out" -check || status=1
[ "$status" -eq 0 ] && [ "$report" -eq 0 ]
