#!/usr/bin/env bash
# The main job, from nothing: a server, an environment with a variable and a
# secret, a real project's tests in it, the record of the run. Takes bin/berth as
# it is; leaves nothing behind. Ends non-zero when an expectation fails.
#
# The environment is a container where a Docker engine answers and an image with
# bash is there or can be pulled soon; else it is this machine. BERTH_DEMO=local or
# =docker insists on one, BERTH_DEMO_IMAGE names the image.
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
  if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
    # What runs is ended first: nobody could, once the data folder is gone.
    for id in $("$berth" runs list --json 2>/dev/null | sed -n 's/.*"id": "\([^"]*\)".*/\1/p'); do
      "$berth" runs cancel "$id" >/dev/null 2>&1
    done
    for _ in $(seq 50); do
      sandboxes_left || break
      sleep 0.2
    done
    kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
  fi
  rm -rf "$work"
}
sandboxes_left() { "$berth" sandbox list --json 2>/dev/null | grep -q '"id"'; }
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
mkdir "$work/project"
"$berth" serve --allow-mount "$work/project" >"$work/url" 2>"$work/server.log" &
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

# usable IMAGE PULL SECONDS: whether a container of it runs a command through bash.
# What is said about it is in the file why.
usable() {
  local status
  "$berth" env create probe --file - >/dev/null 2>"$work/why" <<TOML || return 1
provider = "docker"
[image]
docker = "$1"
[network]
mode = "block"
[docker]
auto_pull = $2
TOML
  timeout "$3" "$berth" run -q --environment probe --target none -- true >/dev/null 2>"$work/why"
  status=$?
  "$berth" env rm probe >/dev/null 2>&1
  return "$status"
}
why() { sed -n 's/^berth: //p' "$work/why" | sed 's/^run [^ ]* failed after [^:]*: //' | head -n 1; }

# choose sets provider and image, and says why.
choose() {
  local candidate small=debian:stable-slim
  provider=local image=
  if [ "${BERTH_DEMO:-}" = local ]; then
    echo "demo: on this machine itself (local), as BERTH_DEMO says"
    return
  fi
  for candidate in ${BERTH_DEMO_IMAGE:-buildpack-deps:noble golang:1.26 debian:13 "$small" ubuntu:24.04 berth-test/debian:latest}; do
    if usable "$candidate" false 30; then
      provider=docker image=$candidate
      echo "demo: in containers (docker): an engine answers and has the image $image"
      return
    fi
    grep -q 'auto_pull is false' "$work/why" && continue
    echo "demo: image $candidate is not usable: $(why)"
    grep -qE 'provider docker is|engine' "$work/why" && break
  done
  if grep -q 'auto_pull is false' "$work/why"; then
    candidate=${BERTH_DEMO_IMAGE:-$small}
    echo "demo: an engine answers; pulling $candidate, for 20 s at most"
    if usable "$candidate" true 20; then
      provider=docker image=$candidate
      echo "demo: in containers (docker), of the image $image"
      return
    fi
    echo "demo: $(why)"
  fi
  [ "${BERTH_DEMO:-}" != docker ] || fail "docker cannot be used, and BERTH_DEMO asks for it"
  echo "demo: so on this machine itself (local)"
}

step "choose where to run"
choose

step "make an environment that uses both"
if [ "$provider" = docker ]; then
  # The image needs no Go: the tests are built here, as one program.
  show "go test -c -o project/greeter.test ./examples/greeter"
  (cd "$project" && CGO_ENABLED=0 go test -c -o "$work/project/greeter.test" .) || fail "building the tests"
  mkdir "$work/project/.berth"
  printf '[run.environment]\nid = "demo"\n\n[[run.prepare.steps]]\nname = "look"\nscript = "test -x greeter.test"\n' >"$work/project/.berth/project.toml"
  tests=(./greeter.test -test.v)
  folder=project
  target=(--target none) # all that the run needs is mounted
  document='provider = "docker"
[image]
docker = "'$image'"
[resources]
cpu = 1
memory = "512MiB"
[network]
mode = "block"
[docker]
extra_mounts = ["'$work/project':/workspace:ro"]
'
else
  tests=(go test -count=1 -v ./...)
  folder=examples/greeter
  target=()
  document='provider = "local"
'
fi
document+='[env]
GREETING = "{{ vars.GREETING }}"
SERVICE_TOKEN = "{{ secrets.SERVICE_TOKEN }}"'
show "berth env create demo --file - <<'TOML'"
printf '%s\nTOML\n' "$document"
printf '%s\n' "$document" | "$berth" env create demo --file - || fail "env create"
show "berth env check demo"
"$berth" env check demo || fail "env check"

step "run the tests of examples/greeter in it; .berth/project.toml names the environment"
show "cd $folder && berth run ${target[*]:+${target[*]} }-- ${tests[*]}"
if [ "$provider" = docker ]; then cd "$work/project"; else cd "$project"; fi || fail "$folder is not there"
"$berth" run "${target[@]}" -- "${tests[@]}" > >(tee "$work/live") 2> >(tee "$work/chatter" >&2)
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
show "berth run --environment demo ${target[*]:+${target[*]} }-- sh -c 'exit 7'; echo \$?"
"$berth" run --environment demo "${target[@]}" -- sh -c 'exit 7'
status=$?
echo "$status"
[ "$status" -eq 7 ] || fail "the status of exit 7 did not come through"

step "look at the record"
id=$("$berth" runs list --environment demo --status succeeded --json | sed -n 's/.*"id": "\([^"]*\)".*/\1/p' | head -n 1)
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
sandboxes_left && fail "sandboxes are left: $("$berth" sandbox list)"
kill "$server" && wait "$server"
[ $? -eq 0 ] || fail "the server did not end in good order"
server=
echo "demo: done"
