//go:build linux

package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestAContainerThatDiesLosesItsCommandsAndSaysWhy(t *testing.T) {
	for _, tt := range []struct {
		name  string
		image string
		kill  func(t *testing.T, b *box)
		says  string
		again bool // the container can be started again
	}{
		{"docker rm -f", dockertest.Entry, func(t *testing.T, b *box) { dockerCommand(t, "rm", "-f", containerOf(b.ref)) }, "outside", false},
		{"docker kill", dockertest.Debian, func(t *testing.T, b *box) { dockerCommand(t, "kill", containerOf(b.ref)) }, "killed from outside", true},
		{"docker stop", dockertest.Debian, func(t *testing.T, b *box) { dockerCommand(t, "stop", containerOf(b.ref)) }, "killed from outside", true},
		{"docker restart", dockertest.Debian, func(t *testing.T, b *box) { dockerCommand(t, "restart", containerOf(b.ref)) }, "the sandbox's container", true},
		{"a kill of its first process", dockertest.User, func(t *testing.T, b *box) {
			if err := syscall.Kill(guestPID(t, engine(t), b.ref.ID), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}, "killed from outside", true},
	} {
		for _, transport := range transports {
			t.Run(tt.name+", "+string(transport), func(t *testing.T) {
				t.Parallel()
				config := over(t, transport)
				b := sandbox(t, config, specOf(tt.image))
				done := b.start(berth.CommandSpec{Script: "echo kept; exit 3"})
				b.wait(done)
				id := b.start(berth.CommandSpec{Script: "echo partial; sleep 600"})
				b.untilOutput(id)
				began := time.Now()
				tt.kill(t, b)
				check := func(when string) {
					t.Helper()
					text, exit := b.wait(id)
					if text != "partial\n" || exit.Reason != berth.ExitLost || !strings.Contains(exit.Message, tt.says) {
						t.Errorf("%s: %q, %+v", when, text, exit)
					}
					if text, exit := b.wait(done); text != "kept\n" || exit.Code != 3 {
						t.Errorf("%s: a finished command: %q, %+v", when, text, exit)
					}
					state, err := b.Describe(bounded(t), b.ref)
					if err != nil || state.Status != berth.SandboxFailed || state.Reason == nil || state.Reason.Code != berth.ReasonLost || !strings.Contains(state.Reason.Message, tt.says) {
						t.Errorf("%s: Describe = %+v, %+v, %v", when, state, state.Reason, err)
					}
				}
				check("at once")
				if d := time.Since(began); d > 20*time.Second {
					t.Errorf("it took %v", d)
				}
				b.reopen(config)
				check("to the next server")
				state, err := b.Start(bounded(t), b.ref)
				if !tt.again {
					wantCode(t, "Start", err, berth.CodeNotFound)
				} else if err != nil || state.Status != berth.SandboxReady {
					t.Fatalf("Start = %+v, %+v, %v", state, state.Reason, err)
				}
				if text, exit := b.wait(id); text != "partial\n" || exit.Reason != berth.ExitLost || !strings.Contains(exit.Message, tt.says) {
					t.Errorf("after a new start: %q, %+v", text, exit)
				}
				if tt.again {
					if got := b.script("echo alive"); got != "alive\n" {
						t.Errorf("after a new start: %q", got)
					}
				}
			})
		}
	}
}

// volumes lists the engine's.
func volumes(t testing.TB) map[string]bool {
	t.Helper()
	list, err := engine(t).VolumeList(bounded(t), client.VolumeListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, v := range list.Items {
		names[v.Name] = true
	}
	return names
}

func TestVolumesOfTheImageGoWithTheSandbox(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *box){
		"destroy":                  func(*box) {},
		"removed without its own":  func(b *box) { dockerCommand(t, "rm", "-f", containerOf(b.ref)) },
		"stopped and then destroy": func(b *box) { _ = b.Stop(bounded(t), b.ref) },
	} {
		b := sandbox(t, config(t), specOf(dockertest.Entry))
		b.script("[ -d /data ] && echo x > /data/file && grep -q ' /data ' /proc/self/mountinfo")
		found, err := engine(t).ContainerInspect(bounded(t), containerOf(b.ref), client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mine := map[string]bool{}
		for _, m := range found.Container.Mounts {
			if m.Name != "" {
				mine[m.Name] = true
			}
		}
		if len(mine) != 2 {
			t.Fatalf("the image has two volumes, the container has %v", mine)
		}
		end(b)
		if err := b.Destroy(bounded(t), b.ref); err != nil {
			t.Fatal(err)
		}
		for volume := range volumes(t) {
			if mine[volume] {
				t.Errorf("%s: volume %s is left", name, volume)
			}
		}
	}
}

func TestAHealthCheckAndAnEntrypointOfTheImageAreOff(t *testing.T) {
	t.Parallel()
	b := sandbox(t, config(t), specOf(dockertest.Entry))
	found, err := engine(t).ContainerInspect(bounded(t), containerOf(b.ref), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if h := found.Container.State.Health; h != nil && h.Status != container.NoHealthcheck {
		t.Errorf("health: %+v", h)
	}
	if got := b.script("tr '\\0' ' ' < /proc/1/cmdline"); !strings.HasPrefix(got, "/run/berth-guest -init ") {
		t.Errorf("process 1 is %q", got)
	}
}

func TestWhatIsNotOursIsNeverTouched(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	ours, theirs := config(t), config(t)
	a := sandbox(t, ours, specOf(dockertest.Static))
	p := open(t, theirs)
	// Another installation does not see it, and does not destroy it.
	if list, err := p.List(bounded(t)); err != nil || len(list) > 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := p.Destroy(bounded(t), a.ref); err != nil {
		t.Error(err)
	}
	if state, err := p.Describe(bounded(t), a.ref); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	// Nor does it take the name of a container that somebody made by hand.
	spec := specOf(dockertest.Static)
	name := containerOf(berth.SandboxRef{ID: spec.ID})
	dockerCommand(t, "run", "-d", "--name", name, dockertest.Static, "sleep", "600")
	defer dockerCommand(t, "rm", "-f", name)
	state := provision(t, p, spec)
	if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "not this installation's") {
		t.Errorf("Provision = %+v, %+v", state, state.Reason)
	}
	if err := p.Destroy(bounded(t), berth.SandboxRef{ID: spec.ID}); err != nil {
		t.Error(err)
	}
	if out := dockerCommand(t, "inspect", "-f", "{{.State.Running}}", name); out != "true\n" {
		t.Errorf("the container by hand: running %s", out)
	}
	if got := a.script("echo alive"); got != "alive\n" {
		t.Errorf("the other installation's sandbox: %q", got)
	}
}

func TestContainersWithoutARecordAreListedAndSwept(t *testing.T) {
	for _, transport := range transports {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			checkContainersWithoutARecordAreListedAndSwept(t, over(t, transport))
		})
	}
}

