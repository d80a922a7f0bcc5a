package embedded

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/berth-dev/berth/shared/berth"
)

// stopPath is between Stop and the server on this machine, and no part of the API:
// only the token of the data folder opens it.
const stopPath = "/stop"

const (
	// stopLimit is how long a server may take to end.
	stopLimit = 30 * time.Second
	// stopPoll is the time between two looks. Each look has the server's lock for a
	// moment, in which a server that starts has to wait.
	stopPoll = 50 * time.Millisecond
)

// Stopped is a server that Stop has ended.
type Stopped struct {
	Found
	// LiveRuns is true when runs have not ended: they go on, and the next server of
	// the data folder takes them up.
	LiveRuns bool
}

type stopReply struct {
	LiveRuns bool `json:"live_runs"`
}

// ending lets who has the token end the server.
type ending struct {
	token string
	// live reports whether there are runs that have not ended.
	live  func(ctx context.Context) (bool, error)
	once  sync.Once
	asked chan struct{} // closed once the server is to end
}

func (e *ending) beside(next http.Handler) http.Handler {
	want := []byte("Bearer " + e.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != stopPath || r.Method != http.MethodPost ||
			subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			next.ServeHTTP(w, r)
			return
		}
		live, err := e.live(r.Context())
		if err != nil {
			live = true // then it is better to say that some may
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(stopReply{live}) // who asks may have gone
		e.once.Do(func() { close(e.asked) })
	})
}

// Stop ends the running server of a data folder in good order and returns when it
// has ended; meanwhile Connect starts none. Errors: not_found when there is none,
// unavailable for one that does not answer or does not end.
func Stop(ctx context.Context, dataDir string) (Stopped, error) {
	p := paths{dataDir}
	if _, err := os.Stat(p.lock()); err != nil { // no server has run here
		_, err := Find(ctx, dataDir)
		return Stopped{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	starting, err := p.claimStart(ctx, stopLimit)
	if err != nil {
		return Stopped{}, err
	}
	defer starting.Unlock()
	found, err := p.awaitAnswer(ctx)
	if err != nil {
		return Stopped{}, err
	}
	live, err := askToStop(ctx, found)
	if err != nil {
		return Stopped{}, unstoppable(dataDir, found.PID, err)
	}
	for {
		free, err := p.isFree()
		switch {
		case err != nil:
			return Stopped{}, err
		case free:
			return Stopped{Found: found, LiveRuns: live}, nil
		}
		select {
		case <-time.After(stopPoll):
		case <-ctx.Done():
			return Stopped{}, unstoppable(dataDir, found.PID, ctx.Err())
		}
	}
}

// awaitAnswer returns the running server, also one that is still starting.
func (p paths) awaitAnswer(ctx context.Context) (Found, error) {
	for {
		found, err := Find(ctx, p.dir)
		if berth.CodeOf(err) != berth.CodeNotFound {
			return found, err
		}
		if free, lockErr := p.isFree(); free || lockErr != nil {
			if lockErr != nil {
				err = lockErr
			}
			return Found{}, err
		}
		select {
		case <-time.After(stopPoll):
		case <-ctx.Done():
			file, _ := p.readServer() // it may not have come as far as writing it
			return Found{}, unstoppable(p.dir, file.PID, ctx.Err())
		}
	}
}

// isFree reports whether no server has the data folder.
func (p paths) isFree() (bool, error) {
	lock := flock.New(p.lock(), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return false, unusableDataDir(p.dir, err)
	}
	if held {
		return true, lock.Unlock()
	}
	return false, nil
}

// askToStop is only for a server that has proved that it has the token.
func askToStop(ctx context.Context, found Found) (live bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, found.URL+stopPath, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+found.Token)
	res, err := direct().Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false, fmt.Errorf("it is berth %s and answers %s", found.Version, res.Status)
	}
	var reply stopReply
	err = json.NewDecoder(res.Body).Decode(&reply)
	return reply.LiveRuns, err
}

func unstoppable(dataDir string, pid int, err error) error {
	process := "the process that holds it"
	if pid != 0 {
		process = fmt.Sprintf("process %d", pid)
	}
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: "the server of the data folder " + dataDir + " does not end", Cause: err,
		Remediation: "end " + process + " by the system's own means: runs go on, and the next server takes them up",
	}
}
