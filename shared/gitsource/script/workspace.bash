# $marker says that .git is this script's: "fetching" (from empty; all may go),
# "done", or "updating" (what was done is being brought up to date); then come the
# origin and the commit, and in further lines what git status says of a fresh
# checkout: line ends that .gitattributes would change show as changes.
marker=.git/berth-clone

mark() {
	printf '%s %s %s\n%s' "$1" "$origin" "${commit-}" "${2-}" >"$marker.new" && mv -f "$marker.new" "$marker" || unwritable
}

unwritable() {
	fail $workspace "the workspace $root cannot be written: check who may write there, and the room on its disk"
}

entries() { # of $1, without what a file system has of its own
	local path
	list=()
	for path in "$1"/*; do
		[[ ${path##*/} == lost+found ]] || list+=("$path")
	done
}

foreign() {
	local remedy="Empty it, set [run.clone] enabled = false, or use an image without files there"
	[[ $provider != ssh ]] || remedy="Take away what is not the origin's, name another ssh.working_directory, or set [run.clone] enabled = false to work with what is there"
	fail $workspace "the workspace $root is not empty${1:+: $1}; nothing in it was changed. $remedy"
}

# difference is the first thing that a clone of ours has and the origin gave not.
difference() {
	local line
	[[ $(g rev-parse HEAD 2>&1) == "$at" ]] || { printf 'HEAD is no longer %s' "$at"; return; }
	while IFS= read -r line; do
		[[ $'\n'$fresh$'\n' == *$'\n'"$line"$'\n'* ]] || { printf %s "$line"; return; }
	done <<<"$(g status --porcelain 2>&1)"
}

inspect() {
	local url at name fresh
	state=new
	entries .
	((${#list[@]})) || return
	name=${list[0]#./}
	if [[ -d .git && ! -L .git ]]; then
		if [[ -f $marker && ! -L $marker ]]; then
			{
				IFS=' ' read -r state url at
				IFS= read -r -d '' fresh
			} <"$marker"
			case $state in
			fetching) return ;;
			done | updating)
				[[ $url == "$origin" ]] || foreign "it is a clone of $url"
				[[ $state == updating || ($(g rev-parse HEAD) == "$at" && $(g status --porcelain 2>&1) == "$fresh") ]] ||
					foreign "it is a clone of this origin with changes ($(difference))"
				return
				;;
			esac
		elif ((${#list[@]} == 1)); then # killed between mkdir and mark
			state=new
			entries .git
			((${#list[@]} == 0)) && return
			[[ ${#list[@]} == 1 && ${list[0]} == "$marker.new" && ! -L $marker.new ]] && return
		fi
	fi
	foreign "there is $(printf %q "$name")"
}

# clean_up takes away what a killed try left behind.
clean_up() {
	local path
	case $state in
	fetching)
		say "an earlier try was interrupted: starting anew"
		entries .
		for path in "${list[@]}"; do [[ $path == ./.git ]] || rm -rf -- "$path"; done
		entries .git
		for path in "${list[@]}"; do [[ $path == "$marker" ]] || rm -rf -- "$path"; done
		;;
	updating)
		rm -f -- .git/*.lock
		;;
	esac
}

# prepare makes .git a repository that is marked.
prepare() {
	case $state in
	new | fetching) mkdir -p .git 2>/dev/null && mark fetching ;;
	*) mark updating ;;
	esac && g init --quiet --template= && mkdir -p .git/hooks .git/info || unwritable
	[[ -O . ]] || say "warning: the workspace belongs to another user: git refuses to work in it until safe.directory names it"
}
