//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	berthclient "github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// newDockerMachine has a server that makes containers. Nothing of it may be left
// in the engine at the test's end.
func newDockerMachine(t *testing.T) *machine {
	t.Helper()
	image := dockertest.Image(t, dockertest.Debian)
	var m *machine
	var installation berth.InstallationID
	api := dockertest.Engine(t)
	t.Cleanup(func() { dockertest.NoneLeft(t, api, installation) }) // after the machine's own cleaning
	m = newMachine(t)
	m.environment = "box"
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		m.env = append(m.env, client.EnvOverrideHost+"="+host)
	}
	m.ok("env", "create", m.environment, "-p", "docker", "--image", image)
	found, err := embedded.Find(t.Context(), m.data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := berthclient.New(berthclient.Config{BaseURL: found.URL, Token: found.Token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	version, err := c.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	installation = version.Installation
	return m
}

func TestTheDefaultEnvironmentIsAContainer(t *testing.T) {
	m := newDockerMachine(t)
	m.ok("env", "edit", "default", "--set", "image.docker="+dockertest.Debian)
	r := m.ok("run", "-q", "-c", "pwd; cat /proc/1/comm")
	if want := "/workspace\nberth-guest\n"; r.stdout != want {
		t.Errorf("in the default environment there is\n%s\nwant\n%s", r.stdout, want)
	}
	if run := m.newest(); run.Environment.ID != berth.DefaultEnvironmentID || run.Target.Kind != berth.TargetNone {
		t.Errorf("the run is in %s with target %+v, want default and none", run.Environment.ID, run.Target)
	}
}

func TestARunHasTheCommitThatIsCheckedOutHere(t *testing.T) {
	m := newDockerMachine(t)
	repository := gitservertest.Start(t, gitservertest.Options{Address: dockertest.Bridge(t) + ":0"})
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = m.dir, m.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("clone", "-q", repository.URL, ".")
	git("checkout", "-q", repository.Annotated)
	r := m.ok("run", "-e", m.environment, "-c", "git rev-parse HEAD; cat number")
	if want := repository.Annotated + "\n20\n"; r.stdout != want {
		t.Errorf("the run has\n%s\nwant\n%s\n%s", r.stdout, want, r.stderr)
	}
	// What nobody else has cannot be fetched.
	git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m", "here alone")
	if r := m.run("run", "-e", m.environment, "--", "true"); r.status != 2 && r.status != 125 || !strings.Contains(r.stderr, "is on no branch of origin") {
		t.Errorf("a commit that is not pushed = %d\n%s", r.status, r.stderr)
	}
	if r := m.run("run", "-e", m.environment, "--target", "git:"+repository.URL+"#tag=v9.9", "--", "echo", "started"); r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, "tag v9.9 is not in") {
		t.Errorf("a tag that is not there = %d, %q\n%s", r.status, r.stdout, r.stderr)
	}
	m.ok("env", "edit", m.environment, "--set", "network.mode=block")
	if r := m.run("preflight", "-e", m.environment, "--target", "git:"+repository.URL, "--", "true"); r.status != 2 || !strings.Contains(r.stdout, "network.mode = block") {
		t.Errorf("preflight with a blocked network = %d\n%s", r.status, r.stdout)
	}
}

func TestThePrintedCommandGetsBackIntoAKeptContainer(t *testing.T) {
	m := newDockerMachine(t)
	m.ok("env", "edit", m.environment, "--set", "lifecycle.preserve=true", "--set", "lifecycle.stop_on_terminal=false")
	r := m.ok("run", "-e", m.environment, "-c", "echo kept > file")
	_, hint, found := strings.Cut(r.stderr, "get back in with: ")
	hint, _, _ = strings.Cut(hint, "\n")
	if !found || !strings.HasPrefix(hint, "docker exec -it ") || !strings.HasSuffix(hint, " bash") {
		t.Fatalf("the hint is %q", hint)
	}
	args := strings.Fields(strings.Replace(hint, " -it ", " ", 1))
	out, err := exec.CommandContext(t.Context(), args[0], append(args[1:], "-c", "cat file")...).CombinedOutput()
	if err != nil || string(out) != "kept\n" {
		t.Errorf("%q says %q, %v", args, out, err)
	}
}

func TestAnImageThatIsMissingIsToldOnceAndLeavesNothing(t *testing.T) {
	m := newDockerMachine(t)
	const document = "provider = \"docker\"\n[image]\ndocker = \"berth-test/no-such:1\"\n[docker]\nauto_pull = false\n"
	if r := m.runWith([]byte(document), "env", "create", "gone", "--file", "-"); r.status != 0 {
		t.Fatalf("env create = %d\n%s", r.status, r.stderr)
	}
	r := m.run("run", "-e", "gone", "--", "true")
	if r.status != 125 || r.stdout != "" {
		t.Errorf("berth run = %d, %q, want 125", r.status, r.stdout)
	}
	mustContain(t, "stderr", r.stderr, "berth-test/no-such:1", "auto_pull", "to do: ")
	nobash := dockertest.Image(t, dockertest.NoBash)
	m.ok("env", "create", "nobash", "-p", "docker", "--image", nobash)
	r = m.run("run", "-e", "nobash", "--", "true")
	if r.status != 125 {
		t.Errorf("without bash berth run = %d, want 125", r.status)
	}
	mustContain(t, "stderr", r.stderr, "bash_missing", "to do: ")
}

func TestDoctorLooksIntoTheDefaultImage(t *testing.T) {
	m := newDockerMachine(t)
	for image, want := range map[string]struct {
		status, says string
		code         int
	}{
		dockertest.Debian:                                   {pass, "with bash and git", 0},
		dockertest.Image(t, dockertest.Static):              {warn, "without git", 0},
		dockertest.Image(t, dockertest.NoBash):              {fail, "no /bin/bash", 1},
		"berth-test/no-such:1":                              {warn, "the first run pulls it", 0},
		"127.0.0.1:1/a/b@sha256:" + strings.Repeat("a", 64): {warn, "the first run pulls it", 0},
	} {
		m.ok("env", "edit", "default", "--set", "image.docker="+image)
		r := m.run("doctor", "--json")
		var report doctorReport
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.status != want.code || report.OK != (want.code == 0) {
			t.Errorf("%s: berth doctor = %d, %v, want %d\n%s", image, r.status, err, want.code, r.stdout)
		}
		if got := report.status("image"); got != want.status || !strings.Contains(r.stdout, image) || !strings.Contains(r.stdout, want.says) {
			t.Errorf("%s: the image is %s, want %s and %q\n%s", image, got, want.status, want.says, r.stdout)
		}
		for _, check := range []string{"docker", "docker disk", "default environment"} {
			if got := report.status(check); got != pass {
				t.Errorf("%s is %s, want pass\n%s", check, got, r.stdout)
			}
		}
	}
	api := dockertest.Engine(t)
	none := func() bool { // until the engine is through with removing
		list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "dev.berth.doctor")})
		return err == nil && len(list.Items) == 0
	}
	if !within(endWait, none) {
		t.Error("the doctor left a container")
	}
}
