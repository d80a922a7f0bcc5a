# Fetches a git target into the current folder, the workspace. Package gitsource
# gives it to bash -p -c with the target as arguments, so that nothing of a name
# is ever read as shell or as an option. It needs bash, git 2.20 or later, and
# mkdir, mv, rm and sleep as busybox has them.
#
# What it promises: HEAD is the working branch at exactly the chosen revision, or
# the status says why not (the statuses are those of status.go). It may be killed
# at any moment and run again.

origin=$1 branch=$2 tag=$3 sha=$4 depth=$5
credential=$6         # no, yes, or new: made a moment ago
pauses=(${7//,/ }) # seconds before each further try
provider=${8-}

readonly failed=1 git_missing=10 repository=11 revision=12 network=13 workspace=14
readonly whole=2147483647 # git's depth for "all of it"

say() { printf '%s\n' "$*" >&2; }

# fail STATUS TEXT ends with the text as the last line.
fail() {
	say "clone failed: $2"
	exit "$1"
}