func checkContainersWithoutARecordAreListedAndSwept(t *testing.T, config docker.Config) {
	b := sandbox(t, config, specOf(dockertest.Static))
	// The data folder is lost, and the container is not.
	config.Root = filepath.Join(t.TempDir(), "another")
	p := open(t, config)
	list, err := p.List(bounded(t))
	if err != nil || len(list) != 1 || list[0].ID != b.ref.ID || list[0].Run != "01arz3ndektsv4rrffq69g5fav" || list[0].Status != berth.SandboxFailed {
		t.Fatalf("List = %+v, %v", list, err)
	}
	if state, err := p.Describe(bounded(t), b.ref); err != nil || state.Status != berth.SandboxFailed {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	if err := p.Destroy(bounded(t), b.ref); err != nil {
		t.Fatal(err)
	}
	noneLeft(t, engine(t), config.Installation)
}

func TestAGuestWhoseDataFolderIsRemovedEndsWithItsCommands(t *testing.T) {
	t.Parallel()
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Static))
	b.start(berth.CommandSpec{Argv: []string{"sleep", "72345.5"}})
	if err := b.Provider.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(config.Root); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command is gone", func() bool { return len(sandboxtest.Processes("sleep\x0072345.5")) == 0 })
	b.open(config) // and the container is swept as one without a record
}

func TestAStopThatTheServersDeathCutShortIsFinished(t *testing.T) {
	for _, transport := range transports {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			checkAStopThatTheServersDeathCutShortIsFinished(t, over(t, transport))
		})
	}
}

