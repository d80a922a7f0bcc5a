//go:build linux

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// engineAt serves what an engine says of itself at a socket, which it returns as
// DOCKER_HOST.
func engineAt(t *testing.T, version, info map[string]any) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") // short: paths of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	serveEngine(t, l, version, info)
	return "unix://" + socket
}

// engineByTCP is engineAt for one that is no socket of this machine.
func engineByTCP(t *testing.T, version, info map[string]any) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveEngine(t, l, version, info)
	return "tcp://" + l.Addr().String()
}

func serveEngine(t *testing.T, l net.Listener, version, info map[string]any) {
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Api-Version", "1.41")
		switch {
		case strings.HasSuffix(r.URL.Path, "/version"):
			_ = json.NewEncoder(w).Encode(version)
		case strings.HasSuffix(r.URL.Path, "/info"):
			_ = json.NewEncoder(w).Encode(info)
		}
	})}}
	s.Start()
	t.Cleanup(s.Close)
}

func TestDoctorTellsWhatTheEngineIs(t *testing.T) {
	t.Parallel()
	version := func(api, system string) map[string]any {
		return map[string]any{"Version": "20.10.24", "ApiVersion": api, "Os": system, "Arch": "amd64"}
	}
	full := map[string]any{"MemoryLimit": true, "CpuCfsQuota": true, "DockerRootDir": t.TempDir()}
	for name, test := range map[string]struct {
		host     string
		statuses map[string]string
		says     string
	}{
		"a good one":            {engineAt(t, version("1.41", "linux"), full), map[string]string{"docker": pass, "docker disk": pass}, "engine 20.10.24, API 1.41, linux/amd64; without live-restore"},
		"an old one":            {engineAt(t, version("1.40", "linux"), full), map[string]string{"docker": warn, "docker disk": "absent"}, "upgrade Docker to 20.10 or later"},
		"one of Windows":        {engineAt(t, version("1.41", "windows"), full), map[string]string{"docker": warn}, "Linux containers"},
		"one without limits":    {engineAt(t, version("1.41", "linux"), map[string]any{"DockerRootDir": "/no/such"}), map[string]string{"docker": pass, "docker limits": warn, "docker disk": warn}, "cgroup controllers"},
		"one that is not there": {"unix:///no/such/socket", map[string]string{"docker": warn}, "install Docker"},
		"one elsewhere":         {engineByTCP(t, version("1.41", "linux"), full), map[string]string{"docker": pass, "docker engine": pass, "docker disk": "absent"}, "over the engine's API"},
		"one elsewhere, gone":   {"tcp://127.0.0.1:1", map[string]string{"docker": warn}, "start Docker"},
		"one of another kind":   {"npipe://x", map[string]string{"docker": warn}, "correct DOCKER_HOST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t, "")
			c.env["DOCKER_HOST"] = test.host
			got := doctorReport{Checks: c.app(nil, nil).checkDocker(t.Context())}
			for check, want := range test.statuses {
				if got.status(check) != want {
					t.Errorf("%s is %s, want %s: %+v", check, got.status(check), want, got)
				}
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			mustContain(t, "the report", string(text), test.says)
		})
	}
}

func TestDoctorTellsWhoMayUseTheSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "socket")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dial := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", errno)}
	}
	for name, test := range map[string]struct {
		err    error
		status string
		says   []string
	}{
		"this user":    {nil, pass, nil},
		"not the user": {dial(syscall.EACCES), warn, []string{"(-rw-------)", "usermod -aG docker", "as good as root"}},
		"nobody":       {dial(syscall.ECONNREFUSED), warn, []string{"systemctl start docker"}},
	} {
		f := socketFinding(path, test.err)
		if f.Status != test.status {
			t.Errorf("%s: %+v, want %s", name, f, test.status)
		}
		mustContain(t, name, f.Message+" "+f.Remedy, test.says...)
	}
}
