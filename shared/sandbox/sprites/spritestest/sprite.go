//go:build linux

package spritestest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Sprite is one machine: a folder, and the processes that carry its mark in their
// environment or the folder in their arguments.
type Sprite struct {
	Name string
	Root string
	Mark string

	url     string
	created time.Time

	mu          sync.Mutex // guards what follows
	status      string
	labels      []string
	auth        string
	policy      []rule
	checkpoints []checkpoint
	used        bool // a process was started on it
	ended       bool
}

type rule struct {
	Domain  string `json:"domain,omitempty"`
	Action  string `json:"action,omitempty"`
	Include string `json:"include,omitempty"`
}

type checkpoint struct {
	ID        string    `json:"id"`
	Comment   string    `json:"comment"`
	CreatedAt time.Time `json:"create_time"`
	Automatic bool      `json:"is_auto"`
}

// Home is the home of the sprite's user.
func (s *Sprite) Home() string { return filepath.Join(s.Root, "home", "sprite") }

func (s *Sprite) begin() error {
	if err := os.MkdirAll(s.Home(), 0o755); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(s.Root, "tmp"), 0o777)
}

// end ends all processes and removes the folder.
func (s *Sprite) end() {
	s.mu.Lock()
	s.ended = true
	used := s.used
	s.mu.Unlock()
	if used { // to find none takes its time too
		s.kill()
	}
	_ = os.RemoveAll(s.Root)
}

// start begins a command, unless the sprite is no more.
func (s *Sprite) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errors.New("the sprite is no more")
	}
	s.used = true
	return cmd.Start()
}

// Labels are those that the sprite has now.
func (s *Sprite) Labels() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.labels)
}

// Auth says who may open the URL.
func (s *Sprite) Auth() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.auth
}

// Rules are those of the network, as domain=action.
func (s *Sprite) Rules() (rules []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.policy {
		rules = append(rules, r.Domain+"="+r.Action)
	}
	return rules
}

// Block denies every domain, as somebody else does.
func (s *Sprite) Block() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = []rule{{Domain: "*", Action: "deny"}}
}

// Comments are those of the checkpoints.
func (s *Sprite) Comments() (comments []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.checkpoints {
		comments = append(comments, c.Comment)
	}
	return comments
}

// Status is cold, warm or running.
func (s *Sprite) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Sleep makes the sprite warm, which freezes its processes, or cold, which ends
// them.
func (s *Sprite) Sleep(status string) {
	s.mu.Lock()
	s.status = status
	s.mu.Unlock()
	if status == "cold" {
		s.kill()
		return
	}
	s.signal(frozen)
}

func (s *Sprite) wake() {
	s.mu.Lock()
	was := s.status
	s.status = "running"
	s.mu.Unlock()
	if was == "warm" {
		s.signal(thawed)
	}
}
