//go:build linux

package docker_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// fakeEngine answers at a socket as handler says, and to a ping always.
func fakeEngine(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Ostype", "linux")
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			return
		}
		handler(w, r)
	})}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return "unix://" + path
}

// fakeConfig needs no engine of the machine's.
func fakeConfig(t *testing.T, host string) docker.Config {
	return docker.Config{
		Root: filepath.Join(t.TempDir(), "s"), Installation: newInstallation(), Host: host,
		Guest: func(string) (string, error) { return "/bin/true", nil }, Transport: docker.TransportSocket,
	}
}

func TestAnEngineThatIsNotThereIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		host string
		want berth.Code
	}{
		"no socket":   {"unix://" + filepath.Join(t.TempDir(), "none.sock"), berth.CodeUnavailable},
		"elsewhere":   {"tcp://127.0.0.1:1", berth.CodeUnavailable},
		"not a URL":   {"unix:", berth.CodeUnsupported},
		"a plain one": {"/run/docker.sock", berth.CodeUnsupported},
	} {
		began := time.Now()
		_, err := docker.New(fakeConfig(t, tt.host))
		wantCode(t, "New with "+name, err, tt.want)
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("New with %s took %v", name, d)
		}
	}
}

func TestAnEngineThatAcceptsAndNeverAnswersIsUnavailableSoon(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	config := fakeConfig(t, "unix://"+path)
	config.CallTimeout = 500 * time.Millisecond
	_, err = docker.New(config)
	wantCode(t, "New", err, berth.CodeUnavailable)
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("New took %v", d)
	}
}

func TestAnEngineThatStopsAnsweringIsUnavailableWithADeadline(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	host := fakeEngine(t, func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		<-r.Context().Done()
	})
	config := fakeConfig(t, host)
	config.CallTimeout = time.Second
	p, err := docker.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	image := "image"
	spec := specOf(image)
	for range 2 { // each try is a new one
		before := calls.Load()
		eventually(t, "the try has ended", func() bool { _, err = p.Provision(t.Context(), spec); return err != nil })
		wantCode(t, "Provision", err, berth.CodeUnavailable)
		if calls.Load() == before {
			t.Error("the engine was not asked")
		}
	}
	if state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil || state.Status != berth.SandboxCreating {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	_, err = p.List(t.Context())
	wantCode(t, "List", err, berth.CodeUnavailable)
	_, err = p.Describe(t.Context(), berth.SandboxRef{ID: sandboxtest.NewID()})
	wantCode(t, "Describe of another", err, berth.CodeUnavailable)
	wantCode(t, "Destroy", p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}), berth.CodeUnavailable)
	if _, err := p.EngineVersion(t.Context()); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("EngineVersion: %v", err)
	}
	if _, err := os.Stat(filepath.Join(config.Root, string(spec.ID))); err != nil {
		t.Errorf("what the next try needs: %v", err)
	}
}

func TestWhatTheEngineRefusesIsToldInItsWordsAndCut(t *testing.T) {
	t.Parallel()
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/images/"):
			_ = json.NewEncoder(w).Encode(map[string]any{"Os": "linux", "Architecture": "amd64", "Config": map[string]any{}})
		case strings.HasSuffix(r.URL.Path, "/version"):
			_ = json.NewEncoder(w).Encode(map[string]any{"Version": "1", "Arch": "amd64", "Os": "linux"})
		case strings.HasSuffix(r.URL.Path, "/containers/create"):
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "no such\n  network " + strings.Repeat("x", 10_000)})
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "not found"})
		}
	})
	p, err := docker.New(fakeConfig(t, host))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	state := provision(t, p, specOf("image"))
	if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "no such network x") || len(state.Reason.Message) > 1000 {
		t.Errorf("Provision = %+v, %.300s", state, state.Reason.Message)
	}
}

