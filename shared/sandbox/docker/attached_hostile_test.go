//go:build linux

package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

func TestTheAttachedStreamsAreTheGuestsAlone(t *testing.T) {
	t.Parallel()
	for _, image := range []string{dockertest.Debian, dockertest.User} {
		b := sandbox(t, over(t, docker.TransportAttached), specOf(image))
		b.put("hostile", buildHostile(t))
		b.script("true") // where commands have another user, a start shares the guest's memory for a moment
		if got := b.script("./hostile memory"); got != "" {
			t.Errorf("%s: the hostile program says:\n%s", image, got)
		}
		got := b.script("for n in 0 1 2; do { echo x > /proc/1/fd/$n; } 2>/dev/null && echo wrote to $n; done; true")
		if got != "" {
			t.Errorf("%s: a command %s", image, got)
		}
		if got := b.script("./hostile connect | grep -v tried; true"); image == dockertest.Debian && got != "" {
			t.Errorf("%s: the hostile program says:\n%s", image, got)
		}
	}
}

func TestAUserInsideSeesNothingOfTheVolume(t *testing.T) {
	t.Parallel()
	b := sandbox(t, over(t, docker.TransportAttached), specOf(dockertest.User))
	got := b.script("ls /run/berth/spool /run/berth/link 2>/dev/null; cat /run/berth/boot.json 2>/dev/null; touch /run/berth/x 2>/dev/null && echo made; true")
	if got != "" {
		t.Errorf("a command sees %q", got)
	}
}

func TestNothingOfWhatIsSaidIsKeptByTheEngine(t *testing.T) {
	t.Parallel()
	b := sandbox(t, over(t, docker.TransportAttached), specOf(dockertest.User))
	const secret = "kept-by-nobody-12345"
	id := b.start(berth.CommandSpec{Script: "echo value $VALUE", Env: map[string]string{"VALUE": secret}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte(secret))}})
	if text, _ := b.wait(id); strings.Contains(text, secret) || !strings.HasPrefix(text, "value ") {
		t.Errorf("the output is %q", text)
	}
	found, err := engine(t).ContainerInspect(bounded(t), containerOf(b.ref), client.ContainerInspectOptions{})
	if err != nil || found.Container.HostConfig.LogConfig.Type != "none" || strings.Contains(strings.Join(found.Container.Config.Env, " "), secret) {
		t.Errorf("the container's log is %+v, %v", found.Container.HostConfig.LogConfig, err)
	}
}

func TestRootInsideCannotHaveThisMachinesFilesReadAsItsOutputs(t *testing.T) {
	t.Parallel()
	b := sandbox(t, over(t, docker.TransportAttached), specOf(dockertest.Debian))
	ours := filepath.Join(t.TempDir(), "ours")
	if err := os.WriteFile(ours, []byte("a file of this machine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []berth.CommandID{"link", "folder", "pipe", "huge", "nonsense"} {
		b.wait(b.start(berth.CommandSpec{ID: id, Script: "echo " + string(id)}))
	}
	b.script(`cd /run/berth/spool; rm link folder pipe nonsense; ln -s ` + ours + ` link; mkdir folder; touch folder/x; mkfifo pipe; truncate -s 1T huge; echo nonsense > nonsense`)
	if err := b.Stop(bounded(t), b.ref); err != nil {
		t.Fatal(err)
	}
	for _, id := range []berth.CommandID{"link", "folder", "pipe", "nonsense"} {
		out, err := b.ReadOutput(bounded(t), b.ref, id, 0, 0, time.Second)
		if strings.Contains(string(out.Bytes), "this machine") || err == nil && len(out.Bytes) > 0 {
			t.Errorf("%s: ReadOutput = %q, %v", id, out.Bytes, err)
		}
	}
	if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Start = %+v, %v", state, err)
	}
	if got := b.script("echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestWhatAFarEngineMountsIsComparedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := func() berth.SandboxSpec {
		s := specOf(dockertest.Image(t, dockertest.Static))
		s.Environment.Docker = &berth.DockerOptions{ExtraMounts: []string{dir + ":/mnt"}}
		return s
	}
	near := over(t, docker.TransportAttached)
	near.Policy.Mounts = []string{dir}
	b := sandbox(t, near, spec())
	b.script("touch /mnt/made")
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	e := farEngine(t, dockertest.Static)
	far := farConfig(t, e)
	far.Policy.Mounts = []string{dir, "/usr"}
	p := open(t, far)
	state := provision(t, p, spec())
	if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "does not exist") {
		t.Errorf("a folder that the engine does not see: %+v, %+v", state, state.Reason)
	}
}

func TestACommandOverTheMemoryLimitIsToldOverAttachedStreams(t *testing.T) {
	t.Parallel()
	spec := specOf(dockertest.Debian)
	limit := berth.Size("64MiB")
	spec.Environment.Resources.Memory = &limit
	b := sandbox(t, over(t, docker.TransportAttached), spec)
	text, exit := b.wait(b.start(berth.CommandSpec{Script: "tail /dev/zero"}))
	if exit.Reason != berth.ExitOutOfMemory || exit.Code != 137 || !strings.Contains(exit.Message, "64 MiB") {
		t.Errorf("%q, %+v", text, exit)
	}
	if got := b.script("echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestAReadOnlyRootIsAllowedOverAttachedStreams(t *testing.T) {
	t.Parallel()
	config := over(t, docker.TransportAttached)
	config.ReadOnlyRoot = true
	b := sandbox(t, config, specOf(dockertest.User))
	for range 2 {
		got := b.script("pwd; echo x > file && cat file; echo y > /tmp/file && echo tmp; touch /etc/x 2>/dev/null || echo no")
		if got != "/workspace\nx\ntmp\nno\n" {
			t.Errorf("it says %q", got)
		}
		if err := b.Stop(bounded(t), b.ref); err != nil {
			t.Fatal(err)
		}
		if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
			t.Fatalf("Start = %+v, %v", state, err)
		}
	}
}
