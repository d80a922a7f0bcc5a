package plain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/spool"
)

// supervise runs one command. Its output is framed by two pumps, its end by the
// exit frame; nothing of it depends on a connection. The lock stays after the exit
// frame: what comes later goes nowhere. Nothing of it stays once the sandbox's folder
// is gone, and what the command left in its group is ended then, or when the sandbox
// is stopped.
const supervise = `hold() { until mkdir "$C/lock" 2>/dev/null; do [ -d "$C" ] && [ ! -e "$C/done" ] || return 1; sleep 0.01; done; }
pump() {
  local n h
  while :; do
    dd bs=32768 count=1 of="$C/p$1" 2>/dev/null
    n=$(wc -c < "$C/p$1"); n=$((n)); [ "$n" -gt 0 ] || break
    if [ "$(($(wc -c < "$C/spool")))" -gt "$CAP" ]; then
      mkdir "$C/cut" 2>/dev/null && cat "$C/mark" >> "$C/spool"; continue
    fi
    printf -v h '\\%03o\\000\\%03o\\%03o\\%03o' "$1" $((n>>16&255)) $((n>>8&255)) $((n&255))
    { printf "$h"; cat "$C/p$1"; } > "$C/f$1"
    hold || { rm -f "$C/p$1" "$C/f$1"; exec cat > /dev/null; }
    cat "$C/f$1" >> "$C/spool"; rmdir "$C/lock"
  done < "$2"
}
supervise() {
  set -m; trap '' HUP
  pump 2 "$C/o" & p1=$!
  pump 3 "$C/e" & p2=$!
  exec 3> "$C/o" 4> "$C/e" || exit 0 # held here: a command may end before it opens them, and pumps wait for that
  launch < /dev/null >&3 2>&4 3>&- 4>&- & pid=$!
  exec 3>&- 4>&-
  echo "$pid" > "$C/pid.new"; mv "$C/pid.new" "$C/pid"
  w=
  if [ "$LIMIT" != 0 ]; then
    ( sleep "$LIMIT"; echo timed_out > "$C/why"; kill -TERM -- "-$pid"; sleep 2; kill -KILL -- "-$pid" ) > /dev/null 2>&1 & w=$!
  fi
  wait "$pid"; st=$?
  [ -n "$w" ] && kill -KILL -- "-$w" 2>/dev/null
  n=0; while [ $n -lt 25 ] && { kill -0 "$p1" || kill -0 "$p2"; }; do sleep 0.2; n=$((n+1)); done 2>/dev/null
  why=exited; sig=
  if [ "$st" -gt 128 ]; then sig=$(kill -l $((st-128)) 2>/dev/null); [ -n "$sig" ] && why=signalled; fi
  [ -s "$C/why" ] && why=$(cat "$C/why")
  j="{\"code\":$st,\"signal\":\"${sig#SIG}\",\"reason\":\"$why\"}"
  hold || { kill -KILL -- "-$pid" 2>/dev/null; exit 0; }
  printf "\\005\\000\\000\\000\\$(printf %03o ${#j})%s" "$j" >> "$C/spool"
  rm -f "$C/o" "$C/e" "$C"/p[23] "$C"/f[23]; : > "$C/done"
  while kill -0 -- "-$pid" 2>/dev/null; do
    [ "$(cat "$R/status" 2>/dev/null)" = ready ] || kill -KILL -- "-$pid"
    sleep 1
  done
}
`

