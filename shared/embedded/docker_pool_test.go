package embedded_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	berthclient "github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// poolOf are the settings of an environment that wants warm sandboxes.
func poolOf(size int, more map[string]any) map[string]any {
	settings := map[string]any{"docker": map[string]any{"pool_size": size}}
	for name, value := range more {
		settings[name] = value
	}
	return settings
}

// warm waits until that many sandboxes of an environment are ready and of no run,
// none of which is among others, and returns them.
func (s *site) warm(id berth.EnvironmentID, n int, others ...berth.SandboxID) []berth.SandboxID {
	s.t.Helper()
	for deadline := time.Now().Add(startWait); ; time.Sleep(50 * time.Millisecond) {
		list, err := s.ListSandboxes(s.t.Context(), berthclient.Page{})
		if err != nil {
			s.t.Fatal(err)
		}
		var ready []berth.SandboxID
		for _, sb := range list.Items {
			if sb.Environment == id && sb.Run == "" && sb.Status == berth.SandboxReady && !slices.Contains(others, sb.ID) {
				ready = append(ready, sb.ID)
			}
		}
		if len(ready) == n {
			return ready
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the pool has %v, want %d that are ready: %+v", ready, n, list.Items)
		}
	}
}

// drain deletes an environment and waits until its pool is empty.
func (s *site) drain(api *client.Client, id berth.EnvironmentID) {
	s.t.Helper()
	e, err := s.FindEnvironment(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.DeleteEnvironment(s.t.Context(), id, e.ETag); err != nil {
		s.t.Fatal(err)
	}
	s.empty(api)
}

// empty waits until the engine has nothing of the site any more.
func (s *site) empty(api *client.Client) {
	s.t.Helper()
	s.shrink(api, 0)
}

// shrink waits until the engine has n containers of the site.
func (s *site) shrink(api *client.Client, n int) {
	s.t.Helper()
	installation := s.installation()
	for deadline := time.Now().Add(startWait); ; time.Sleep(50 * time.Millisecond) {
		left := len(dockertest.Containers(s.t, api, installation))
		if left == n {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("there are %d containers, want %d", left, n)
		}
	}
}

func TestRunsAtOnceTakeWarmSandboxesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	api := dockertest.Engine(t)
	s.create("warm", poolOf(2, map[string]any{"env": map[string]string{"MODE": "test"}}))
	pooled := s.warm("warm", 2)

	// Another environment has nothing to do with it.
	if run := s.succeed(s.begin("true").ID); slices.Contains(pooled, run.Sandbox) {
		t.Error("a run of another environment took a pooled sandbox")
	}
	var all sync.WaitGroup
	runs := make([]berth.Run, 2)
	for i := range runs {
		all.Go(func() {
			created, err := s.CreateRun(t.Context(), s.request("warm", `echo "$MODE"; ls -A; touch used`))
			if err != nil {
				t.Error(err)
				return
			}
			runs[i] = s.awaitRun(created.ID)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, run := range runs {
		if run.Status != berth.RunSucceeded || !slices.Contains(pooled, run.Sandbox) {
			t.Errorf("run %s is %s in sandbox %s, want one of %v: %+v", run.ID, run.Status, run.Sandbox, pooled, run.Reason)
		}
		// The variables come with the command; the workspace is nobody else's.
		if got := s.log(run).stdout.String(); got != "test\n" {
			t.Errorf("a warm sandbox shows %q", got)
		}
	}
	if runs[0].Sandbox == runs[1].Sandbox {
		t.Error("two runs had one sandbox")
	}
	s.warm("warm", 2, pooled...) // it is filled again
	s.drain(api, "warm")
}

func TestAPoolFollowsItsEnvironmentAndOutlivesTheServer(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	api := dockertest.Engine(t)
	s.create("warm", poolOf(2, nil))
	pooled := s.warm("warm", 2)

	s.stop()
	s.start()
	time.Sleep(2500 * time.Millisecond) // longer than between two looks at the pools
	if again := s.warm("warm", 2); !slices.Equal(again, pooled) {
		t.Errorf("after a restart the pool is %v, want %v", again, pooled)
	}
	if n := len(dockertest.Containers(t, api, s.installation())); n != 2 {
		t.Errorf("after a restart there are %d containers", n)
	}
	if run := s.succeed(s.submit(s.request("warm", "true")).ID); !slices.Contains(pooled, run.Sandbox) {
		t.Errorf("the run is in %s, want one of %v", run.Sandbox, pooled)
	}
	pooled = append(pooled, s.warm("warm", 2)...)

	// Changed settings need other containers; the old ones go.
	e, err := s.FindEnvironment(t.Context(), "warm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateEnvironment(t.Context(), "warm", e.ETag, map[string]any{"resources": map[string]any{"memory": "128MiB"}}); err != nil {
		t.Fatal(err)
	}
	pooled = s.warm("warm", 2, pooled...)
	s.shrink(api, len(pooled))
	for _, c := range dockertest.Containers(t, api, s.installation()) {
		if c.HostConfig.Memory != 128<<20 {
			t.Errorf("%s has %d bytes of memory", c.Name, c.HostConfig.Memory)
		}
	}
	s.drain(api, "warm")
}

func TestAPoolKeepsAnIdleServerUp(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	api := dockertest.Engine(t)
	s.stop()
	s.idle = 2 * time.Second
	s.start()
	s.create("warm", poolOf(1, nil))
	select { // no request comes meanwhile
	case <-s.ended:
		t.Fatalf("the server ended though a pool is wanted: %s", s.stderr)
	case <-time.After(3 * s.idle):
	}
	pooled := s.warm("warm", 1)
	e, err := s.FindEnvironment(t.Context(), "warm")
	if err != nil {
		t.Fatal(err)
	}
	installation := s.installation()
	if err := s.DeleteEnvironment(t.Context(), "warm", e.ETag); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.ended:
	case <-time.After(startWait):
		t.Error("the server goes on without a pool to keep")
	}
	if left := dockertest.Containers(t, api, installation); len(left) > 0 {
		t.Errorf("it left %s; the pool was %v", left[0].Name, pooled)
	}
}

func TestKillingTheServerLosesNoWarmSandbox(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	api := dockertest.Engine(t)
	s.create("warm", poolOf(2, nil))
	s.warm("warm", 2)
	random := rand.New(rand.NewPCG(5, 8))
	for moment := range 6 { // in a claim, in the run, or while the pool is filled
		after := time.Duration(random.Int64N(int64(3 * time.Second)))
		created := s.submit(s.request("warm", "echo done"))
		time.Sleep(after)
		s.kill()
		s.start()
		run := s.awaitRun(created.ID)
		if got := s.log(run).stdout.String(); run.Status != berth.RunSucceeded || got != "done\n" {
			t.Fatalf("moment %d, killed after %s: run %s is %s and said %q: %+v", moment, after, run.ID, run.Status, got, run.Reason)
		}
	}
	s.warm("warm", 2)
	s.shrink(api, 2)
	s.drain(api, "warm")
}
