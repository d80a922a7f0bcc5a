//go:build linux

package daytona_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

// built is a spec whose image is a Dockerfile.
func built(t testing.TB, dockerfile string) berth.SandboxSpec {
	s := spec(t)
	s.Environment.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: dockerfile}
	return s
}

func TestASecondRunOfADockerfileBuildsNothing(t *testing.T) {
	t.Parallel()
	needGuest(t)
	s := daytonatest.New(t, daytonatest.Config{BuildTime: 60 * time.Millisecond})
	p := open(t, config(t, s))
	first := built(t, "FROM debian:13\n")
	ready(t, p, first)
	for range 2 {
		ready(t, open(t, config(t, s)), built(t, "FROM debian:13\n"))
	}
	if n := s.Count(http.MethodPost, "/snapshots"); n != 1 {
		t.Errorf("%d build requests, want 1", n)
	}
	rotated := config(t, s)
	s.AllowKey("another-key", "write:sandboxes", "delete:sandboxes", "write:snapshots", "delete:snapshots")
	rotated.Key = secret("another-key")
	ready(t, open(t, rotated), built(t, "FROM debian:13\n"))
	if n := s.Count(http.MethodPost, "/snapshots"); n != 1 {
		t.Errorf("%d build requests after the key was rotated, want 1", n)
	}
}

// BenchmarkRunsOfADockerfile counts what Daytona is asked to build.
func BenchmarkRunsOfADockerfile(b *testing.B) {
	var first, second int
	for b.Loop() {
		s := daytonatest.New(b, daytonatest.Config{})
		ready(b, open(b, config(b, s)), built(b, "FROM debian:13\n"))
		first = s.Count(http.MethodPost, "/snapshots")
		ready(b, open(b, config(b, s)), built(b, "FROM debian:13\n"))
		second = s.Count(http.MethodPost, "/snapshots") - first
	}
	b.ReportMetric(float64(first), "builds/first")
	b.ReportMetric(float64(second), "builds/second")
}

func TestWhatASnapshotIsMadeOfIsInItsName(t *testing.T) {
	t.Parallel()
	needGuest(t)
	s := daytonatest.New(t, daytonatest.Config{})
	cpu, memory, disk := 2, berth.Size("3GiB"), berth.Size("4500MB")
	change := map[string]func(*daytona.Config, *berth.SandboxSpec){
		"nothing":        func(*daytona.Config, *berth.SandboxSpec) {},
		"the Dockerfile": func(_ *daytona.Config, s *berth.SandboxSpec) { s.Environment.Image.Dockerfile.Value += "RUN true\n" },
		"CPU":            func(_ *daytona.Config, s *berth.SandboxSpec) { s.Environment.Resources.CPU = &cpu },
		"memory":         func(_ *daytona.Config, s *berth.SandboxSpec) { s.Environment.Resources.Memory = &memory },
		"disk":           func(_ *daytona.Config, s *berth.SandboxSpec) { s.Environment.Resources.Disk = &disk },
		"the region": func(_ *daytona.Config, s *berth.SandboxSpec) {
			s.Environment.Daytona = &berth.DaytonaOptions{Target: "eu"}
		},
		"the scope":        func(c *daytona.Config, _ *berth.SandboxSpec) { c.Scope = secret("another tenant") },
		"the installation": func(c *daytona.Config, _ *berth.SandboxSpec) { c.Installation = "other" },
	}
	names := map[string]string{}
	for what, f := range change {
		c, spec := config(t, s), built(t, "FROM debian:13\n")
		f(&c, &spec)
		spec.Installation = c.Installation
		before := len(s.Sandboxes())
		ready(t, open(t, c), spec)
		var of daytonatest.SandboxRow
		for _, row := range s.Sandboxes() {
			if row.Labels["dev.berth.sandbox"] == string(spec.ID) {
				of = row
			}
		}
		if other, taken := names[of.Snapshot]; taken || len(s.Sandboxes()) != before+1 {
			t.Errorf("%s and %s have the same snapshot %s", what, other, of.Snapshot)
		}
		names[of.Snapshot] = what
		if strings.Contains(of.Snapshot, "debian") || len(of.Snapshot) > 128 {
			t.Errorf("name %s", of.Snapshot)
		}
	}
	sizes := map[string]string{}
	for _, n := range s.Snapshots() {
		sizes[names[n.Name]] = fmt.Sprint(n.CPU, n.Memory, n.Disk)
	}
	if sizes["CPU"] != "2 1 3" || sizes["memory"] != "1 3 3" || sizes["disk"] != "1 1 5" {
		t.Errorf("sizes are %v", sizes)
	}
}

