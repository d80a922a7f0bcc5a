//go:build linux

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestAServerThatFindsItsDiskFullSaysSoWithARemedy(t *testing.T) {
	for _, free := range []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
		t.Run(fmt.Sprint(free, " bytes are free"), func(t *testing.T) {
			dir := sandboxtest.SmallDisk(t)
			if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 512<<10-free), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := embedded.Run(ctx, embedded.Options{
				DataDir: filepath.Join(dir, "data"), ConfigDir: t.TempDir(), Docker: embedded.Docker{Off: true}, Log: io.Discard,
			})
			var coded *berth.Error
			if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable || !strings.Contains(coded.Message, "is full") || coded.Remediation == "" {
				t.Errorf("Run = %v, want unavailable as the disk is full, with what to do", err)
			}
		})
	}
}