// StartCommand starts a command, once however often it is called.
func (s Sandboxes) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	switch err := check(spec); {
	case err != nil:
		return err
	case spec.Stdin:
		return unsupported("standard input")
	case len(spec.Mask) > 0:
		return unsupported("the masking of secrets")
	}
	outputCap := spec.OutputCap
	if outputCap <= 0 {
		outputCap = berth.DefaultOutputCap
	}
	hash := hashOf(spec)
	start, err := json.Marshal(spool.Start{Command: spec.ID, Hash: hash, SandboxStart: "plain", At: time.Now().UTC()})
	if err != nil {
		return err
	}
	mark := spool.AppendFrame(nil, spool.TypeMark, fmt.Appendf(nil, "output after about %d bytes was not kept", outputCap))
	argv := []string{"-c", "--", spec.Script}
	if spec.Script == "" {
		argv = append([]string{"-c", `exec -- "$@"`, "bash"}, spec.Argv...)
	}
	var script strings.Builder
	script.WriteString(exists + supervise)
	fmt.Fprintf(&script, "C=\"$R/c/%s\"; CAP=%d; LIMIT=%s\n", spec.ID, outputCap, seconds(spec.Timeout))
	fmt.Fprintf(&script, "if [ -d \"$C\" ]; then say was \"$(cat \"$C/hash\")\"; exit 0; fi\n")
	script.WriteString("[ \"$(cat \"$R/status\")\" = ready ] || { say stopped; exit 0; }\n")
	fmt.Fprintf(&script, "cd -- \"$(cat \"$R/workspace\")\" && cd -- %s 2>/dev/null || { say nodir; exit 0; }\n", quote(dirOf(spec.Dir)))
	fmt.Fprintf(&script, "mkdir \"$C\" 2>/dev/null || { say was %s; exit 0; }\n", hash)
	fmt.Fprintf(&script, "printf %%s %s > \"$C/hash\"; printf '%s' > \"$C/mark\"; mkfifo \"$C/o\" \"$C/e\"\n", hash, octal(mark))
	names := make([]string, 0, len(spec.Env))
	for name := range spec.Env {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(&script, "ARGV=(%s)\n", berth.ShellQuote(argv...))
	script.WriteString("printf '" + octal(spool.AppendFrame(nil, spool.TypeStart, start)) + "' > \"$C/spool\"\n")
	script.WriteString("launch() {\n  unset BASH_ENV OLDPWD SSH_CONNECTION SSH_CLIENT SSH_TTY; umask 022\n")
	for _, name := range names {
		fmt.Fprintf(&script, "  export %s=%s\n", name, quote(spec.Env[name]))
	}
	script.WriteString("  exec \"$BASH\" \"${ARGV[@]}\"\n}\n")
	script.WriteString("supervise < /dev/null > /dev/null 2>&1 &\necho $! > \"$C/sup\"; disown -a; say started\n")
	said, _, err := s.run(ctx, ref, script.String(), nil)
	if err != nil {
		return err
	}
	switch {
	case said[0] == "stopped":
		return berth.Errorf(berth.CodeConflict, "the sandbox is not running")
	case said[0] == "nodir":
		return berth.FieldErrorf(berth.CodeInvalid, "dir", "the start directory does not exist or may not be entered")
	case said[0] == "was" && len(said) > 1 && said[1] != hash && said[1] != "buried":
		return berth.FieldErrorf(berth.CodeConflict, "id", "the command id has been used for another command")
	}
	return nil
}

func dirOf(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

func seconds(d time.Duration) string {
	if d <= 0 {
		return "0"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}

// check finds what could not be started.
func check(spec berth.CommandSpec) error {
	if _, err := berth.ParseCommandID(string(spec.ID)); err != nil {
		return err
	}
	var p berth.Problems
	if (len(spec.Argv) == 0) == (spec.Script == "") {
		p.Addf("argv", "exactly one of argv and script must be given")
	}
	if spec.Timeout < 0 {
		p.Addf("timeout", "must not be negative")
	}
	if strings.ContainsRune(strings.Join(spec.Argv, "")+spec.Script+spec.Dir, 0) {
		p.Addf("argv", "holds a NUL byte")
	}
	for name, value := range spec.Env {
		if !variable(name) || strings.ContainsRune(value, 0) {
			p.Addf("env", "%q is no variable that bash can export, or its value holds a NUL byte", name)
		}
	}
	return berth.Invalid(p.List())
}

func variable(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func hashOf(spec berth.CommandSpec) string {
	h := sha256.New()
	for _, word := range append([]string{spec.Script, spec.Dir}, spec.Argv...) {
		fmt.Fprintf(h, "%d:%s", len(word), word)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// outputPiece is the most that one read returns, in bytes.
const outputPiece = 512 << 10

// ReadOutput returns whole frames from offset and waits for them up to wait.
func (s Sandboxes) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return berth.Output{}, errNoCommand
	}
	if offset < 0 {
		return berth.Output{}, berth.FieldErrorf(berth.CodeInvalid, "offset", "must not be negative")
	}
	if limit <= 0 || limit > outputPiece {
		limit = outputPiece
	}
	const longest = 20 * time.Second
	script := fmt.Sprintf(`C="$R/c/%s"; [ -s "$C/spool" ] || { say none; exit 0; }
n=0; live=1
while [ ! -e "$C/done" ]; do
  kill -0 "$(cat "$C/sup" 2>/dev/null)" 2>/dev/null || { [ -e "$C/done" ] || live=0; }
  [ "$(($(wc -c < "$C/spool")))" -gt %d ] || [ $live = 0 ] || [ $n -ge %d ] && break
  sleep 0.1; n=$((n+1))
done
d=0; [ -e "$C/done" ] && d=1
say out $d $live "$(($(wc -c < "$C/spool")))"; tail -c +%d "$C/spool" | head -c %d
`, id, offset, min(wait, longest)/(100*time.Millisecond), offset+1, max(limit, spool.MaxFrame))
	said, rest, err := s.run(ctx, ref, exists+script, nil)
	switch {
	case err != nil:
		return berth.Output{Next: offset}, err
	case said[0] == "none":
		return berth.Output{}, errNoCommand
	}
	if size, err := strconv.ParseInt(said[len(said)-1], 10, 64); err != nil || offset > size {
		return berth.Output{}, berth.FieldErrorf(berth.CodeInvalid, "offset", "lies behind the end of the output")
	}
	whole, err := spool.ReadWhole(bytes.NewReader(rest), 0, limit)
	if err != nil {
		return berth.Output{}, err
	}
	_, exit, err := spool.Decode(whole)
	if err != nil {
		return berth.Output{}, err
	}
	out := berth.Output{Bytes: whole, Next: offset + int64(len(whole)), Ended: exit != nil, Exit: exit}
	if len(rest) > 0 || len(said) < 3 {
		return out, nil
	}
	switch { // as it was before the bytes were read: nothing came after them
	case said[1] == "1":
		state, err := s.DescribeCommand(ctx, ref, id)
		out.Ended, out.Exit = err == nil && state.Exit != nil, state.Exit
		return out, err
	case said[2] == "0":
		out.Ended, out.Exit = true, lostExit()
	}
	return out, nil
}

func lostExit() *berth.Exit {
	return &berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "what watched the command on the host is gone"}
}

var errNoCommand = berth.Errorf(berth.CodeNotFound, "the command does not exist")

// DescribeCommand looks at the ends of the command's spool.
func (s Sandboxes) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return berth.CommandState{}, errNoCommand
	}
	const ends = 4 << 10 // an exit frame is far smaller
	said, rest, err := s.run(ctx, ref, exists+fmt.Sprintf(`C="$R/c/%s"; [ -s "$C/spool" ] || { say none; exit 0; }
d=0; [ -e "$C/done" ] && d=1
l=0; kill -0 "$(cat "$C/sup" 2>/dev/null)" 2>/dev/null && l=1
[ $d = 0 ] && [ -e "$C/done" ] && d=1
say ends $d $l "$(head -c %d "$C/spool" | wc -c)"; head -c %d "$C/spool"; tail -c %d "$C/spool"
`, id, ends, ends, ends), nil)
	switch {
	case err != nil:
		return berth.CommandState{}, err
	case said[0] == "none" || len(said) < 4:
		return berth.CommandState{}, errNoCommand
	}
	n, err := strconv.Atoi(said[3])
	if err != nil || n > len(rest) {
		return berth.CommandState{}, berth.Errorf(berth.CodeUnavailable, "the host's answer was cut")
	}
	state := berth.CommandState{ID: id, Status: berth.CommandRunning}
	if start, err := spool.FirstStart(bytes.NewReader(rest[:n])); err == nil && start != nil {
		state.StartedAt = start.At
	}
	switch {
	case said[1] == "1":
		state.Exit = lastExit(rest[n:])
	case said[2] == "0":
		state.Exit = lostExit()
	}
	if state.Exit != nil {
		state.Status = berth.CommandEnded
	}
	return state, nil
}

