//go:build linux

package guest

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/redact"
)

const (
	// hangUpGrace is how long a shell has to end by itself after a hang-up, and what
	// it started after that.
	hangUpGrace = time.Second
	// maskIdle is how long output waits that may be the beginning of a secret: what
	// a person types has to show.
	maskIdle = 30 * time.Millisecond
	// endOfInput is what a terminal takes for the end of a person's input.
	endOfInput = 0x04
	endEvery   = 250 * time.Millisecond
)

// interactive is bash on a terminal, for a person at the other end of a stream. It has
// no record: it is over with the stream.
type interactive struct {
	*command
	guest    *Guest
	terminal terminal
	stream   net.Conn
	out      *channel.Writer
	over     chan struct{} // closed when nothing more is to be done for the person
	once     sync.Once

	mu     sync.Mutex // guards masked, and the order of what is sent
	masked *redact.Stream
}

// openShell starts bash in a session of its own whose terminal the stream leads
// to. It takes over stream when there is no error.
func (g *Guest) openShell(p wire.Shell, stream net.Conn) error {
	if g.prepareErr != nil {
		return g.prepareErr
	}
	dir, err := g.commandDir("")
	if err != nil {
		return err
	}
	t, err := g.openTerminal()
	if err != nil {
		return err
	}
	if err := t.resize(p.Window); err != nil {
		t.close()
		return berth.Wrap(err, "giving the terminal its size")
	}
	s := &interactive{
		command: &command{exited: make(chan struct{}), done: make(chan struct{})}, guest: g, terminal: t, stream: stream,
		out: channel.NewWriter(stream), over: make(chan struct{}), masked: redact.New(bytesOf(p.Mask)).Stream(),
	}
	if err := s.start(p, dir); err != nil {
		t.close()
		return err
	}
	go s.serve(len(p.Mask) > 0)
	return nil
}

func (s *interactive) start(p wire.Shell, dir string) error {
	g := s.guest
	tty := s.terminal.shell.Fd()
	attr := &syscall.ProcAttr{
		Dir:   dir,
		Env:   environ(g.environ, onTerminal(p), dir),
		Files: []uintptr{tty, tty, tty},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Credential: g.user.credential()},
	}
	g.startMu.Lock()
	defer g.startMu.Unlock()
	g.mu.Lock()
	stopping := g.stopping
	g.mu.Unlock()
	if stopping {
		return berth.Errorf(berth.CodeConflict, "the sandbox is being stopped")
	}
	err := g.launch(s.command, []string{"bash", "-i"}, attr)
	s.terminal.shell.Close()
	return berth.Wrap(err, "starting a shell")
}

// onTerminal is the declared environment, with the name of the person's terminal
// whatever commands are told.
func onTerminal(p wire.Shell) []wire.Variable {
	if p.Terminal == "" {
		return p.Env
	}
	env := slices.DeleteFunc(slices.Clone(p.Env), func(v wire.Variable) bool { return v.Name == "TERM" })
	return append(env, wire.Variable{Name: "TERM", Value: wire.Text(p.Terminal)})
}

// serve carries bytes until the shell has ended or the person is gone.
func (s *interactive) serve(masks bool) {
	read := make(chan struct{}) // closed when the terminal says nothing more
	go func() {
		defer close(read)
		s.show(masks)
	}()
	go s.typed()
	go channel.KeepTelling(s.out, s.over, s.leave)
	select {
	case <-s.exited:
		select { // what is on the terminal still goes out
		case <-read:
		case <-s.over:
		case <-time.After(drainLimit):
		}
		s.command.mu.Lock()
		status := s.status
		s.command.mu.Unlock()
		_ = s.out.Exit(exitOf(status)) // it fails when nobody is there
		s.leave()
		s.terminal.person.Close()
	case <-s.over:
		s.hangUp()
	}
}

// leave ends the stream.
func (s *interactive) leave() {
	s.once.Do(func() {
		close(s.over)
		s.stream.Close()
	})
}

// show sends what is on the terminal.
func (s *interactive) show(masks bool) {
	var idle *time.Timer
	if masks {
		idle = time.AfterFunc(time.Hour, func() { s.send(nil, true) })
		defer idle.Stop()
	}
	buf := make([]byte, channel.MaxPayload)
	for {
		n, err := s.terminal.person.Read(buf)
		if n > 0 {
			s.send(buf[:n], false)
			if idle != nil {
				idle.Reset(maskIdle)
			}
		}
		if err != nil { // the shell's side is closed
			s.send(nil, true)
			return
		}
	}
}

// send masks and sends; flush says that what was held back is no secret.
func (s *interactive) send(p []byte, flush bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = s.masked.Write(p)
	if flush {
		p = s.masked.Flush()
	}
	if _, err := s.out.Write(p); err != nil {
		s.leave()
	}
}

// typed hands on what the person types, until the stream ends.
func (s *interactive) typed() {
	defer s.leave()
	for in := channel.NewReader(s.stream); ; {
		f, err := in.Next()
		if err != nil {
			return
		}
		switch f.Kind {
		case channel.Data:
			_, err = s.terminal.person.Write(f.Payload)
		case channel.End:
			go s.endInput()
		case channel.Window:
			if w, ok := f.Window(); ok {
				_ = s.terminal.resize(w) // it fails when the terminal is gone, as will the next read
			}
		}
		if err != nil {
			<-s.over // the shell is ending, and its exit is yet to be told
			return
		}
	}
}

// endInput tells whoever reads from the terminal that nothing more comes, again and
// again: a terminal has no end, and who changes its mode loses the one key for it.
func (s *interactive) endInput() {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for {
		if _, err := s.terminal.person.Write([]byte{endOfInput}); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return
		case <-s.over:
			return
		}
	}
}

// hangUp ends the shell and all that it started. The kernel tells the session of
// it when the terminal is closed; who takes no notice is ended.
func (s *interactive) hangUp() {
	s.terminal.person.Close()
	timer := time.NewTimer(hangUpGrace)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
	}
	proctree.End(context.Background(), proctree.Ending{
		Find:  func(all []proctree.Process) []proctree.Process { return s.tree(all, s.guest.marks) },
		Grace: hangUpGrace, Limit: killLimit,
	})
}
