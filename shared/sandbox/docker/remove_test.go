//go:build linux

package docker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// An engine that cannot clear a container's folder at once says so, and goes on when
// it is asked again.
func TestAContainerWhoseFolderIsNotEmptyAtOnceIsRemoved(t *testing.T) {
	t.Parallel()
	b := sandbox(t, config(t), specOf(dockertest.Debian))
	info, err := engine(t).Info(bounded(t), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := engine(t).ContainerInspect(bounded(t), "berth-"+string(b.ref.ID), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(info.Info.DockerRootDir, "containers", made.Container.ID, "kept")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Skipf("the engine's folders are not ours to write to: %v", err)
	}
	chattr := func(flag string) error { return exec.Command("chattr", flag, file).Run() }
	if err := chattr("+i"); err != nil {
		_ = os.Remove(file)
		t.Skipf("the file system has no immutable files: %v", err)
	}
	freed := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { freed <- chattr("-i") })
	err = b.Destroy(bounded(t), b.ref)
	if failed := <-freed; failed != nil {
		t.Fatal(failed)
	}
	if err != nil {
		t.Errorf("Destroy: %v", err)
	}
}
