// Package emulator runs emulators of AWS on this machine, without containers,
// and deploys berth to them.
//
// They are Python programs from PyPI. Each is installed once into a virtual
// environment in a cache folder, with every version pinned, and listens on the
// loopback interface only. Tests use Start and its like; `make emulate` uses Run.
package emulator

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Region is the one that emulators are asked about.
const Region = "us-east-1"

const (
	// startWait is generous: a busy machine takes a minute.
	startWait     = 3 * time.Minute
	startAttempts = 3
	// stopWait is for LocalStack, which ends its functions first.
	stopWait = 45 * time.Second
)

// Options are how an emulator is to run.
type Options struct {
	Kind Kind
	// Port is that of the endpoint; 0 is a free one.
	Port int
	// Folder is for its state and its logs. It has to be there.
	Folder string
	// Detached is to run on after this process.
	Detached bool
	// Progress is told what takes long. It may be nil.
	Progress func(line string)
}

// Emulator is a running one.
type Emulator struct {
	Kind Kind
	// Endpoint is where all of its services are, such as http://127.0.0.1:4566.
	Endpoint string

	folder   string
	programs []*program // in the order of their start
	prepared bool       // for the CDK
}

// program is a process of an emulator.
type program struct {
	name    string
	process *process
	log     string // its path
}

// Run starts an emulator and waits until it is ready. The caller has to Stop it.
func Run(ctx context.Context, o Options) (*Emulator, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	i := installer{cache: cache, progress: o.Progress}
	attempts := startAttempts
	if o.Port != 0 {
		attempts = 1
		if err := mustBeFree(o.Port); err != nil {
			return nil, err
		}
	}
	for {
		var e *Emulator
		// A port that was free may be taken by the time it is used.
		if e, err = runOnce(ctx, i, o); err == nil {
			return e, nil
		}
		if attempts--; attempts == 0 || ctx.Err() != nil {
			return nil, err
		}
	}
}

func runOnce(ctx context.Context, i installer, o Options) (_ *Emulator, err error) {
	e := &Emulator{Kind: o.Kind, folder: o.Folder}
	defer func() {
		if err != nil {
			e.Stop()
		}
	}()
	ministack, err := i.ministack(ctx)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case Ministack:
		err = e.runMinistack(ctx, o, ministack)
	case LocalStack:
		var python, plugin string
		if python, plugin, err = i.localStack(ctx); err == nil {
			err = e.runLocalStack(ctx, o, ministack, python, plugin)
		}
	default:
		_, err = ParseKind(string(o.Kind))
	}
	return e, err
}

// Stop ends all of the emulator, and waits. What it held is lost.
func (e *Emulator) Stop() {
	for i := len(e.programs) - 1; i >= 0; i-- {
		e.programs[i].process.stop(stopWait)
	}
	e.programs = nil
}

// Logs are the ends of what its programs wrote, of at most this many bytes each.
func (e *Emulator) Logs(most int) string {
	var logs strings.Builder
	for _, p := range e.programs {
		content, err := os.ReadFile(p.log)
		if err != nil {
			content = []byte(err.Error())
		}
		fmt.Fprintf(&logs, "%s wrote, at the end:\n%s\n", p.name, content[max(0, len(content)-most):])
	}
	return logs.String()
}

// choosePort is the wanted port, or a free one.
func choosePort(wanted int) (int, error) {
	if wanted != 0 {
		return wanted, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func mustBeFree(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("port %d is in use; end what uses it, or set PORT to another: %w", port, err)
	}
	return l.Close()
}

// makeFolders makes folders of the emulator's own for a program's home and for
// temporary files.
func (e *Emulator) makeFolders(name string) (home, temporary string, err error) {
	home, temporary = filepath.Join(e.folder, name), filepath.Join(e.folder, name, "tmp")
	return home, temporary, os.MkdirAll(temporary, 0o700)
}
