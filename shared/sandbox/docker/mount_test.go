//go:build linux

package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// mounting is a sandbox of a user with mounts of folders below dir, all allowed.
func mounting(t *testing.T, dir string, mounts ...string) (docker.Config, berth.SandboxSpec) {
	t.Helper()
	config := config(t)
	config.Policy.Mounts = []string{dir}
	spec := specOf(dockertest.User)
	spec.Environment.Docker = &berth.DockerOptions{ExtraMounts: mounts}
	return config, spec
}

func TestAllowedFoldersAreMountedAsAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"rw", "ro"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ro/file"), []byte("shared\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config, spec := mounting(t, dir, dir+"/rw:/mnt/rw", dir+"/ro:/mnt/ro:ro", dir+"/ro/file:/workspace/file:ro")
	b := sandbox(t, config, spec)
	got := b.script("cat /mnt/ro/file file; echo x > /mnt/rw/new; touch /mnt/ro/new 2>/dev/null || echo read-only")
	if got != "shared\nshared\nread-only\n" {
		t.Errorf("output %q", got)
	}
	if got := readFile(t, filepath.Join(dir, "rw/new")); got != "x\n" {
		t.Errorf("the file on the machine: %q", got)
	}
	if err := b.Stop(bounded(t), b.ref); err != nil {
		t.Fatal(err)
	}
	if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("Start = %+v, %v", state, err)
	}
}

func TestAFolderThatIsMountedAsTheWorkspaceKeepsItsOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	config, spec := mounting(t, dir, dir+":/workspace")
	b := sandbox(t, config, spec)
	b.script("true")
	after, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if owner := after.Sys().(*syscall.Stat_t).Uid; owner != before.Sys().(*syscall.Stat_t).Uid {
		t.Errorf("the folder's owner is now %d", owner)
	}
}

func TestALinkThatTakesTheFoldersPlaceIsFound(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	config, spec := mounting(t, dir, folder+":/mnt")
	b := sandbox(t, config, spec)
	if err := b.Stop(bounded(t), b.ref); err != nil {
		t.Fatal(err)
	}
	// As a sandbox with a mount of dir could do between the check and the mount.
	if err := os.Rename(folder, folder+".was"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, folder); err != nil {
		t.Fatal(err)
	}
	state, err := b.Start(bounded(t), b.ref)
	if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "/mnt") {
		t.Errorf("Start = %+v, %+v, %v", state, state.Reason, err)
	}
	err = b.StartCommand(bounded(t), b.ref, berth.CommandSpec{ID: "late", Script: "true"})
	wantCode(t, "StartCommand", err, berth.CodeConflict)
}

func TestTheNetworkIsTheEnginesOrNone(t *testing.T) {
	t.Parallel()
	for mode, want := range map[berth.NetworkMode]string{berth.NetworkBlock: "lo\n", berth.NetworkAllowAll: "eth0\nlo\n"} {
		spec := specOf(dockertest.Static)
		spec.Environment.Network.Mode = mode
		b := sandbox(t, config(t), spec)
		if got := b.script("ls /sys/class/net | grep -v -E '^(tunl|ip6|sit|gre|erspan|ip_vti)'"); got != want {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

func TestAFullDiskIsToldAndNothingElseSuffers(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		dockertest.Missing(t, "a small file system cannot be mounted: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	config := config(t)
	config.Root = filepath.Join(disk, "s")
	b := sandbox(t, config, specOf(dockertest.Static))
	running := b.start(berth.CommandSpec{Script: "echo up; until [ -e go ]; do sleep 0.05; done; head -c 1000000 /dev/zero; exit 3"})
	b.untilOutput(running)
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 1<<10))
	}
	err = b.StartCommand(bounded(t), b.ref, berth.CommandSpec{ID: "late", Script: "true"})
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "no space") {
		t.Errorf("StartCommand: %v", err)
	}
	if _, err := b.Provision(bounded(t), specOf(dockertest.Static)); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "no space") {
		t.Errorf("Provision: %v", err)
	}
	if _, err := b.WriteFile(bounded(t), b.ref, "go", strings.NewReader(""), 0, 0, ""); err != nil {
		t.Fatal(err)
	}
	// The exit is written when there is room for it.
	if err := filler.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, exit := b.wait(running); exit.Code != 3 {
		t.Errorf("the command that ran: %+v", exit)
	}
}
