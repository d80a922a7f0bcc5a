package terminal

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen keeps what a terminal shows: the line at the bottom can be erased.
type screen struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes.String()
}

// shown plays the bytes: an erase takes the bottom line away.
func shown(raw string) string {
	var lines []string
	line := ""
	for raw != "" {
		switch {
		case strings.HasPrefix(raw, erase):
			line, raw = "", raw[len(erase):]
		case raw[0] == '\n':
			lines, line, raw = append(lines, line), "", raw[1:]
		default:
			line, raw = line+raw[:1], raw[1:]
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// liveView draws only when told to, and its clock is an hour ahead of all work.
func liveView(s *screen) *View {
	return &View{chatter: s, live: false, now: func() time.Time { return time.Unix(3600, 0) }}
}

func TestTheLineNeverGarblesOutput(t *testing.T) {
	t.Parallel()
	var s screen
	v := liveView(&s)
	out := v.Output(&s, true)
	write := func(text string) {
		v.draw()
		if _, err := out.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		v.draw()
	}
	v.Busy("building", time.Unix(0, 0))
	write("one\n")
	write("two, ")
	write("still two\n\x1b[31mred")
	write("\x1b[0m\n")
	v.Note("note")
	v.draw()
	v.Close()
	if got, want := shown(s.String()), "one\ntwo, still two\n\x1b[31mred\x1b[0m\nnote\n"; got != want {
		t.Errorf("the screen shows %q, want %q", got, want)
	}
	if !strings.Contains(s.String(), "building") {
		t.Error("the line was never drawn")
	}
}

func TestNothingIsDrawnBehindAnUnfinishedLine(t *testing.T) {
	t.Parallel()
	var s screen
	v := liveView(&s)
	v.Busy("building", time.Unix(0, 0))
	if _, err := v.Output(&s, true).Write([]byte("password: ")); err != nil {
		t.Fatal(err)
	}
	v.draw()
	if got := s.String(); got != "password: " {
		t.Errorf("the screen got %q, want the prompt alone", got)
	}
	v.Note("done")
	if got := s.String(); got != "password: \ndone\n" {
		t.Errorf("the screen got %q, want the note on a line of its own", got)
	}
}

func TestOutputThatGoesElsewhereIsLeftAlone(t *testing.T) {
	t.Parallel()
	var s screen
	var file bytes.Buffer
	v := liveView(&s)
	v.Busy("building", time.Unix(0, 0))
	v.draw()
	if _, err := v.Output(&file, false).Write([]byte("no newline")); err != nil {
		t.Fatal(err)
	}
	v.draw()
	v.Note("done")
	if file.String() != "no newline" || shown(s.String()) != "done\n" {
		t.Errorf("file = %q, screen = %q", file.String(), shown(s.String()))
	}
}

func TestShortWorkIsNotShown(t *testing.T) {
	t.Parallel()
	var s screen
	v := liveView(&s)
	v.Busy("quick", time.Unix(3600, 0).Add(-showAfter/2))
	v.draw()
	if s.String() != "" {
		t.Errorf("the screen got %q, want nothing", s.String())
	}
}

func TestAQuietViewOnlySaysWhatMustNotBeMissed(t *testing.T) {
	t.Parallel()
	var s screen
	v := New(Options{Chatter: &s, Now: time.Now, Live: true, Quiet: true})
	v.Busy("x", time.Unix(0, 0))
	v.Note("chatter")
	v.Say("trouble")
	v.Close()
	v.Close()
	if s.String() != "trouble\n" {
		t.Errorf("the screen got %q, want the trouble alone", s.String())
	}
}

func TestTheDrawingEndsWithTheView(t *testing.T) {
	t.Parallel()
	var s screen
	v := New(Options{Chatter: &s, Now: time.Now, Live: true})
	v.Busy("work", time.Unix(0, 0))
	for range 200 {
		if strings.Contains(s.String(), "work") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	v.Close()
	if got := s.String(); !strings.Contains(got, "work") || shown(got) != "" {
		t.Errorf("the screen got %q, want the line drawn and taken away", got)
	}
}