func TestRunsThatRaceForOneSnapshotAllSucceed(t *testing.T) {
	t.Parallel()
	needGuest(t)
	s := daytonatest.New(t, daytonatest.Config{BuildTime: 100 * time.Millisecond})
	var runs sync.WaitGroup
	for range 5 {
		p := open(t, config(t, s))
		runs.Go(func() {
			if state, err := provision(t.Context(), p, built(t, "FROM alpine:3\n")); err != nil || state.Status != berth.SandboxReady {
				t.Errorf("Provision = %+v, %v", state, err)
			}
		})
	}
	runs.Wait()
	if all := s.Snapshots(); len(all) != 1 {
		t.Errorf("%d snapshots, want 1", len(all))
	}
}

func TestSnapshotsAreWaitedForWhateverTheyGoThrough(t *testing.T) {
	t.Parallel()
	for name, states := range map[string][]string{
		"active at once":            {"active"},
		"every state":               {"pending", "pulling", "building", "snapshotting", "active"},
		"a state that is not known": {"pending", "polishing", "active"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := daytonatest.New(t, daytonatest.Config{BuildTime: 200 * time.Millisecond})
			s.ScriptSnapshot(daytonatest.Script{States: states})
			ready(t, open(t, config(t, s)), built(t, "FROM debian:13\n"))
		})
	}
}

func TestASnapshotThatIsInactiveIsActivated(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{BuildTime: 50 * time.Millisecond})
	s.AddSnapshot("mine/tools:1", "inactive", 30*24*time.Hour)
	spec := spec(t)
	spec.Environment.Daytona = &berth.DaytonaOptions{Snapshot: "mine/tools:1"}
	ready(t, open(t, config(t, s)), spec)
	if n := s.Count(http.MethodPost, "/activate"); n != 1 {
		t.Errorf("activated %d times", n)
	}
}

func TestABuildThatFailsOnceIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{BuildTime: 20 * time.Millisecond})
	s.ScriptSnapshot(daytonatest.Script{States: []string{"building", "build_failed"}, Reason: "registry hiccup"})
	ready(t, open(t, config(t, s)), built(t, "FROM debian:13\n"))
	if all := s.Snapshots(); len(all) != 1 || all[0].State != "active" {
		t.Errorf("snapshots: %+v", all)
	}
}

func TestABuildThatKeepsFailingIsToldAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{BuildTime: 20 * time.Millisecond})
	failing := daytonatest.Script{States: []string{"pending", "build_failed"}, Reason: "RUN nonsense: exit code 127"}
	s.ScriptSnapshot(failing, failing)
	p := open(t, config(t, s))
	spec := built(t, "FROM debian:13\nRUN nonsense\n")
	state, err := provision(t.Context(), p, spec)
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "build_failed", "RUN nonsense: exit code 127", "the last line of the build")
	if left := s.Snapshots(); len(left) > 0 || len(s.Sandboxes()) > 0 {
		t.Errorf("left: %+v, %+v", left, s.Sandboxes())
	}
	if again, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil || again.Status != berth.SandboxFailed {
		t.Errorf("Describe = %+v, %v", again, err)
	}
}

func TestAFailedBuildOfAnEarlierRunIsReplaced(t *testing.T) {
	t.Parallel()
	needGuest(t)
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	failing := daytonatest.Script{States: []string{"build_failed"}, Reason: "no space"}
	s.ScriptSnapshot(failing, failing)
	if state, err := provision(t.Context(), p, built(t, "FROM debian:13\n")); err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	ready(t, p, built(t, "FROM debian:13\n"))
}

func TestASnapshotThatIsPendingForEverEndsTheRunAndIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	s.ScriptSnapshot(daytonatest.Script{States: []string{"pending"}})
	c := config(t, s)
	c.Pace.Snapshot = 300 * time.Millisecond
	state, err := provision(t.Context(), open(t, c), built(t, "FROM debian:13\n"))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "is not active after 300ms", "pending")
	if all := s.Snapshots(); len(all) != 1 {
		t.Errorf("snapshots: %+v", all)
	}
}

func TestASnapshotThatIsNotThereIsTold(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	spec := spec(t)
	spec.Environment.Daytona = &berth.DaytonaOptions{Snapshot: "nobody:1"}
	state, err := provision(t.Context(), open(t, config(t, s)), spec)
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "no snapshot nobody:1")
}

func TestOnlyOurFailedSnapshotsAreCleanedUp(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	hash := strings.Repeat("a", 32)
	keep := []string{"berth-test-" + hash, "berth-test-extra-" + hash, "berth-other-" + hash, "berth-test-", "tools"}
	states := []string{"active", "build_failed", "build_failed", "build_failed", "error"}
	for i, name := range keep {
		s.AddSnapshot(name, states[i], time.Hour)
	}
	s.AddSnapshot("berth-test-"+strings.Repeat("b", 32), "build_failed", time.Hour)
	s.AddSnapshot("berth-test-"+strings.Repeat("c", 32), "error", time.Hour)
	if err := open(t, config(t, s)).CleanUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, n := range s.Snapshots() {
		left = append(left, n.Name)
	}
	if len(left) != len(keep) {
		t.Errorf("left are %q, want %q", left, keep)
	}
}
