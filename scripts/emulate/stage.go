package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/emulator"
)

// stage is where the one emulator of the repository runs.
type stage struct {
	folder string
	kind   emulator.Kind
	port   int
	out    io.Writer
}

// state is what is known of a running emulator.
type state struct {
	Emulator  emulator.Kind      `json:"emulator"`
	Endpoint  string             `json:"endpoint"`
	Processes []emulator.Process `json:"processes"`
	URL       string             `json:"url,omitempty"` // once berth is deployed
	Key       string             `json:"key,omitempty"`
}

func (s state) runs() bool {
	return len(s.Processes) > 0 && !slices.ContainsFunc(s.Processes, func(p emulator.Process) bool { return !p.Runs() })
}

func (s stage) path() string { return filepath.Join(s.folder, "state.json") }

// load reads the state; there may be none.
func (s stage) load() (state, error) {
	var got state
	text, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return got, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		return got, fmt.Errorf("reading what runs: %w", err)
	}
	return got, nil
}

func (s stage) save(to state) error {
	text, err := json.MarshalIndent(to, "", "  ")
	if err != nil {
		return err
	}
	written := s.path() + ".new"
	if err := os.WriteFile(written, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(written, s.path())
}

// up starts the emulator and deploys berth to it, unless it runs already.
func (s stage) up(ctx context.Context) error {
	now, err := s.load()
	if err != nil {
		return err
	}
	if now.runs() && now.URL != "" {
		if now.Emulator != s.kind {
			return fmt.Errorf("%s is running at %s: end it by make emulate-down", now.Emulator, now.Endpoint)
		}
		fmt.Fprintf(s.out, "%s is running already.\n", now.Emulator)
		return s.tell(now)
	}
	// What is left of one that died, or that was not deployed to.
	if err := s.clear(now); err != nil {
		return err
	}
	s.progress("building the functions; the first time takes minutes")
	functions, err := emulator.BuildFunctions(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	e, err := emulator.Run(ctx, emulator.Options{Kind: s.kind, Port: s.port, Folder: s.folder, Detached: true, Progress: s.progress})
	if err != nil {
		return err
	}
	now, err = s.deploy(ctx, e, functions)
	if err != nil {
		logs := e.Logs(2000)
		e.Stop()
		return errors.Join(fmt.Errorf("%w\n%s", err, logs), os.RemoveAll(s.path()))
	}
	return s.tell(now)
}

func (s stage) deploy(ctx context.Context, e *emulator.Emulator, functions string) (state, error) {
	now := state{Emulator: e.Kind, Endpoint: e.Endpoint}
	var err error
	if now.Processes, err = e.Processes(); err != nil {
		return now, err
	}
	if err := s.save(now); err != nil {
		return now, err
	}
	_, err = e.Deploy(ctx, emulator.Berth(functions), s.progress)
	if err != nil {
		return now, err
	}
	s.progress("making a key")
	cmd := exec.CommandContext(ctx, "go", "run", "./scripts/bootstrap", "-json")
	cmd.Env, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), e.Variables()...), os.Stderr, 5*time.Second
	text, err := cmd.Output()
	if err != nil {
		return now, fmt.Errorf("making a key: %w", err)
	}
	if err := json.Unmarshal(text, &now); err != nil {
		return now, fmt.Errorf("making a key: %w", err)
	}
	return now, s.save(now)
}

// tell says how to use what runs.
func (s stage) tell(now state) error {
	_, err := fmt.Fprintf(s.out, `
%s   %s (%s)
API   %s
key   %s

Try it:
  curl -H 'Authorization: Bearer %s' %s/api/v1/environments
  bin/berth login %s
End it:
  make emulate-down
`, now.Emulator, now.Endpoint, runtime.GOARCH, now.URL, now.Key, now.Key, now.URL, now.URL)
	return err
}

// down ends exactly what up started.
func (s stage) down() error {
	now, err := s.load()
	if err != nil {
		return err
	}
	if len(now.Processes) == 0 {
		fmt.Fprintln(s.out, "no emulator is running.")
		return nil
	}
	if err := s.clear(now); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s has ended.\n", now.Emulator)
	return nil
}

func (s stage) clear(now state) error {
	if err := emulator.End(now.Processes); err != nil {
		return err
	}
	return os.RemoveAll(s.folder)
}

func (s stage) progress(line string) {
	fmt.Fprintf(s.out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
}
