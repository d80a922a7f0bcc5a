package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Found is a running server of a data folder.
type Found struct {
	URL   string
	Token string
	PID   int
	// Version is what the server was built as.
	Version string
	// Left is host:port of the server before, when this one could not have it.
	Left string
	// Started is true when this call started it.
	Started bool
}

const (
	startLimit = 20 * time.Second       // for a server to answer after its start
	turnLimit  = stopLimit + startLimit // for others to stop one or start one first
	startPoll  = 10 * time.Millisecond  // between looks
	probeLimit = 2 * time.Second        // for a health check
)

// Find returns the running server of a data folder, or not_found.
func Find(ctx context.Context, dataDir string) (Found, error) {
	p := paths{dataDir}
	none := berth.Errorf(berth.CodeNotFound, "no server runs for the data folder %s", dataDir)
	file, err := p.readServer()
	if errors.Is(err, fs.ErrNotExist) {
		return Found{}, none
	}
	if err != nil {
		return Found{}, err
	}
	token, err := ReadToken(dataDir)
	if err != nil {
		return Found{}, err
	}
	if !answers(ctx, file.URL, token) {
		return Found{}, none
	}
	return Found{URL: file.URL, Token: token, PID: file.PID, Version: file.Version, Left: file.Left}, nil
}

// Connect returns the running server of a data folder; when there is none it
// starts the given command (`berth serve --background …`), detached, and waits
// until it answers. Of many processes that call it at once, one starts a server.
func Connect(ctx context.Context, dataDir string, command []string) (Found, error) {
	found, err := Find(ctx, dataDir)
	if berth.CodeOf(err) != berth.CodeNotFound {
		return found, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return Found{}, unusableDataDir(dataDir, err)
	}
	lock, err := paths{dataDir}.claimStart(ctx, turnLimit)
	if err != nil {
		return Found{}, err
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// Whoever held the lock before may have started one.
	if found, err := Find(ctx, dataDir); berth.CodeOf(err) != berth.CodeNotFound {
		return found, err
	}
	return start(ctx, dataDir, command)
}

func start(ctx context.Context, dataDir string, command []string) (Found, error) {
	cmd := exec.Command(command[0], command[1:]...)
	errFile, err := os.CreateTemp("", "berth-start-*")
	if err != nil {
		return Found{}, fmt.Errorf("starting a server: %w", err)
	}
	// At once, where a file can be without a name: who is interrupted here leaves none.
	if os.Remove(errFile.Name()) != nil {
		defer os.Remove(errFile.Name())
	}
	defer errFile.Close()
	// A file and not a pipe: the server outlives this process.
	cmd.Stderr = errFile
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return Found{}, fmt.Errorf("starting a server: %w", err)
	}
	ended := make(chan error, 1)
	// Not waited for: the server is to outlive this process.
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		found, err := Find(ctx, dataDir)
		if berth.CodeOf(err) != berth.CodeNotFound {
			found.Started = true
			return found, err
		}
		select {
		case <-tick.C:
		case err := <-ended:
			if found, ferr := Find(ctx, dataDir); ferr == nil {
				return found, nil // another server was faster
			}
			said, rerr := io.ReadAll(io.NewSectionReader(errFile, 0, math.MaxInt64))
			return Found{}, startError(string(said), paths{dataDir}.log(), errors.Join(err, rerr))
		case <-ctx.Done():
			return Found{}, &berth.Error{
				Code: berth.CodeUnavailable, Message: fmt.Sprintf("the server did not answer within %s", startLimit),
				Remediation: "look into " + paths{dataDir}.log(), Cause: ctx.Err(),
			}
		}
	}
}
