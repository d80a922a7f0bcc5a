package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
)

// server is an embedded server on a data folder of its own.
type server struct {
	*client.Client
	berth string
	dir   string
	env   []string
	cmd   *exec.Cmd
}

func startServer(ctx context.Context, program string) (*server, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "berth-bench-*")
	if err != nil {
		return nil, err
	}
	s := &server{berth: program, dir: dir}
	s.env = append(os.Environ(), "BERTH_DATA_DIR="+s.data(), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	s.cmd = exec.Command(program, "serve")
	s.cmd.Env = s.env
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 500 {
		found, err := embedded.Find(ctx, s.data())
		if err == nil {
			s.Client, err = client.New(client.Config{BaseURL: found.URL, Token: found.Token})
			return s, err
		}
		if (berth.SystemClock{}).Sleep(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	s.stop()
	return nil, fmt.Errorf("%s serve did not answer", program)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt) // gone already is fine
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// sandbox makes one that stays.
func (s *server) sandbox(ctx context.Context) (berth.SandboxID, error) {
	work := filepath.Join(s.dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", err
	}
	keep, environment := true, map[string]any{
		"id": "bench", "provider": "local", "cwd": work,
		"lifecycle": map[string]any{"preserve": true, "stop_on_terminal": false},
	}
	if _, err := s.FindEnvironment(ctx, "bench"); berth.CodeOf(err) == berth.CodeNotFound {
		if _, err := s.CreateEnvironment(ctx, environment); err != nil {
			return "", err
		}
	}
	run, err := s.CreateRun(ctx, berth.RunRequest{Environment: "bench", Command: []string{"true"}, PreserveSandbox: &keep})
	if err != nil {
		return "", err
	}
	err = s.FollowEvents(ctx, run.ID, 0, func(berth.Event) error { return nil })
	return run.Sandbox, err
}
