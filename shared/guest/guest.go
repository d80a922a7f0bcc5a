//go:build linux

package guest

import (
	"context"
	"errors"
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
	// SandboxStart names this start of the sandbox. Where it is empty, the agent
	// names it with each command.
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

	// Init says that the guest is root and process 1 of a container of its own:
	// only its agent ends it, and what follows holds.
	Init bool
	// User is the image's: commands run as that user, and files are used so.
	User string
	// KeepHome leaves HOME as the environment has it, not as the user's account.
	KeepHome bool
	// KeepOwner leaves the workspace to whom it belongs.
	KeepOwner bool
}

// Guest is one sandbox's process.
type Guest struct {
	config  Config
	environ []string
	user    *identity // nil is the guest's own
	dir     *os.File
	marks   marker
	reaper  *reaper
	files   *workspace.Workspace
	looks   *looks
	probed  chan struct{} // closed when probeErr is set
	quit    chan struct{} // closed when the guest is to end

	prepareErr error
	probeErr   error
	quitOnce   sync.Once
	startMu    sync.Mutex // makes starts and tombstones one after the other

	mu       sync.Mutex // guards all below
	commands map[berth.CommandID]*command
	stopping bool
}

// Run serves until the process is told to end: by its agent, by the removal of
// its folder, or by TERM. Process 1 takes no notice of TERM, which anybody inside
// can send. All commands end with the guest.
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
		config: config, environ: config.Environ, dir: dir, reaper: newReaper(), files: workspace.New(config.Workspace),
		looks: newLooks(), probed: make(chan struct{}), quit: make(chan struct{}), commands: map[berth.CommandID]*command{},
	}
	child, term := takeSignals()
	go g.reaper.run(child)
	if config.Init {
		g.marks = newKillerMarks()
		g.prepareErr = g.prepare()
	} else {
		g.marks = newLimitMarks(config.Tag)
		go func() {
			<-term
			g.end()
		}()
	}
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
// process 1 anyway.
func becomeReaper() error {
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return hideMemory()
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
		case !known && !g.config.Init: // no other can have been started in its container
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
	err := g.user.do(func() error { return enter(dir) })
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "", berth.FieldErrorf(berth.CodeInvalid, "dir", "the start directory is not a directory")
	case err != nil:
		return "", &berth.Error{Code: berth.CodeInvalid, Field: "dir", Message: "the start directory does not exist or may not be entered", Cause: err}
	}
	return dir, nil
}

// enter finds out whether dir may be entered.
func enter(dir string) error {
	const oPath = 0x200000
	fd, err := syscall.Open(dir+"/.", oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return syscall.Close(fd)
}
