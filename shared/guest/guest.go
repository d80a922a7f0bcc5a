//go:build linux

package guest

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/guest/workspace"
)

// Config is what a guest is started with.
type Config struct {
	// Dir holds the agent's socket. When it is removed, the guest ends.
	Dir string
	// SandboxStart names this start of the sandbox.
	SandboxStart string
	// Tag is the first of the sandbox's range; its owner finds every process of
	// the sandbox by it, with the guest gone. 0 is none.
	Tag proctree.Tag
	// Workspace is the absolute path that commands start in.
	Workspace string
	// Bash is the shell of all commands.
	Bash string
	// Environ is the environment that commands inherit.
	Environ []string
}

// Guest is one sandbox's process.
type Guest struct {
	config Config
	dir    *os.File
	tags   tags
	reaper *reaper
	files  *workspace.Workspace
	looks  *looks
	probed chan struct{} // closed when probeErr is set
	quit   chan struct{} // closed when the guest is to end

	probeErr error
	quitOnce sync.Once
	startMu  sync.Mutex // makes starts and tombstones one after the other

	mu       sync.Mutex // guards all below
	commands map[berth.CommandID]*command
	stopping bool
}

// Run serves until the process is told to end: by its agent, by TERM, or by the
// removal of its folder. All its commands end with it.
func Run(config Config) error {
	dir, err := os.Open(config.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := becomeReaper(); err != nil {
		return err
	}
	if err := restoreLibcSignals(); err != nil {
		return err
	}
	if err := proctree.CloseOnExec(); err != nil {
		return err
	}
	g := &Guest{
		config: config, dir: dir, tags: newTags(config.Tag), reaper: newReaper(), files: workspace.New(config.Workspace),
		looks: newLooks(), probed: make(chan struct{}), quit: make(chan struct{}), commands: map[berth.CommandID]*command{},
	}
	child, term := takeSignals()
	go g.reaper.run(child)
	go func() {
		<-term
		g.end()
	}()
	go g.probe()
	g.serveUntilEnd()
	return nil
}

// takeSignals catches every signal. None is ignored: commands would inherit it.
func takeSignals() (child, term <-chan os.Signal) {
	c, t, others := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCHLD)
	signal.Notify(t, syscall.SIGTERM)
	for n := syscall.Signal(1); n <= 64; n++ {
		switch n {
		case syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGURG: // URG is the Go runtime's own
		default:
			signal.Notify(others, n)
		}
	}
	return c, t
}

// becomeReaper makes orphans of commands children of the guest, as they are of
// process 1 anyway. The guest's memory, where secrets are, is no one's to dump.
func becomeReaper() error {
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

const (
	redialMin   = 20 * time.Millisecond
	redialMax   = time.Second
	folderCheck = 2 * time.Second
	// maxRefused is how often an agent may turn the guest away that never talked
	// to one. Its agent died before it wrote the guest down and the next one has
	// started another; this one has no commands.
	maxRefused = 3
)

// serveUntilEnd dials, serves the connection, and dials again.
func (g *Guest) serveUntilEnd() {
	gone := make(chan struct{})
	go g.watchFolder(gone)
	go func() {
		select {
		case <-gone:
			g.end()
		case <-g.quit:
		}
	}()
	known, refused := false, 0
	for pause := redialMin; ; {
		conn, err := wire.Dial(g.dir)
		switch {
		case err != nil:
		case g.serve(conn):
			known, pause = true, redialMin
		case !known:
			refused++
		}
		if refused == maxRefused {
			g.end()
		}
		timer := time.NewTimer(pause)
		select {
		case <-g.quit:
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, redialMax)
	}
}

// watchFolder closes gone when the folder has been removed: its owner is gone
// for good.
func (g *Guest) watchFolder(gone chan<- struct{}) {
	tick := time.NewTicker(folderCheck)
	defer tick.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-tick.C:
		}
		var stat syscall.Stat_t
		if err := syscall.Fstat(int(g.dir.Fd()), &stat); err == nil && stat.Nlink == 0 {
			close(gone)
			return
		}
	}
}

// end ends all commands and then the guest.
func (g *Guest) end() {
	g.stop(context.Background())
	g.quitOnce.Do(func() { close(g.quit) })
}

// stop ends all commands and whatever else is left below the guest. Nothing is
// started from then on.
func (g *Guest) stop(ctx context.Context) {
	g.startMu.Lock() // no start is half done
	g.mu.Lock()
	g.stopping = true
	g.startMu.Unlock()
	var running []*command
	for _, c := range g.commands {
		running = append(running, c)
	}
	g.mu.Unlock()
	for _, c := range running {
		go g.endTree(c, berth.ExitCancelled, "the sandbox was stopped")
	}
	for _, c := range running {
		select {
		case <-c.done:
		case <-time.After(stopLimit):
		case <-ctx.Done():
		}
	}
	proctree.End(ctx, proctree.Ending{
		Find:  func(all []proctree.Process) []proctree.Process { return proctree.Below(all, os.Getpid()) },
		Grace: killGrace / 4,
		Limit: killLimit,
	})
}

// commandDir is the absolute start directory of a command. Errors: invalid.
func (g *Guest) commandDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(g.config.Workspace, dir)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", &berth.Error{Code: berth.CodeInvalid, Field: "dir", Message: "the start directory does not exist or may not be entered", Cause: err}
	}
	if !info.IsDir() {
		return "", berth.FieldErrorf(berth.CodeInvalid, "dir", "the start directory is not a directory")
	}
	return dir, nil
}
