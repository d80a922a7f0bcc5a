package plain

import (
	"context"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Provision makes the sandbox's folder and takes its directory, or returns the
// sandbox that is there.
func (s Sandboxes) Provision(ctx context.Context, ref berth.SandboxRef, run berth.RunID, dir string) (berth.SandboxState, error) {
	said, _, err := s.run(ctx, ref, `D=`+quote(dir)+`
mkdir -p "$HOME/.berth/dirs" "$D" 2>/dev/null
cd -P -- "$D" 2>/dev/null || { say nodir; exit 0; }
if [ ! -f "$R/status" ]; then
  L="$HOME/.berth/dirs/$(pwd -P | cksum | tr ' ' -)"
  if ! mkdir "$L" 2>/dev/null; then
    o=$(cat "$L/owner" 2>/dev/null)
    [ "$o" = "$R" ] || { [ -n "$o" ] && [ -d "$o" ] && { say busy; exit 0; }; }
  fi
  mkdir -p "$R/c" && printf %s "$R" > "$L/owner" && printf %s "$L" > "$R/lock" && pwd -P > "$R/workspace" || { say noroom; exit 0; }
  printf %s `+quote(string(run))+` > "$R/run"; date +%s > "$R/created"; echo ready > "$R/status"
fi
`+tell, nil)
	if err != nil {
		return berth.SandboxState{}, err
	}
	failed := berth.SandboxState{ID: ref.ID, Run: run, Status: berth.SandboxFailed}
	switch said[0] {
	case "nodir":
		failed.Reason = &berth.Reason{Code: berth.ReasonDirectoryMissing, Message: "the directory " + dir + " cannot be made, or is no directory"}
		return failed, nil
	case "busy":
		failed.Reason = &berth.Reason{Code: berth.ReasonProvisionFailed, Message: "another sandbox uses the directory " + dir + " now"}
		return failed, nil
	case "noroom":
		return berth.SandboxState{}, berth.Errorf(berth.CodeUnavailable, "the sandbox's folder could not be made")
	}
	return s.state(ref, said, dir), nil
}

// tell says what the state is; the workspace is asked for apart, as it may hold
// any byte.
const tell = `say state "$(cat "$R/status")" "$(cat "$R/created")" "$(cat "$R/run")"; cat "$R/workspace"
`

func (s Sandboxes) state(ref berth.SandboxRef, said []string, workspace string) berth.SandboxState {
	state := berth.SandboxState{ID: ref.ID, Status: berth.SandboxFailed, Workspace: workspace, Detail: Detail}
	if len(said) > 1 && (said[1] == "ready" || said[1] == "stopped") {
		state.Status = berth.SandboxStatus(said[1])
	}
	if len(said) > 2 {
		if seconds, err := strconv.ParseInt(said[2], 10, 64); err == nil {
			state.CreatedAt = time.Unix(seconds, 0).UTC()
		}
	}
	if len(said) > 3 {
		state.Run = berth.RunID(said[3])
	}
	return state
}

// Describe returns status gone for a sandbox that is not there.
func (s Sandboxes) Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	said, rest, err := s.run(ctx, ref, exists+tell, nil)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return berth.SandboxState{ID: ref.ID, Status: berth.SandboxGone}, nil
	}
	if err != nil {
		return berth.SandboxState{}, err
	}
	return s.state(ref, said, trimLine(rest)), nil
}

func trimLine(b []byte) string {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	return string(b)
}

// endAll ends every command of the sandbox, also those that are just starting.
const endAll = `n=0; for c in "$R"/c/*/; do
  while [ -d "$c" ] && [ ! -f "$c/pid" ] && [ ! -e "$c/done" ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done
done
for why in TERM KILL; do left=
for c in "$R"/c/*/; do
  [ -f "$c/pid" ] && [ ! -e "$c/done" ] || continue
  echo cancelled > "$c/why"; kill -$why -- "-$(cat "$c/pid")" 2>/dev/null && left=1
done
[ -n "$left" ] || break
n=0; while [ $n -lt 20 ]; do sleep 0.1; n=$((n+1)); left=
for c in "$R"/c/*/; do [ -f "$c/pid" ] && [ ! -e "$c/done" ] && left=1; done
[ -n "$left" ] || break 2; done; done
`

// Stop ends all commands and keeps files and outputs.
func (s Sandboxes) Stop(ctx context.Context, ref berth.SandboxRef) error {
	_, _, err := s.run(ctx, ref, exists+`echo stopped > "$R/status"
`+endAll+`say ok`, nil)
	return err
}

// Start makes a stopped sandbox ready again.
func (s Sandboxes) Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	said, rest, err := s.run(ctx, ref, exists+`echo ready > "$R/status"
`+tell, nil)
	if err != nil {
		return berth.SandboxState{}, err
	}
	return s.state(ref, said, trimLine(rest)), nil
}

// Destroy ends all commands and removes the sandbox's folder.
func (s Sandboxes) Destroy(ctx context.Context, ref berth.SandboxRef) error {
	_, _, err := s.run(ctx, ref, exists+`echo stopped > "$R/status"
`+endAll+`L=$(cat "$R/lock" 2>/dev/null)
[ -n "$L" ] && [ "$(cat "$L/owner" 2>/dev/null)" = "$R" ] && rm -rf -- "$L"
rm -rf -- "$R" && say ok || say gone`, nil)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return nil
	}
	return err
}