func TestImagesForOtherSystemsAreTold(t *testing.T) {
	t.Parallel()
	for name, image := range map[string]map[string]string{
		"windows": {"Os": "windows", "Architecture": "amd64"}, "riscv64": {"Os": "linux", "Architecture": "riscv64"},
	} {
		host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.Path, "/images/"):
				_ = json.NewEncoder(w).Encode(image)
			case strings.HasSuffix(r.URL.Path, "/version"):
				_ = json.NewEncoder(w).Encode(map[string]any{"Version": "1", "Arch": "amd64", "Os": "linux"})
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
		config := fakeConfig(t, host)
		p, err := docker.New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		state := provision(t, p, specOf("image"))
		if state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, name) || state.Reason.Remediation == "" {
			t.Errorf("%s: %+v, %+v", name, state, state.Reason)
		}
		if entries, err := os.ReadDir(config.Root); err != nil || len(entries) > 0 {
			t.Errorf("the folder holds %v, %v", entries, err)
		}
	}
}

func TestSpecsThatCannotBeAreRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the engine is asked for %s", r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	config := fakeConfig(t, host)
	p, err := docker.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, change := range map[string]func(*berth.Environment){
		"Bad Image":           func(e *berth.Environment) { bad := "Bad Image"; e.Image.Docker = &bad },
		"docker.extra_mounts": func(e *berth.Environment) { e.Docker = &berth.DockerOptions{ExtraMounts: []string{"/etc:/mnt"}} },
		"docker.network_mode": func(e *berth.Environment) {
			e.Network.Mode, e.Docker = berth.NetworkAllowAll, &berth.DockerOptions{NetworkMode: "host"}
		},
	} {
		spec := specOf("image")
		change(&spec.Environment)
		state := provision(t, p, spec)
		if state.Status != berth.SandboxFailed || state.Reason == nil || name != "Bad Image" && !strings.Contains(state.Reason.Message, name) {
			t.Errorf("%s: %+v, %+v", name, state, state.Reason)
		}
	}
	for _, id := range []berth.SandboxID{"", "..", "x/y", "01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		_, err := p.Provision(t.Context(), berth.SandboxSpec{ID: id})
		wantCode(t, "Provision of "+string(id), err, berth.CodeInvalid)
	}
	if entries, err := os.ReadDir(config.Root); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestAPullThatTheEngineCutsShortMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/images/create") {
			pulls.Add(1)
			_ = json.NewEncoder(w).Encode(map[string]string{"status": "Pulling fs layer", "id": "x"})
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": "no such image"})
	})
	p, err := docker.New(fakeConfig(t, host))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	spec := specOf("image")
	for want := int64(1); want <= 2; want++ {
		eventually(t, "the pull is given up", func() bool {
			state, err := p.Provision(t.Context(), spec)
			if err == nil && state.Status != berth.SandboxCreating {
				t.Fatalf("Provision = %+v, %+v", state, state.Reason)
			}
			return berth.CodeOf(err) == berth.CodeUnavailable
		})
		if got := pulls.Load(); got != want {
			t.Errorf("%d pulls, want %d", got, want)
		}
	}
}

func TestATornRecordIsASandboxLostAndNoMore(t *testing.T) {
	t.Parallel()
	torn := sandboxtest.NewID()
	var config docker.Config
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/volumes"):
			_, _ = w.Write([]byte(`{"Volumes":[]}`))
			return
		case !strings.HasSuffix(r.URL.Path, "/containers/json"):
			w.WriteHeader(http.StatusNotFound)
			return
		}
		labels := map[string]string{"dev.berth.installation": string(config.Installation), "dev.berth.sandbox": string(torn)}
		_ = json.NewEncoder(w).Encode([]map[string]any{{"Id": "c", "Labels": labels}})
	})
	config = fakeConfig(t, host)
	for id, text := range map[berth.SandboxID]string{torn: `{"id":"01`, sandboxtest.NewID(): "", sandboxtest.NewID(): "\x00\x00"} {
		if err := os.MkdirAll(filepath.Join(config.Root, string(id)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config.Root, string(id), "meta.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := recorded(t, config)
	p := open(t, config)
	if left, err := os.ReadDir(config.Root); err != nil || len(left) != 1 || left[0].Name() != string(whole.ID) {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	var listed []berth.SandboxID
	list, err := p.List(bounded(t))
	for _, s := range list {
		listed = append(listed, s.ID)
	}
	if err != nil || !slices.Contains(listed, whole.ID) || !slices.Contains(listed, torn) || len(listed) != 2 {
		t.Errorf("List = %v, %v: the container without a record is to be swept", listed, err)
	}
}
