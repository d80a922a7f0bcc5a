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
}

var _ relay.Shell = shell{}

const (
	// maxShellOutput is the most that a command line may print, in bytes.
	maxShellOutput = 64 << 20
	firstLook      = 20 * time.Millisecond
	lastLook       = time.Second
)

// ownGroup runs a line in a process group of its own: what it leaves running must
// outlive the session, whose end is that of its group.
const ownGroup = `set -m; bash -c "$1" <"$2/in" >"$2/out" 2>"$2/err" & wait "$!"`

// Run runs line to its end, also when ctx ends before it: lines are short.
func (s shell) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	id := strings.ToLower(rand.Text())
	dir := path.Join(s.folder, "shell-"+id)
	var in []byte
	if stdin != nil {
		var err error
		if in, err = io.ReadAll(stdin); err != nil {
			return nil, err
		}
	}
	if err := s.toolbox.Upload(ctx, path.Join(dir, "in"), in); err != nil {
		return nil, err
	}
	defer s.tidy(ctx, func(ctx context.Context) error { return s.toolbox.DeleteFolder(ctx, dir) })
	session, err := s.toolbox.OpenSession(ctx, "berth-shell-"+id, berth.ShellQuote("bash", "-c", ownGroup, "bash", line, dir))
	if err != nil {
		return nil, err
	}
	defer s.tidy(ctx, session.Close)
	status, err := s.wait(ctx, session)
	if err != nil {
		return nil, err
	}
	if status != 0 {
		said, err := s.toolbox.Download(ctx, path.Join(dir, "err"), maxShellOutput)
		return nil, errors.Join(&relay.StatusError{Status: status, Stderr: string(said[max(0, len(said)-1000):])}, err)
	}
	return s.toolbox.Download(ctx, path.Join(dir, "out"), maxShellOutput)
}

// wait polls for the status.
func (s shell) wait(ctx context.Context, session *daytonaapi.Session) (int, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		code, err := session.ExitCode(ctx)
		if err != nil {
			return 0, err
		}
		if code != nil {
			return *code, nil
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
