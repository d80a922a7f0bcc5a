#!/usr/bin/env bash
# Builds the images of the docker tests from what the machine has: no registry is
# asked. An image that is there stays. Takes names (all without any):
#   debian    Debian with bash, git and procps, made by debootstrap
#   user      the same, with a USER of its own
#   static    nothing but static bash and busybox
#   entry     Debian with an ENTRYPOINT, a HEALTHCHECK and a VOLUME
#   nobash    busybox without bash
# Ends with status 3 and a reason when something is missing that it builds from.
set -euo pipefail

prefix=berth-test
suite=${BERTH_TEST_SUITE:-$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")}

lacks() {
  printf 'images: %s\n' "$*" >&2
  exit 3
}

there() { docker image inspect "$prefix/$1" >/dev/null 2>&1; }

# derive NAME BASE CHANGE... makes an image of another with other settings.
derive() {
  local name=$1 base=$2 id change
  local -a changes=()
  shift 2
  for change in "$@"; do changes+=(--change "$change"); done
  id=$(docker create "$prefix/$base" none)
  docker commit "${changes[@]}" "$id" "$prefix/$name" >/dev/null || { docker rm "$id" >/dev/null; return 1; }
  docker rm "$id" >/dev/null
}

accounts() {
  local root=$1
  mkdir -p "$root/home/tester"
  printf 'tester:x:1234:1235:Tester:/home/tester:/bin/bash\n' >>"$root/etc/passwd"
  printf 'tester:x:1235:\nreaders:x:1300:tester\nwriters:x:1301:daemon,tester\n' >>"$root/etc/group"
  chown 1234:1235 "$root/home/tester"
}

make_debian() {
  command -v debootstrap >/dev/null || lacks "debootstrap is not installed"
  [ "$(id -u)" = 0 ] || lacks "debootstrap needs root"
  local root
  root=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$root'" EXIT
  debootstrap --variant=minbase --include=bash,git,procps,ca-certificates "${suite:-stable}" "$root" >"$root.log" 2>&1 ||
    { tail -5 "$root.log" >&2; rm -f "$root.log"; lacks "debootstrap cannot make Debian ${suite:-stable}"; }
  rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  accounts "$root"
  tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$prefix/debian" >/dev/null
  rm -rf "$root"
  trap - EXIT
}

make_static() {
  local bash=/bin/bash-static busybox root tool
  [ -x "$bash" ] || lacks "bash-static is not installed"
  busybox=$(command -v busybox) || lacks "busybox-static is not installed"
  root=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$root'" EXIT
  mkdir -p "$root"/{bin,etc,root,tmp}
  chmod 1777 "$root/tmp"
  cp "$bash" "$root/bin/bash"
  cp "$busybox" "$root/bin/busybox"
  chroot "$root" /bin/busybox true 2>/dev/null || lacks "busybox is not static: install busybox-static"
  for tool in $("$busybox" --list); do
    [ -e "$root/bin/$tool" ] || ln -s busybox "$root/bin/$tool"
  done
  printf 'root:x:0:0:root:/root:/bin/bash\n' >"$root/etc/passwd"
  printf 'root:x:0:\n' >"$root/etc/group"
  accounts "$root"
  tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$prefix/static" >/dev/null
  rm "$root/bin/bash"
  tar -C "$root" -c . | docker import --change 'CMD ["sh"]' - "$prefix/nobash" >/dev/null
  rm -rf "$root"
  trap - EXIT
}

docker version >/dev/null 2>&1 || lacks "no Docker engine answers"
exec 9>"${TMPDIR:-/tmp}/berth-test-images.lock"
flock 9

[ $# -gt 0 ] || set -- debian user static entry nobash
for name in "$@"; do
  there "$name" && continue
  case $name in
    debian) make_debian ;;
    static | nobash) make_static ;;
    user)
      there debian || make_debian
      derive user debian 'USER tester' 'ENV PATH=/opt/tester/bin:/usr/local/bin:/usr/bin:/bin' 'WORKDIR /home/tester'
      ;;
    entry)
      there debian || make_debian
      derive entry debian 'ENTRYPOINT ["/bin/false"]' 'HEALTHCHECK --interval=1s CMD false' 'VOLUME /data' 'VOLUME /var/cache/apt'
      ;;
    *) lacks "there is no image $name" ;;
  esac
done
