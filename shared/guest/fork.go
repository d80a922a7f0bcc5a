//go:build linux

package guest

import (
	"os"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/spool"
)

// fork starts the process of c in a session of its own.
func (g *Guest) fork(c *command, p wire.Command, dir string) error {
	var child pipeEnds
	defer child.close()
	stdin, err := g.stdin(c, p.Stdin, &child)
	if err != nil {
		return err
	}
	for i := range c.pipes {
		c.pipes[i], err = child.pipe(false)
		if err != nil {
			g.closePipes(c)
			return err
		}
	}
	attr := &syscall.ProcAttr{
		Dir:   dir,
		Env:   environ(g.environ, p.Env, dir),
		Files: []uintptr{stdin, uintptr(child.fds[len(child.fds)-2]), uintptr(child.fds[len(child.fds)-1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: g.user.credential()},
	}
	if err := g.launch(c, argvOf(p), attr); err != nil {
		g.closePipes(c)
		return err
	}
	go c.input.run()
	c.pump(spool.TypeStdout, spool.TypeStderr, g.looks)
	return nil
}

// launch starts bash as the first process of c. The pid is known before the
// reaper may see its end.
func (g *Guest) launch(c *command, argv []string, attr *syscall.ProcAttr) error {
	return g.reaper.start(func() (int, error) {
		var err error
		c.pid, c.mark, err = g.marks.with(func(held bool) (int, error) {
			attr.Sys.Ptrace = held
			return syscall.ForkExec(g.config.Bash, argv, attr)
		})
		if attr.Sys.Credential != nil {
			_ = hideMemory() // the child changed its user while it shared the guest's memory
		}
		return c.pid, err
	}, c.reaped)
}

// stdin returns the descriptor that the child reads.
func (g *Guest) stdin(c *command, open bool, child *pipeEnds) (uintptr, error) {
	if !open {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		child.fds = append(child.fds, fd)
		return uintptr(fd), nil
	}
	w, err := child.pipe(true)
	if err != nil {
		return 0, err
	}
	c.input = newInput(w)
	return uintptr(child.fds[0]), nil
}

func (g *Guest) closePipes(c *command) {
	if c.input != nil {
		c.input.close()
	}
	for _, f := range c.pipes {
		if f != nil {
			f.Close()
		}
	}
}

// pipeEnds are the child's, which the guest closes after the fork.
type pipeEnds struct{ fds []int }

// pipe returns the guest's end of a new pipe, which never blocks a thread. The
// child's end blocks, as programs expect.
func (e *pipeEnds) pipe(childReads bool) (*os.File, error) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	ours, theirs := p[0], p[1]
	if childReads {
		ours, theirs = p[1], p[0]
	}
	e.fds = append(e.fds, theirs)
	if err := syscall.SetNonblock(ours, true); err != nil {
		syscall.Close(ours)
		return nil, err
	}
	return os.NewFile(uintptr(ours), "pipe"), nil
}

func (e *pipeEnds) close() {
	for _, fd := range e.fds {
		syscall.Close(fd)
	}
}

// argvOf runs an argv so that a program that is missing or not executable is
// reported as the shell does it.
func argvOf(p wire.Command) []string {
	if len(p.Argv) == 0 {
		return []string{"bash", "-c", "--", string(p.Script)}
	}
	return append([]string{"bash", "-c", `exec -- "$@"`, "bash"}, wire.Strings(p.Argv)...)
}

// shellOwn are the variables that a shell sets for itself; BASH_ENV would make
// it read a file first.
var shellOwn = map[string]bool{"PWD": true, "OLDPWD": true, "SHLVL": true, "_": true, "BASH_ENV": true}

// environ is the inherited environment, without what is berth's or the shell's,
// overlaid by what was declared for the command.
func environ(inherited []string, declared []wire.Variable, dir string) []string {
	beaten := map[string]bool{}
	for _, v := range declared {
		beaten[string(v.Name)] = true
	}
	env := make([]string, 0, len(inherited)+len(declared)+1)
	for _, entry := range inherited {
		name, _, _ := strings.Cut(entry, "=")
		if !beaten[name] && !shellOwn[name] && !strings.HasPrefix(name, "BERTH_") {
			env = append(env, entry)
		}
	}
	if !beaten["PWD"] {
		env = append(env, "PWD="+dir) // keeps the path as it was given, links and all
	}
	for _, v := range declared {
		env = append(env, string(v.Name)+"="+string(v.Value))
	}
	return env
}
