package functions_test

import (
	"archive/zip"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	// maxZip is the most that a function's archive may have, in bytes: a bigger
	// one starts late.
	maxZip = 10 << 20
	// buildWait bounds the build of all functions on a busy machine.
	buildWait = 15 * time.Minute
)

// build makes the programs of functions as they are deployed, in a folder, each
// under the name of its own folder.
func build(t *testing.T, patterns ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("programs are not built with -short")
	}
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), buildWait)
	defer cancel()
	args := []string{"build", "-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", folder + string(filepath.Separator)}
	cmd := exec.CommandContext(ctx, "go", append(args, patterns...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

func TestEveryFunctionIsBuiltAsItIsDeployedAndSmall(t *testing.T) {
	folder := build(t, "./...")
	for _, kind := range []string{"api", "runner", "events"} {
		for _, name := range folders(t, kind) {
			size, err := zipped(filepath.Join(folder, name), flate.BestSpeed)
			if err == nil && size > maxZip { // the few that come near are packed as they are deployed
				size, err = zipped(filepath.Join(folder, name), flate.DefaultCompression)
			}
			if err != nil {
				t.Errorf("%s/%s: %v", kind, name, err)
			} else if size > maxZip {
				t.Errorf("%s/%s has %d bytes in its archive, the limit is %d", kind, name, size, maxZip)
			}
		}
	}
}

// zipped is the size of a program's archive. Packed at BestSpeed it is bigger than
// the one that is deployed.
func zipped(path string, level int) (int64, error) {
	program, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer program.Close()
	var size counter
	w := zip.NewWriter(&size)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, level) })
	file, err := w.Create("bootstrap")
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(file, program); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("packing: %w", err)
	}
	return int64(size), nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
