package embedded_test

import (
	"maps"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

// site is a server with an environment that tests run in. What holds of runs holds
// at every site.
type site struct {
	*process
	environment berth.EnvironmentID
	settings    map[string]any // of the environment
	source      string         // the folder that runs submit, if they do
	// guests are the processes of the guests that live now.
	guests func() []int
	// shown is what people with rights on the machine can look at beside the data
	// folder, by what it is.
	shown func() map[string][]byte
}

// onEverySite runs a test on each provider that a machine can have by itself.
func onEverySite(t *testing.T, test func(t *testing.T, s *site)) {
	t.Run("local", func(t *testing.T) { test(t, localSite(t)) })
	t.Run("docker", func(t *testing.T) { test(t, dockerSite(t)) })
}

func localSite(t *testing.T) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server")
	}
	s := &site{process: startProcess(t, false), source: t.TempDir(), environment: "here", settings: map[string]any{"provider": "local"}}
	s.guests = func() []int { return processesOf(s.guest) }
	s.shown = func() map[string][]byte { return nil }
	s.create(s.environment, nil)
	return s
}

// in is the site for a subtest.
func (s *site) in(t *testing.T) *site {
	p, sub := *s.process, *s
	p.t, sub.process = t, &p
	return &sub
}

// create makes another environment like the site's own, with more settings.
func (s *site) create(id berth.EnvironmentID, more map[string]any) {
	s.t.Helper()
	settings := map[string]any{"id": id}
	maps.Copy(settings, s.settings)
	maps.Copy(settings, more)
	if _, err := s.CreateEnvironment(s.t.Context(), settings); err != nil {
		s.t.Fatal(err)
	}
}

// request is a run of a script.
func (s *site) request(id berth.EnvironmentID, script string) berth.RunRequest {
	return berth.RunRequest{Environment: string(id), Script: script, SourceDirectory: s.source}
}

// begin starts a run of a script in the site's environment.
func (s *site) begin(script string) berth.Run {
	s.t.Helper()
	return s.submit(s.request(s.environment, script))
}

func (s *site) submit(request berth.RunRequest) berth.Run {
	s.t.Helper()
	run, err := s.CreateRun(s.t.Context(), request)
	if err != nil {
		s.t.Fatalf("CreateRun: %v", err)
	}
	return run
}

// succeed waits for the end of a run, which must be a success.
func (s *site) succeed(id berth.RunID) berth.Run {
	s.t.Helper()
	run := s.awaitRun(id)
	if run.Status != berth.RunSucceeded {
		s.t.Fatalf("run %s is %s: %+v", id, run.Status, run.Reason)
	}
	return run
}
