//go:build linux

package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent"
)

// Config is what a daemon is started with. A relay starts it with its own.
type Config struct {
	// Root is the folder of the one sandbox, made by who makes the sandbox. When it
	// is removed, the daemon ends, and all commands with it.
	Root         string
	Sandbox      berth.SandboxID
	Installation berth.InstallationID
	// Program is this program: the daemon runs it as its guest.
	Program string
	// Environ is what commands inherit. Unfiltered keeps what looks like secrets of
	// the machine: where it is the sandbox's own.
	Environ    []string
	Unfiltered bool
	Logger     hostagent.Logger
}

// args are the flags that give Config again.
func (c Config) args() []string {
	args := []string{"-root", c.Root, "-sandbox", string(c.Sandbox), "-installation", string(c.Installation)}
	if c.Unfiltered {
		args = append(args, "-unfiltered")
	}
	return args
}

// The names in the root folder, beside the socket's.
const (
	sandboxesName = "sandboxes"
	lockName      = "lock"
	logName       = "daemon.log"
)

const rootCheck = 2 * time.Second

// Run serves until the sandbox is destroyed, the folder removed, or TERM comes.
// Of two for one folder, the second returns at once without an error. Commands
// outlive a daemon that is killed, and the next one takes them up.
func Run(config Config) error {
	if config.Logger == nil {
		config.Logger = lineLogger{newLogFile(filepath.Join(config.Root, logName), os.Stderr)}
	}
	root, err := os.Open(config.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := os.OpenFile(filepath.Join(config.Root, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	switch err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil
	case err != nil:
		return fmt.Errorf("locking the sandbox's folder: %w", err)
	}
	hideMemory()
	if err := proctree.CloseOnExec(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// A connection that ends is no reason to die.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	s, err := openSandbox(config)
	if err != nil {
		return err
	}
	defer s.provider.Close()
	listener, err := wire.Listen(root, false)
	if err != nil {
		return err
	}
	server := NewServer(s.agent, s)
	go server.watch(ctx, root, s)
	go func() {
		select {
		case <-ctx.Done():
		case <-server.ended:
		}
		listener.Close()
	}()
	server.accept(ctx, listener)
	return nil
}

// accept serves connections until the listener is closed, and ends them then.
func (s *Server) accept(ctx context.Context, listener *net.UnixListener) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			break
		}
		work.Go(func() { _ = s.Serve(ctx, conn) }) // the client sees that it ended
	}
	cancel()
	work.Wait()
}

// watch ends the sandbox when its folder has been removed by hand.
func (s *Server) watch(ctx context.Context, root *os.File, life Life) {
	tick := time.NewTicker(rootCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ended:
			return
		case <-tick.C:
		}
		var stat syscall.Stat_t
		if err := syscall.Fstat(int(root.Fd()), &stat); err == nil && stat.Nlink == 0 {
			_ = life.Destroy(ctx) // there is nobody to tell
			s.end()
			return
		}
	}
}

// hideMemory keeps secrets on their way from processes without the right to
// trace any.
func hideMemory() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0)
}