func checkAStopThatTheServersDeathCutShortIsFinished(t *testing.T, config docker.Config) {
	b := sandbox(t, config, specOf(dockertest.Static))
	b.start(berth.CommandSpec{Argv: []string{"sleep", "73456.5"}})
	if err := b.Provider.Close(); err != nil {
		t.Fatal(err)
	}
	// What Stop records first.
	record := filepath.Join(config.Root, string(b.ref.ID), "meta.json")
	if err := os.WriteFile(record, []byte(strings.Replace(readFile(t, record), `"ready"`, `"stopped"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(config)
	if state, err := b.Describe(bounded(t), b.ref); err != nil || state.Status != berth.SandboxStopped {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	eventually(t, "the container is stopped", func() bool { return len(sandboxtest.Processes("sleep\x0073456.5")) == 0 })
	if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("Start = %+v, %v", state, err)
	}
}

func TestADestroyThatTheServersDeathCutShortIsFinished(t *testing.T) {
	for _, transport := range transports {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			checkADestroyThatTheServersDeathCutShortIsFinished(t, over(t, transport))
		})
	}
}

func checkADestroyThatTheServersDeathCutShortIsFinished(t *testing.T, config docker.Config) {
	b := sandbox(t, config, specOf(dockertest.Entry))
	if err := b.Provider.Close(); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(config.Root, string(b.ref.ID), "meta.json")
	if err := os.WriteFile(record, []byte(strings.Replace(readFile(t, record), `"ready"`, `"destroyed"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(config)
	if state, err := b.Describe(bounded(t), b.ref); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	eventually(t, "nothing is left", func() bool {
		_, err := os.Stat(filepath.Dir(record))
		return os.IsNotExist(err) && len(containers(t, engine(t), "dev.berth.sandbox="+string(b.ref.ID))) == 0
	})
}

func TestABashThatIsMissingIsToldAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	config := config(t)
	p := open(t, config)
	spec := specOf(dockertest.Image(t, dockertest.NoBash))
	state := provision(t, p, spec)
	if state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonBashMissing || state.Reason.Remediation == "" {
		t.Errorf("Provision = %+v, %+v", state, state.Reason)
	}
	if again, err := p.Provision(bounded(t), spec); err != nil || again != state {
		t.Errorf("Provision again = %+v, %v", again, err)
	}
	nothingLeft(t, p, config, spec.ID)
}

func TestABashThatGoesMissingIsToldAtTheNextStartAndFilesStay(t *testing.T) {
	t.Parallel()
	b := sandbox(t, config(t), specOf(dockertest.Static))
	b.script("echo kept > file; mv /bin/bash /bin/no-bash")
	if err := b.Stop(bounded(t), b.ref); err != nil {
		t.Fatal(err)
	}
	state, err := b.Start(bounded(t), b.ref)
	if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonBashMissing || state.Reason.Remediation == "" {
		t.Fatalf("Start = %+v, %+v, %v", state, state.Reason, err)
	}
	if out := dockerCommand(t, "inspect", "-f", "{{.State.Running}}", containerOf(b.ref)); out != "false\n" {
		t.Errorf("the container: running %s", out)
	}
	dockerCommand(t, "cp", containerOf(b.ref)+":/bin/no-bash", filepath.Join(t.TempDir(), "bash"))
	if got := dockerCommand(t, "cp", containerOf(b.ref)+":/workspace/file", "-"); !strings.Contains(got, "kept") {
		t.Error("the file is gone")
	}
}

func TestAReadOnlyRootIsAllowed(t *testing.T) {
	t.Parallel()
	for _, image := range []string{dockertest.Static, dockertest.User} {
		config := config(t)
		config.ReadOnlyRoot = true
		b := sandbox(t, config, specOf(image))
		got := b.script("pwd; echo x > file && cat file; echo y > /tmp/file && echo tmp; touch /etc/x 2>/dev/null || echo no")
		if got != "/workspace\nx\ntmp\nno\n" {
			t.Errorf("%s: %q", image, got)
		}
	}
}

func TestWhatTheEngineRefusesIsToldAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	config := config(t)
	config.Policy.NetworkModes = []string{"berth-test-none"}
	p := open(t, config)
	spec := specOf(dockertest.Static)
	spec.Environment.Network.Mode, spec.Environment.Docker = berth.NetworkAllowAll, &berth.DockerOptions{NetworkMode: "berth-test-none"}
	state := provision(t, p, spec)
	if state.Status != berth.SandboxFailed || state.Reason == nil || !strings.Contains(state.Reason.Message, "network berth-test-none not found") {
		t.Errorf("%+v, %+v", state, state.Reason)
	}
	nothingLeft(t, p, config, spec.ID)
}
