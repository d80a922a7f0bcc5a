package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

// ServerFile is what a running server writes for its clients.
type ServerFile struct {
	URL       string    `json:"url"`
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	// Left is host:port of the server before, when this one could not have it.
	Left string `json:"left,omitempty"`
}

const (
	// claimLimit is how long a folder has to be another's to count as such: who only
	// looks whether it is free has it for a moment.
	claimLimit = 200 * time.Millisecond
	claimPoll  = 10 * time.Millisecond
)

// claim takes the data folder for this process, for as long as it lives.
func (p paths) claim() (*flock.Flock, error) { return p.claimWithin(claimLimit) }

func (p paths) claimWithin(limit time.Duration) (*flock.Flock, error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, unusableDataDir(p.dir, err)
	}
	lock := flock.New(p.lock(), flock.SetPermissions(0o600))
	for end := time.Now().Add(limit); ; time.Sleep(claimPoll) {
		held, err := lock.TryLock()
		if err != nil {
			return nil, unusableDataDir(p.dir, err)
		}
		if held {
			return lock, nil
		}
		if time.Now().After(end) {
			break
		}
	}
	message := fmt.Sprintf("another server uses the data folder %s", p.dir)
	if file, err := p.readServer(); err == nil {
		message += fmt.Sprintf(": it is process %d at %s", file.PID, file.URL)
	}
	return nil, &berth.Error{
		Code: berth.CodeConflict, Message: message,
		Remediation: "use that server, end it with `berth stop` and start again, or give this one another --data-dir",
	}
}

// claimStart takes the turn to start or stop the server of the data folder.
func (p paths) claimStart(ctx context.Context, limit time.Duration) (*flock.Flock, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lock := flock.New(p.startLock(), flock.SetPermissions(0o600))
	_, err := lock.TryLockContext(ctx, startPoll)
	switch {
	case err == nil:
		return lock, nil
	case ctx.Err() != nil:
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "another process starts or stops the server of the data folder " + p.dir + ", and has not finished",
			Remediation: "try again in a moment; when it stays so, look into " + p.log(), Cause: err,
		}
	}
	return nil, unusableDataDir(p.dir, err)
}

func unusableDataDir(dir string, err error) error {
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "the data folder " + dir + " cannot be used",
		Remediation: "make it a writable folder of yours, or choose another with --data-dir or BERTH_DATA_DIR",
		Cause:       err,
	}
}

// explainFullDisk gives an error that a full disk has caused its code, and what to do.
func explainFullDisk(dir string, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "the disk of the data folder " + dir + " is full",
		Remediation: "free some space on it, or choose another folder with --data-dir or BERTH_DATA_DIR",
		Cause:       err,
	}
}

func (p paths) writeServer(file ServerFile) error {
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return privatefile.Write(p.server(), append(b, '\n'))
}

func (p paths) readServer() (ServerFile, error) {
	var file ServerFile
	b, err := os.ReadFile(p.server())
	if errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err != nil {
		return file, unusableDataDir(p.dir, err)
	}
	if err := json.Unmarshal(b, &file); err != nil {
		// The next server writes it anew; until then it names none.
		return ServerFile{}, fmt.Errorf("reading %s: %w: %w", p.server(), err, fs.ErrNotExist)
	}
	return file, nil
}

// removeServer takes the file away if it is still this process's.
func (p paths) removeServer(pid int) error {
	file, err := p.readServer()
	if errors.Is(err, fs.ErrNotExist) || (err == nil && file.PID != pid) {
		return nil
	}
	return os.Remove(p.server())
}