// lastExit is the exit frame at the end of a spool.
func lastExit(end []byte) *berth.Exit {
	for i := len(end) - spool.HeaderBytes; i >= 0; i-- {
		if spool.Type(end[i]) != spool.TypeExit {
			continue
		}
		if _, exit, err := spool.Decode(end[i:]); err == nil && exit != nil {
			return exit
		}
	}
	return &berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "the command's exit cannot be read"}
}

// Signal sends to the command's process group.
func (s Sandboxes) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, name string) error {
	signal, err := wire.ParseSignal(name)
	if err != nil {
		return err
	}
	return s.end(ctx, ref, id, wire.SignalName(signal), "", wire.Tombstone(signal))
}

// Cancel ends the command's process group; for one that has not started it leaves
// a tombstone.
func (s Sandboxes) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	err := s.end(ctx, ref, id, "TERM", string(berth.ExitCancelled), true)
	if berth.CodeOf(err) == berth.CodeConflict {
		return nil // it has ended
	}
	return err
}

func (s Sandboxes) end(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal, why string, bury bool) error {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return err
	}
	exit, err := json.Marshal(berth.Exit{Code: -1, Reason: berth.ExitCancelled, Message: "cancelled before the start"})
	if err != nil {
		return err
	}
	script := fmt.Sprintf("C=\"$R/c/%s\"; S=%s; WHY=%s\n", id, signal, quote(why))
	if bury {
		script += `if mkdir "$C" 2>/dev/null; then
  echo buried > "$C/hash"; printf '` + octal(spool.AppendFrame(nil, spool.TypeExit, exit)) + `' > "$C/spool"; : > "$C/done"; say ok; exit 0
fi
[ "$(cat "$C/hash")" = buried ] && { say ok; exit 0; }
`
	}
	script += `[ -d "$C" ] || { say none; exit 0; }
n=0; while [ ! -f "$C/pid" ] && [ ! -e "$C/done" ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done
[ -e "$C/done" ] && { say ended; exit 0; }
p=$(cat "$C/pid"); [ -n "$WHY" ] && echo "$WHY" > "$C/why"
kill -"$S" -- "-$p" 2>/dev/null || { say ended; exit 0; }
[ -n "$WHY" ] && { ( sleep 2; [ -e "$C/done" ] || kill -KILL -- "-$p" ) < /dev/null > /dev/null 2>&1 & }
say ok
`
	said, _, err := s.run(ctx, ref, exists+script, nil)
	switch {
	case err != nil:
		return err
	case said[0] == "none":
		return errNoCommand
	case said[0] == "ended":
		return berth.Errorf(berth.CodeConflict, "the command has ended")
	}
	return nil
}

// WriteInput is unsupported.
func (s Sandboxes) WriteInput(_ context.Context, _ berth.SandboxRef, _ berth.CommandID, offset int64, _ []byte, _ bool) (int64, error) {
	return offset, unsupported("standard input")
}
