// Package terminal shows progress and pages to a person without disturbing the
// output of the commands that they watch.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// View writes chatter beside a command's output. On a terminal the work at hand
// is one line at the bottom that is drawn again and again; it is taken away
// before anything else is written. Elsewhere there are plain lines only.
type View struct {
	chatter io.Writer // where notes go: standard error
	now     func() time.Time
	live    bool // chatter is a terminal that can be redrawn
	quiet   bool

	mu     sync.Mutex // guards what follows
	label  string     // of the work at hand; empty is none
	since  time.Time
	drawn  bool // the label's line is on the screen
	shared bool // output that goes to the same place did not end its line
	frame  int

	once  sync.Once
	stop  chan struct{}
	ended chan struct{}
}

// Options of a view.
type Options struct {
	Chatter io.Writer
	Now     func() time.Time
	Live    bool
	Quiet   bool // no notes and no line; output still passes
}

const (
	frameTime = 100 * time.Millisecond
	showAfter = 300 * time.Millisecond // short work is not shown at all: it would flicker
	erase     = "\r\x1b[K"
)

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// New makes a view; Close ends it.
func New(o Options) *View {
	v := &View{chatter: o.Chatter, now: o.Now, live: o.Live && !o.Quiet, quiet: o.Quiet}
	if v.live {
		v.stop, v.ended = make(chan struct{}), make(chan struct{})
		go v.tick()
	}
	return v
}

// Close takes the line away and waits for the drawing to end. It may be called again.
func (v *View) Close() {
	if v.live {
		v.once.Do(func() { close(v.stop) })
		<-v.ended
	}
	v.Idle()
}

// Busy names the work at hand, on since `since`.
func (v *View) Busy(label string, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.label, v.since = Clean(label), since
}

// Idle says that no work is at hand.
func (v *View) Idle() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.label = ""
}

// Note writes one line of chatter, on a line of its own.
func (v *View) Note(format string, args ...any) {
	if v.quiet {
		return
	}
	v.Say(fmt.Sprintf(format, args...))
}

// Say is Note also when the view is quiet, for what a person must not miss.
func (v *View) Say(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	if v.shared {
		line, v.shared = "\n"+line, false
	}
	fmt.Fprintln(v.chatter, line)
}

// Output passes bytes on to w unchanged, with the line out of the way. same says
// that w shows where the chatter does.
func (v *View) Output(w io.Writer, same bool) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if same && len(b) > 0 {
			v.clear()
			v.shared = b[len(b)-1] != '\n'
		}
		return w.Write(b)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func (v *View) tick() {
	defer close(v.ended)
	t := time.NewTicker(frameTime)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			v.draw()
		case <-v.stop:
			return
		}
	}
}

// draw shows the line. Behind output that did not end its line it stays away,
// as it could not be taken off again.
func (v *View) draw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	on := v.now().Sub(v.since)
	if v.label == "" || v.shared || on < showAfter {
		return
	}
	v.frame = (v.frame + 1) % len(frames)
	text := Cut(fmt.Sprintf("%c %s %s", frames[v.frame], v.label, Span(on)), v.width()-1)
	fmt.Fprint(v.chatter, erase+text)
	v.drawn = true
}

// clear takes the line off the screen; the lock is held.
func (v *View) clear() {
	if v.drawn {
		fmt.Fprint(v.chatter, erase)
		v.drawn = false
	}
}

func (v *View) width() int {
	if f, ok := v.chatter.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			return w
		}
	}
	return 80
}

// Is reports whether v, a reader or writer, is a terminal.
func Is(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
