//go:build linux

package docker_test

import (
	"archive/tar"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// recorded leaves a sandbox on a far engine in the folder of the next server.
func recorded(t *testing.T, config docker.Config) berth.SandboxRef {
	t.Helper()
	id := sandboxtest.NewID()
	text, err := json.Marshal(map[string]any{
		"id": id, "installation": config.Installation, "status": berth.SandboxFailed, "container": "c", "transport": docker.TransportAttached,
		"sandbox_start": "s", "created_at": time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(config.Root, string(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return berth.SandboxRef{ID: id}
}

func TestAnOutputOfWhichNoMoreComesIsGivenUpAndMayBeAskedForAgain(t *testing.T) {
	t.Parallel()
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/archive"):
			w.Header().Set("X-Docker-Container-Path-Stat", "e30=") // {}
			out := tar.NewWriter(w)
			if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "c1", Mode: 0o600, Size: 1 << 20}); err != nil {
				return
			}
			_, _ = out.Write([]byte("the beginning"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/containers/c/json"):
			_ = json.NewEncoder(w).Encode(map[string]any{"Id": "c", "State": map[string]any{"Running": false}})
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	config := fakeConfig(t, host)
	config.OutputStall, config.Transport = 300*time.Millisecond, docker.TransportAttached
	ref := recorded(t, config)
	p, err := docker.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		eventually(t, "it is told that nothing comes", func() bool {
			_, err := p.ReadOutput(bounded(t), ref, "c1", 0, 100, 0)
			wantCode(t, "ReadOutput", err, berth.CodeUnavailable)
			return strings.Contains(err.Error(), "nothing came for 300ms")
		})
	}
}
