#!/usr/bin/env bash
# Format, vet, lint, quick tests and cross builds. Needs Go and git alone.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

say() { printf '== %s\n' "$*"; }

say format
bad=$(git ls-files -co --exclude-standard '*.go' | xargs go tool gofumpt -l)
if [ -n "$bad" ]; then
  printf 'not formatted (run make fmt):\n%s\n' "$bad" >&2
  exit 1
fi
say vet
go vet ./...
for module in . infra; do
  if ! go -C "$module" mod tidy -diff; then
    echo "$module/go.mod does not say what is needed: go -C $module mod tidy" >&2
    exit 1
  fi
done
say lint
go tool staticcheck ./...
say 'quick tests'
go test -short ./...
say 'cross builds'
for target in linux/arm64 darwin/arm64 darwin/amd64 windows/amd64; do
  GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null ./cmd/berth
  printf 'cmd/berth %s\n' "$target"
done
say ok
