//go:build linux

package docker_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
)

// nothingLeft fails when anything of a sandbox that could not be made is there.
func nothingLeft(t testing.TB, p *docker.Provider, config docker.Config, id berth.SandboxID) {
	t.Helper()
	if left := containers(t, engine(t), "dev.berth.sandbox="+string(id)); len(left) > 0 {
		t.Errorf("containers %v are left", left)
	}
	if left := farVolumes(t, engine(t), "dev.berth.sandbox="+string(id)); len(left) > 0 {
		t.Errorf("volumes %v are left", left)
	}
	if entries, err := os.ReadDir(config.Root); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if list, err := p.List(bounded(t)); err != nil || len(list) > 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := p.Destroy(bounded(t), berth.SandboxRef{ID: id}); err != nil {
		t.Errorf("Destroy: %v", err)
	}
	if state, err := p.Describe(bounded(t), berth.SandboxRef{ID: id}); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
}

func filesBelow(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
