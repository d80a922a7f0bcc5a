# watch copies what git says to the log, its progress at most every ten seconds,
# and gives back the last lines that are no progress.
watch() {
	local piece line more=1 next=$((SECONDS + 10)) kept=()
	while [[ $more ]]; do
		IFS= read -r -d $'\r' piece || more=
		while [[ -n $piece ]]; do
			line=${piece%%$'\n'*}
			if [[ $piece == *$'\n'* ]]; then piece=${piece#*$'\n'}; else piece=; fi
			line=${line//[[:cntrl:]]/}
			line=${line%"${line##*[! ]}"}
			[[ -n $line ]] || continue
			if [[ $line =~ ^(remote:\ )?[A-Z][a-z\ ]+:?\ +[0-9]+(%|,\ done|\ \(delta) ]]; then
				if ((SECONDS >= next)); then
					say "$line"
					next=$((SECONDS + 10))
				fi
				continue
			fi
			kept+=("$line")
			if ((${#kept[@]} > 50)); then kept=("${kept[@]:1}"); fi
			case $line in
			"From "* | " * "* | " + "* | "   "* | "Switched to"* | "Reset branch"*) ;; # what moved where
			*) say "$line" ;;
			esac
		done
	done
	if ((${#kept[@]} > 0)); then printf '%s\n' "${kept[@]}"; fi
}

# classify tells from git's messages what went wrong. What a disk or the memory
# does to git often ends as a broken connection, so that goes first. Names are no
# part of it.
classify() {
	local text=${said//"$origin"/}
	[[ -z $branch ]] || text=${text//"refs/heads/$branch"/}
	[[ -z $tag ]] || text=${text//"refs/tags/$tag"/}
	case $text in
	*"No space left on device"* | *"Disk quota exceeded"* | *"Read-only file system"* | *"Permission denied"* | *"out of memory"* | *"Cannot allocate memory"* | *"died of signal"*) echo local ;;
	*"emote helper for 'http"* | *"'remote-http"*) echo helper ;;
	*[Cc]"ertificate"* | *"server verification failed"*) echo certificate ;;
	*"Authentication failed"* | *"could not read Username"* | *"could not read Password"* | *"epository not found"* | *"repository '"*"' not found"* | *"not exported"* | *"no such repository"* | *"does not appear to be a git repository"* | *"not valid: is this a git repository"* | *"returned error: "40[134]*) echo repository ;;
	*"find remote ref"* | *"not our ref"* | *"unadvertised object"* | *"not valid"* | *"no such remote ref"*) echo revision ;;
	*"returned error: 429"* | *"returned error: 408"* | *"returned error: "5??* | *"resolve host"* | *"look up "* | *"onnection refused"* | *"onnection reset"* | *"imed out"* | *"imeout"* | *"ailed to connect"* | *"nable to connect"* | *"ouldn't connect"* | *"etwork is unreachable"* | *"o route to host"* | *"name resolution"* | *"hung up"* | *"unexpected disconnect"* | *"arly EOF"* | *"RPC failed"* | *"mpty reply"* | *"transfer closed"* | *"ould not read from remote"* | *"read error"* | *"Broken pipe"* | *"invalid index-pack output"* | *"index-pack failed"* | *"bad pack header"* | *"too slow"* | *"SSL_ERROR"* | *"handshake"* | *"SSL connect"* | *"recv error"* | *"SSL_read"* | *"expected flush"* | *"unexpected eof"* | *"HTTP/2 stream"* | *"expected 'packfile'"*) echo network ;;
	*) echo unknown ;;
	esac
}

# passing tells whether $kind may pass by itself, and says so. Of a credential that
# was just made, not every server of the origin may know.
passing() {
	case $kind in
	network) why="the network failed" ;;
	repository) why="the new credential is not known everywhere yet" && [[ $credential == new ]] ;;
	*) false ;;
	esac
}

# talk SHOW GIT-ARGUMENTS runs git, again when only the network failed. $said is
# what it said, $kind what went wrong.
talk() {
	local show=$1 try=0 status why
	shift
	while :; do
		if [[ $show ]]; then
			said=$(g "$@" 2>&1 | watch; exit "${PIPESTATUS[0]}")
		else
			said=$(GIT_TRACE_PACKET=${sha:+1} g "$@" 2>&1)
		fi
		status=$?
		((status == 0)) && return
		[[ $show ]] || show_errors
		kind=$(classify)
		((status == 141)) && kind=network # SIGPIPE: the other side is gone
		passing && ((try < ${#pauses[@]})) || return 1
		say "$why: trying again in ${pauses[try]} s"
		sleep "${pauses[try]}"
		try=$((try + 1))
	done
}

# show_errors logs what ls-remote said, without refs and the trace of packets.
show_errors() {
	local line errors=
	while IFS= read -r line; do
		[[ $line == *" packet: "* || $line == *$'\t'* ]] && continue
		line=${line//[[:cntrl:]]/}
		errors+=$line$'\n'
	done <<<"$said"
	said=${errors%$'\n'}
	[[ -z $said ]] || say "$said"
}

# give_up ends after talk has failed. WHAT is what was to be fetched.
give_up() {
	case $kind in
	local) fail $failed "git could not work in $root (see above): make room in the sandbox, and check who may write there and resources.memory" ;;
	helper) fail $git_missing "git in the image cannot fetch over ${origin%%:*}: install the whole git package in the image of the environment" ;;
	certificate) fail $network "the certificate of $origin is not trusted: install ca-certificates in the image, or name the CA's file in GIT_SSL_CAINFO" ;;
	repository) fail $repository "$origin was not found, or needs credentials: check the origin of the target, and that the repository may be read" ;;
	revision) fail $revision "$1 is not in $origin: check its name, or push it" ;;
	network) fail $network "$origin could not be reached, or broke off: check the network of the sandbox and run again" ;;
	*) fail $failed "git could not fetch $1 from $origin (see above)" ;;
	esac
}

# ask finds the default branch, and what of the target is there. $tip is where the
# remote has the branch.
ask() {
	local oid ref head= refs=(HEAD)
	[[ $branch ]] && refs+=("refs/heads/$branch")
	[[ $tag ]] && refs+=("refs/tags/$tag")
	talk '' ls-remote --symref -- "$origin" "${refs[@]}" || give_up "HEAD"
	default= has_branch= has_tag= tip= protocol=0
	while IFS=$'\t' read -r oid ref; do
		case $oid in
		"ref: refs/heads/"*) [[ $ref == HEAD ]] && default=${oid#ref: refs/heads/} ;;
		*" packet: "*"< version 2") protocol=2 ;;
		*[!0-9a-f]*) ;;
		*)
			[[ $ref == HEAD ]] && head=$oid
			[[ $branch && $ref == "refs/heads/$branch" ]] && has_branch=yes tip=$oid
			[[ $tag && $ref == "refs/tags/$tag" ]] && has_tag=yes
			;;
		esac
	done <<<"$said"
	if [[ ! $branch ]]; then
		[[ $default ]] || fail $revision "$origin has no default branch (it is empty, or its HEAD names none): name a branch in the target"
		branch=$default has_branch=yes tip=$head
	fi
	# A default branch is the remote's word.
	[[ $branch != -* ]] && g check-ref-format "refs/heads/$branch" || fail $revision "$branch is no name for a branch: name another one in the target"
	if [[ ! $sha && $tag && ! $has_tag ]]; then
		fail $revision "tag $tag is not in $origin: check its name, or push it"
	elif [[ ! $sha && ! $tag && ! $has_branch ]]; then
		fail $revision "branch $branch is not in $origin: check its name, or push it"
	fi
}
