shopt -s nullglob dotglob
root=$(pwd -P)
isolate
use_credential
find_git
inspect
clean_up
if [[ $sha ]]; then
	tag= wanted="commit $sha"
elif [[ $tag ]]; then
	wanted="tag $tag"
else
	wanted=${branch:+branch $branch}
fi
say "fetching ${wanted:-the default branch} of $origin"
ask
prepare
fetch_target
track
attach
remember_origin
warn
mark "done" "$(g status --porcelain)"
say "branch $branch is at $commit"
