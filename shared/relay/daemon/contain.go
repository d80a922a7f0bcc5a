//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent"
)

// ContainConfig is what process 1 of a container is started with that has no
// agent beside it.
type ContainConfig struct {
	// Root is the folder of the sandbox. It outlives the container's starts, and
	// is closed to the image's user.
	Root string
	// Guest is as for any process 1; its folder and its start are set here.
	Guest guest.Config
	// In and Out lead to the clients, one session at a time.
	In  io.Reader
	Out io.Writer
}

// lastAnswers is how long answers may take that are due when the guest has ended.
const lastAnswers = 5 * time.Second

// Contain is guest and agent in one process. It serves until it is told to halt.
func Contain(config ContainConfig) error {
	hideMemory()
	boot, err := takeBoot(config.Root)
	if err != nil {
		return err
	}
	logger := lineLogger{os.Stderr}
	link := filepath.Join(config.Root, wire.ContainedLink)
	agent, err := hostagent.OpenSandbox(hostagent.SandboxConfig{
		SocketDir: link, SpoolDir: filepath.Join(config.Root, wire.ContainedSpool), Logger: logger,
		LostExit: boot.lostExit,
		Oversize: func(berth.CommandID) { os.Exit(wire.OversizeStatus) },
	})
	if err != nil {
		return err
	}
	if err := agent.Listen(boot.Start); err != nil {
		return err
	}
	agent.Expect(os.Getpid())
	halting := new(atomic.Int64)
	server := NewServer(func() (*hostagent.Sandbox, error) { return agent, nil }, contained{agent, halting})
	if err := server.openDoor(filepath.Join(config.Root, wire.ContainedDoor)); err != nil {
		return err
	}
	go server.ServePackets(boot.Start, config.In, config.Out)
	config.Guest.Dir, config.Guest.SandboxStart, config.Guest.Init = link, boot.Start, true
	err = guest.Run(config.Guest)
	// Who asked the guest to end hears that it did before others hear that it is gone.
	untilNone(halting)
	agent.End()
	untilNone(&server.answering)
	return err
}

// untilNone waits until a count is 0, for lastAnswers at most.
func untilNone(count *atomic.Int64) {
	for deadline := time.Now().Add(lastAnswers); count.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

type boot struct{ wire.Boot }

// takeBoot reads what the guest is told about its start, once.
func takeBoot(root string) (b boot, err error) {
	path := filepath.Join(root, wire.ContainedBoot)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // started from outside: nobody knows this start
		b.Start = newName()
		return b, nil
	case err != nil:
		return b, err
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("reading %s: %w", path, err)
	}
	return b, os.Remove(path)
}

func (b boot) lostExit(start string) *berth.Exit {
	for _, e := range b.Ends {
		if e.Start == start {
			return &e.Exit
		}
	}
	return nil
}

// contained is the life of a sandbox that is made and started from outside.
type contained struct {
	agent *hostagent.Sandbox
	// halting is how many ask the guest to end and have not heard yet that it does.
	halting *atomic.Int64
}

var errOutside = berth.Errorf(berth.CodeUnsupported, "this sandbox is made and ended from outside")

func (contained) Provision(context.Context, wire.Provision) (berth.SandboxState, error) {
	return berth.SandboxState{}, errOutside
}

func (contained) Describe(context.Context) (berth.SandboxState, error) {
	return berth.SandboxState{}, errOutside
}

func (c contained) Halt(ctx context.Context) error {
	c.halting.Add(1)
	defer c.halting.Add(-1)
	return c.agent.Stop(ctx)
}

func (contained) Resume(context.Context) (berth.SandboxState, error) {
	return berth.SandboxState{}, errOutside
}

func (contained) Destroy(context.Context) error { return errOutside }
