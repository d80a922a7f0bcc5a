attach() {
	local head
	said=$(g checkout --quiet --progress --force -B "$branch" "$commit" -- 2>&1 | watch; exit "${PIPESTATUS[0]}") || {
		kind=$(classify)
		[[ $kind == local ]] && give_up "commit $commit"
		fail $failed "git could not check out $commit as branch $branch (see above)"
	}
	head=$(g symbolic-ref HEAD) && [[ $head == "refs/heads/$branch" ]] || fail $failed "HEAD is ${head:-no branch} instead of branch $branch"
	head=$(g rev-parse --verify HEAD) && [[ $head == "$commit" ]] || fail $failed "HEAD is $head instead of $commit"
}

# track keeps what the remote said of the branch when the commit is its tip: one
# that was fetched by its SHA leaves no such ref.
track() {
	[[ ! $has_branch || $tip != "$commit" ]] || g update-ref "refs/remotes/origin/$branch" "$commit" ||
		fail $failed "git could not note where origin has branch $branch (see above)"
}

remember_origin() {
	local refspec="+refs/heads/*:refs/remotes/origin/*"
	if [[ $has_branch ]]; then
		refspec="+refs/heads/$branch:refs/remotes/origin/$branch"
	elif [[ $default ]]; then
		refspec="+refs/heads/$default:refs/remotes/origin/$default"
	fi
	g config --replace-all remote.origin.url "$origin" &&
		g config --replace-all remote.origin.fetch "$refspec" || fail $failed "git could not write its configuration (see above)"
	# Of an upstream that is not here git says that it is gone.
	if [[ $has_branch ]] && g show-ref --verify --quiet "refs/remotes/origin/$branch"; then
		g config "branch.$branch.remote" origin && g config "branch.$branch.merge" "refs/heads/$branch" ||
			fail $failed "git could not write its configuration (see above)"
	else
		g config --unset-all "branch.$branch.remote"
		g config --unset-all "branch.$branch.merge"
	fi
}

warn() {
	if [[ $(g ls-tree --name-only HEAD -- .gitmodules) ]]; then
		say "warning: the code has submodules, which are not fetched: run git submodule update --init in a prepare step if it needs them"
	fi
	if g grep -q -E -e '^[^#]*[[:space:]]filter=lfs' -- ':(glob)**/.gitattributes' ||
		g grep -q -I --all-match -e '^version https://git-lfs.github.com/spec/v1$' -e '^oid sha256:[0-9a-f]*$'; then
		say "warning: the code has files in Git LFS, which are left as pointers: run git lfs pull in a prepare step if it needs them"
	fi
}
