# Nothing of the image's or a user's git settings is read: they could redirect
# the origin, run programs, or keep a credential. Only what says which
# certificates to trust, and proxies, is left.
isolate() {
	local name
	for name in "${!GIT_@}"; do
		case $name in
		GIT_SSL_NO_VERIFY) unset "$name" ;;
		GIT_SSL_* | GIT_PROXY_SSL_* | GIT_HTTP_PROXY_AUTHMETHOD | GIT_HTTP_USER_AGENT | GIT_EXEC_PATH) ;;
		*) unset "$name" ;;
		esac
	done
	unset SSH_ASKPASS LANGUAGE SSLKEYLOGFILE CDPATH IFS
	export LC_ALL=C # git's messages are told apart below
	export HOME=/dev/null XDG_CONFIG_HOME=/dev/null
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1
	export GIT_TERMINAL_PROMPT=0 GIT_LFS_SKIP_SMUDGE=1
	# A redirect may lead from http to https, and nowhere else.
	case $origin in
	https://*) export GIT_ALLOW_PROTOCOL=https ;;
	http://*) export GIT_ALLOW_PROTOCOL=http:https ;;
	git://*) export GIT_ALLOW_PROTOCOL=git ;;
	*) fail $failed "$origin is no https, http or git URL" ;;
	esac
	# Given explicitly, git neither looks for a repository further up nor minds
	# who owns the workspace (safe.directory).
	export GIT_DIR=$root/.git GIT_WORK_TREE=$root
}

settings=(
	-c core.hooksPath=/dev/null -c core.fsmonitor= -c core.askPass=
	-c protocol.ext.allow=never -c protocol.file.allow=never
	-c credential.helper=
	-c gc.auto=0 -c maintenance.auto=false
	-c submodule.recurse=false -c fetch.recurseSubmodules=false
	-c init.defaultBranch=main -c advice.detachedHead=false
	-c http.lowSpeedLimit=1 -c http.lowSpeedTime=60
)

# The credential is only in the environment. It is given to the origin's host
# over https, and to no host that a redirect leads to.
helper='!f() {
	test "$1" = get || exit 0
	while IFS== read -r key value && test -n "$key"; do
		case $key in
		protocol) protocol=$value ;;
		host) host=$value ;;
		esac
	done
	test "$protocol" = https && test "$host" = "$BERTH_GIT_HOST" || exit 0
	printf "username=%s\npassword=%s\n" "$BERTH_GIT_USER" "$BERTH_GIT_PASSWORD"
}; f'

use_credential() {
	[[ $credential != no ]] || return
	BERTH_GIT_HOST=${origin#*://}
	export BERTH_GIT_HOST=${BERTH_GIT_HOST%%/*}
	settings+=(-c "credential.helper=$helper")
}

g() { "$git" "${settings[@]}" "$@" </dev/null; }

find_git() {
	local version
	git=$(type -P git) || fail $git_missing "the image has no git: install git in the image of the environment"
	version=$("$git" --version 2>/dev/null)
	[[ $version =~ ([0-9]+)\.([0-9]+) ]] || fail $git_missing "git in the image does not work: install git 2.20 or later in the image of the environment"
	((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] >= 2020)) ||
		fail $git_missing "git in the image is too old (${BASH_REMATCH[0]}): install git 2.20 or later in the image of the environment"
}
