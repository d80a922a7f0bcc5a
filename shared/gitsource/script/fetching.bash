fetch() { talk show fetch --progress --no-recurse-submodules "$@"; }
complete() { [[ $(g rev-parse --is-shallow-repository) == false ]]; }
have() { [[ $(g cat-file -t "$sha" 2>/dev/null) == commit ]]; }

plan_depth() {
	how=(--no-recurse-submodules) # tags of the history come with it
	if ((depth > 0)); then
		how=(--no-tags)
		if [[ $state != done && $state != updating ]] || ! complete; then how+=("--depth=$depth"); fi
	elif ! complete; then
		how+=("--depth=$whole")
	fi
}

fetch_branch() { fetch "${how[@]}" -- "$origin" "+refs/heads/$1:refs/remotes/origin/$1"; }

# fetch_sha fetches the commit by its SHA, or looks for it in ever more history.
fetch_sha() {
	local base=$default step=$depth round
	if fetch "${how[@]}" -- "$origin" "$sha"; then
		have || fail $revision "$sha in $origin is a $(g cat-file -t "$sha"), not a commit: name a commit"
		return
	fi
	case $kind in
	revision | unknown) ;;
	*) give_up "commit $sha" ;;
	esac
	# Of git's protocol 2, a server gives every object that it has.
	[[ $protocol == 2 && $said == *"upload-pack: not our ref"* ]] && give_up "commit $sha"
	[[ $has_branch ]] && base=$branch
	if [[ $base ]]; then
		say "the server gives no commit by its SHA: looking for it in branch $base"
		fetch_branch "$base" || give_up "branch $base"
		((step >= 50)) || step=50
		for ((round = 0; round < 8; round++)); do
			have && return
			complete && break
			fetch --no-tags --deepen="$step" -- "$origin" "+refs/heads/$base:refs/remotes/origin/$base" || give_up "branch $base"
			step=$((step * 2))
		done
		have && return
		if ! complete; then
			fetch --no-tags --depth="$whole" -- "$origin" "+refs/heads/$base:refs/remotes/origin/$base" || give_up "branch $base"
			have && return
		fi
	fi
	say "it is not in ${base:+branch $base, }looking in all branches and tags"
	fetch --no-tags --depth="$whole" -- "$origin" "+refs/heads/*:refs/remotes/origin/*" "+refs/tags/*:refs/tags/*" || give_up "its branches"
	have || fail $revision "commit $sha is not in any branch or tag of $origin: check the SHA, or push it"
}

# fetch_target sets $commit.
fetch_target() {
	plan_depth
	if [[ $sha ]]; then
		fetch_sha
		commit=$sha
	elif [[ $tag ]]; then
		fetch "${how[@]}" -- "$origin" "+refs/tags/$tag:refs/tags/$tag" || give_up "tag $tag"
		commit=$(g rev-parse --verify --quiet "refs/tags/$tag^{commit}") || fail $revision "tag $tag of $origin names no commit: choose another one"
	else
		fetch_branch "$branch" || give_up "branch $branch"
		commit=$(g rev-parse --verify --quiet "refs/remotes/origin/$branch^{commit}") || fail $revision "branch $branch of $origin names no commit"
	fi
}
