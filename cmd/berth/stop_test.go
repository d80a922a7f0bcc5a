package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/embedded"
)

// serve runs `berth serve` with these arguments until it is stopped; its result is
// sent then.
func (c *cli) serve(args ...string) <-chan result {
	c.t.Helper()
	ended := make(chan result, 1)
	go func() {
		ended <- c.run(append([]string{"serve", "--docker=off", "--allow-local=false", "--ssh=off"}, args...)...)
	}()
	for deadline := time.Now().Add(testLimit); ; time.Sleep(5 * time.Millisecond) {
		_, err := embedded.Find(c.t.Context(), filepath.Join(c.env["XDG_DATA_HOME"], "berth"))
		if err == nil {
			return ended
		}
		select {
		case r := <-ended:
			c.t.Fatalf("berth serve = %+v", r)
		default:
		}
		if time.Now().After(deadline) {
			c.t.Fatal(err)
		}
	}
}

func (c *cli) stop() (s stopped) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.ok("stop", "--json").stdout), &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

func TestStopEndsTheServerOfTheDataFolder(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	mustContain(t, "stop without a server", c.ok("stop").stderr, "no server runs for ", "nothing to stop")
	if s := c.stop(); s.Stopped || s.DataDir == "" {
		t.Errorf("without a server berth stop --json = %+v", s)
	}
	ended := c.serve()
	second := c.run("serve", "--docker=off", "--allow-local=false", "--ssh=off")
	if second.status != 5 {
		t.Errorf("a second berth serve = %+v, want a conflict", second)
	}
	mustContain(t, "the conflict", second.stderr, "berth: conflict: another server uses the data folder ", "`berth stop`")
	s := c.stop()
	if !s.Stopped || s.URL == "" || s.PID == 0 || s.LiveRuns {
		t.Errorf("berth stop --json = %+v", s)
	}
	select {
	case r := <-ended:
		if r.status != 0 {
			t.Errorf("berth serve = %+v, want a good end", r)
		}
	case <-time.After(testLimit):
		t.Fatal("berth serve goes on")
	}
	// The data folder is free: another server starts at once.
	ended = c.serve()
	mustContain(t, "stop", c.ok("stop").stderr, "stopped the server of ")
	<-ended
}

func TestStopIsNotForAServerElsewhere(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, flag := range []string{"--server=" + f.URL, "--context=elsewhere"} {
		r := newCLI(t, "").run("stop", flag)
		if r.status != 2 {
			t.Errorf("berth stop %s = %+v, want invalid", flag, r)
		}
		mustContain(t, "the error", r.stderr, "on this machine only", "--data-dir")
	}
	// What a variable or the current context names is left alone too.
	mustContain(t, "stop", newCLI(t, f.URL).ok("stop").stderr, "nothing to stop")
}
