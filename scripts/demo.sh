#!/usr/bin/env bash
# The main job, from nothing: a server, an environment with a variable and a
# secret, a real project's tests in it, the record of the run. Takes bin/berth as
# it is; leaves nothing behind. Ends non-zero when an expectation fails.
set -uo pipefail
cd "$(dirname "$0")/.."
berth=$PWD/bin/berth
project=$PWD/examples/greeter

if [ ! -x "$berth" ]; then
  echo "demo: bin/berth is not there; run \`make build\`" >&2
  exit 1
fi

work=$(mktemp -d)
server=
secret="demo-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"

mkdir "$work/tmp"
export BERTH_DATA_DIR=$work/data XDG_CONFIG_HOME=$work/config TMPDIR=$work/tmp
unset BERTH_SERVER BERTH_TOKEN BERTH_ENVIRONMENT
export GOFLAGS= GOTOOLCHAIN=local

cleanup() {
  if [ -n "$server" ] && kill "$server" 2>/dev/null; then
    wait "$server" 2>/dev/null
  fi
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
show() { printf '$ %s\n' "$*"; }
fail() {
  printf 'demo: %s\n' "$*" >&2
  [ -f "$work/server.log" ] && tail -n 20 "$work/server.log" >&2
  exit 1
}
expect() { # WHAT FILE TEXT
  grep -qF -- "$3" "$2" || fail "$1 does not show: $3"
}

step "start a server on a fresh data folder"
show "berth serve &"
"$berth" serve >"$work/url" 2>"$work/server.log" &
server=$!
for _ in $(seq 100); do
  [ -s "$work/url" ] && break
  kill -0 "$server" 2>/dev/null || fail "the server ended as it started"
  sleep 0.1
done
[ -s "$work/url" ] || fail "the server did not say its URL within 10 s"
cat "$work/url"

step "set a variable and a secret; the secret's value never is an argument"
show "berth var set GREETING Welcome"
"$berth" var set GREETING Welcome || fail "var set"
show "printf %s \"\$TOKEN\" | berth secret set SERVICE_TOKEN"
printf %s "$secret" | "$berth" secret set SERVICE_TOKEN || fail "secret set"

step "make an environment that uses both"
show "berth env create demo --provider local \\
    --env 'GREETING={{ vars.GREETING }}' --env 'SERVICE_TOKEN={{ secrets.SERVICE_TOKEN }}'"
"$berth" env create demo --provider local \
  --env 'GREETING={{ vars.GREETING }}' --env 'SERVICE_TOKEN={{ secrets.SERVICE_TOKEN }}' || fail "env create"
show "berth env check demo"
"$berth" env check demo || fail "env check"

step "run the tests of examples/greeter in it; .berth/project.toml names the environment"
show "cd examples/greeter && berth run -- go test -count=1 -v ./..."
cd "$project" || fail "$project is not there"
"$berth" run -- go test -count=1 -v ./... > >(tee "$work/live") 2> >(tee "$work/chatter" >&2)
status=$?
cd - >/dev/null || exit 1
sleep 0.2 # the two tees
[ "$status" -eq 0 ] || fail "the run ended with $status"
expect "the live output" "$work/live" "PASS: TestGreetsFromTheEnvironment"
expect "the live output" "$work/live" "answer: Welcome, Ada!"
grep -qF "$secret" "$work/live" "$work/chatter" && fail "the secret shows in the output"
expect "the live output" "$work/live" "asking with token ***"
echo "demo: the token in that output is masked"

step "a failing command's status comes through as it is"
show "berth run --environment local -- sh -c 'exit 7'; echo \$?"
"$berth" run --environment local -- sh -c 'exit 7'
status=$?
echo "$status"
[ "$status" -eq 7 ] || fail "the status of exit 7 did not come through"

step "look at the record"
id=$("$berth" runs list --environment demo --json | sed -n 's/.*"id": "\([^"]*\)".*/\1/p' | head -n 1)
[ -n "$id" ] || fail "the run is not in the list"
show "berth runs show $id"
"$berth" runs show "$id" | tee "$work/page" || fail "runs show"
expect "the page" "$work/page" "succeeded"
show "berth runs logs $id | tail -n 5"
"$berth" runs logs "$id" >"$work/log" 2>"$work/log.err" || fail "runs logs"
tail -n 5 "$work/log"
expect "the log" "$work/log" "answer: Welcome, Ada!"
[ "$(grep -c 'PASS: TestGreetsFromTheEnvironment' "$work/log")" = 1 ] || fail "the log does not have each line once"

step "the secret is nowhere on the disk"
if grep -rqF "$secret" "$BERTH_DATA_DIR" "$work/log" "$work/log.err" "$work/page" "$work/server.log"; then
  fail "the secret is in clear in $(grep -rlF "$secret" "$work" | tr '\n' ' ')"
fi
echo "demo: not in the data folder, the log or the server's log"

step "stop the server and clean up"
kill "$server" && wait "$server"
[ $? -eq 0 ] || fail "the server did not end in good order"
server=
echo "demo: done"
