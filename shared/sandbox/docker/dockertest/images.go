// Package dockertest has what tests need of a Docker engine: images that are
// built from what the machine has, and engines of their own.
package dockertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The images, which scripts/images.sh describes and builds.
const (
	Debian = "berth-test/debian:latest"
	User   = "berth-test/user:latest"
	Static = "berth-test/static:latest"
	Entry  = "berth-test/entry:latest"
	NoBash = "berth-test/nobash:latest"
)

// Images are all of them.
var Images = []string{Debian, User, Static, Entry, NoBash}

// buildLimit is how long all images may take.
const buildLimit = 10 * time.Minute

var built struct {
	sync.Mutex
	images map[string]string // image to why it is not there, empty when it is
}

// Image makes sure that an image is there. The test is skipped with the reason
// when it cannot be built, and fails instead when BERTH_REQUIRE names docker.
func Image(t testing.TB, image string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Docker engine; run without -short")
	}
	built.Lock()
	defer built.Unlock()
	why, known := built.images[image]
	if !known {
		why = build(image)
		if built.images == nil {
			built.images = map[string]string{}
		}
		built.images[image] = why
	}
	if why != "" {
		Missing(t, why)
	}
	return image
}

// Missing skips the test because something is not there, and fails it when
// BERTH_REQUIRE names docker.
func Missing(t testing.TB, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("BERTH_REQUIRE"), ","), "docker") {
		t.Fatalf("BERTH_REQUIRE names docker, and %s", why)
	}
	t.Skip(why)
}

func build(image string) (why string) {
	if runtime.GOOS != "linux" {
		return "the tests of the docker provider need Linux"
	}
	name, _, _ := strings.Cut(filepath.Base(image), ":")
	_, file, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(file), "../../../../scripts/images.sh")
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "bash", script, name).CombinedOutput()
	if err == nil {
		return ""
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		return strings.TrimSpace(string(out))
	}
	return "image " + image + " cannot be built: " + err.Error() + "\n" + strings.TrimSpace(string(out))
}
