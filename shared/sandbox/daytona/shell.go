package daytona

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// shell runs command lines in a sandbox by sessions, each in a fresh one: that is
// all that a session can be trusted with. The line is run by a shell of its own,
// so that its exit, exec and set -e end that one and not the session's, and its
// streams are files, so that every byte passes.
type shell struct {
	toolbox *daytonaapi.Toolbox
	folder  string // for files
	clock   berth.Clock
	// begin is how long a session may show nothing of a line.
	begin time.Duration
}

var _ relay.Shell = shell{}

const (
	// maxShellOutput is the most that a command line may print, in bytes.
	maxShellOutput = 64 << 20
	firstLook      = 20 * time.Millisecond
	lastLook       = time.Second
	// lineLimit is the longest that a line may take. A session may never say how one
	// ended.
	lineLimit = 5 * time.Minute
	// maxIdle is how many sessions are tried for one line: in some nothing runs.
	maxIdle = 3
)

// ownGroup runs a line in a process group of its own: what it leaves running must
// outlive the session, whose end is that of its group.
const ownGroup = `set -m; bash -c "$1" <"$2/in" >"$2/out" 2>"$2/err" & wait "$!"`

// Run runs line to its end, unless ctx ends before it: lines are short. Error:
// unavailable when nothing ran, or it is not told how it ended.
func (s shell) Run(ctx context.Context, line string, stdin io.Reader) (out []byte, err error) {
	id := strings.ToLower(rand.Text())
	dir := path.Join(s.folder, "shell-"+id)
	var in []byte
	if stdin != nil {
		if in, err = io.ReadAll(stdin); err != nil {
			return nil, err
		}
	}
	if err := s.toolbox.Upload(ctx, path.Join(dir, "in"), in); err != nil {
		return nil, err
	}
	defer s.tidy(ctx, func(ctx context.Context) error { return s.toolbox.DeleteFolder(ctx, dir) })
	for range maxIdle {
		out, err = s.runIn(ctx, id+"-"+strings.ToLower(rand.Text()), line, dir)
		if !errors.Is(err, errIdle) {
			return out, err
		}
	}
	return nil, err
}

// errIdle is the end of a session that took a line and did nothing with it.
var errIdle = berth.Errorf(berth.CodeUnavailable, "the sandbox's toolbox takes commands and does not run them")

// runIn runs line in a session of its own.
func (s shell) runIn(ctx context.Context, id, line, dir string) ([]byte, error) {
	session, err := s.toolbox.OpenSession(ctx, "berth-shell-"+id, berth.ShellQuote("bash", "-c", ownGroup, "bash", line, dir))
	if err != nil {
		return nil, err
	}
	status, err := s.wait(ctx, session, dir)
	if errors.Is(err, errIdle) {
		if err := session.Close(ctx); err != nil { // it must be gone before the line is run elsewhere
			return nil, err
		}
		return nil, errIdle
	}
	defer s.tidy(ctx, session.Close)
	if err != nil {
		return nil, err
	}
	name := "out"
	if status != 0 {
		name = "err"
	}
	said, err := s.toolbox.Download(ctx, path.Join(dir, name), maxShellOutput)
	switch {
	case isNotFound(err): // whatever ended, it was not the line
		return nil, errIdle
	case status != 0:
		return nil, errors.Join(&relay.StatusError{Status: status, Stderr: string(said[max(0, len(said)-1000):])}, err)
	}
	return said, err
}

// wait polls for the status.
func (s shell) wait(ctx context.Context, session *daytonaapi.Session, dir string) (int, error) {
	opened, begun := s.clock.Now(), false
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		code, err := session.ExitCode(ctx)
		if err != nil {
			return 0, err
		}
		if code != nil {
			return *code, nil
		}
		since := s.clock.Now().Sub(opened)
		if !begun && since > s.begin {
			_, err := s.toolbox.Stat(ctx, path.Join(dir, "out")) // the first thing that a line makes
			if isNotFound(err) {
				return 0, errIdle
			}
			begun = err == nil
		}
		if since > lineLimit {
			return 0, berth.Errorf(berth.CodeUnavailable, "the sandbox's toolbox does not say how a command ended")
		}
		if err := s.clock.Sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// tidy removes what a line needed; what cannot be removed ends with the sandbox.
func (s shell) tidy(ctx context.Context, remove func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	_ = remove(ctx)
}

// Open is not what sessions without a guest can do.
func (s shell) Open(context.Context, string) (io.ReadWriteCloser, error) {
	return nil, berth.Errorf(berth.CodeUnsupported, "a stream needs the guest, which does not run in this sandbox")
}
