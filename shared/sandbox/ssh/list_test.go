//go:build linux

package ssh_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
)

// crowded is a host of many sandboxes that counts who asks at once.
type crowded struct {
	ids []string

	mu         sync.Mutex // guards what follows
	open, most int
}

func (c *crowded) Run(context.Context, string, io.Reader) ([]byte, error) {
	return []byte("berth-has-" + strings.Join(c.ids, "\nberth-has-")), nil
}

func (c *crowded) Open(context.Context, string) (io.ReadWriteCloser, error) {
	c.mu.Lock()
	c.open++
	c.most = max(c.most, c.open)
	c.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // so that the others come meanwhile
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	return nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
}

func (c *crowded) Close() error { return nil }

func TestAHostOfManySandboxesIsNotAskedForAllAtOnce(t *testing.T) {
	t.Parallel()
	c := &crowded{}
	for range 20 {
		c.ids = append(c.ids, string(sandboxtest.NewID()))
	}
	p := ssh.New(ssh.Config{
		Installation: "test",
		Connect:      func(context.Context, string, string) (ssh.Shell, error) { return c, nil },
		Guest:        func(string) ([]byte, error) { return []byte("guest"), nil },
		Records: func(context.Context) ([]ssh.Record, error) {
			return []ssh.Record{{ID: berth.SandboxID(c.ids[0]), Options: berth.SSHOptions{Destination: "box"}}}, nil
		},
	})
	t.Cleanup(func() { p.Close() })
	list, err := p.List(t.Context())
	if err != nil || len(list) != len(c.ids) {
		t.Errorf("List = %+v, %v; want all %d", list, err, len(c.ids))
	}
	if c.most > 4 {
		t.Errorf("%d sandboxes were asked at once; want 4 at most", c.most)
	}
}
