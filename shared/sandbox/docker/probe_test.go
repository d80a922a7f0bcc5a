//go:build linux

package docker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// nothingOfTheProbe fails the test when a probe has left something.
func nothingOfTheProbe(t testing.TB, api *client.Client, config docker.Config) {
	t.Helper()
	noneLeft(t, api, config.Installation)
	images, err := api.ImageList(bounded(t), client.ImageListOptions{Filters: client.Filters{}.Add("label", "dev.berth.installation="+string(config.Installation))})
	if err != nil || len(images.Items) > 0 {
		t.Errorf("images %+v, %v are left", images.Items, err)
	}
	if left, _ := filepath.Glob(filepath.Join(config.Root, "probe-*")); len(left) > 0 {
		t.Errorf("folders %q are left", left)
	}
}

func TestAnEngineOfThisMachineIsReachedOverSockets(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	config := config(t)
	config.Transport = ""
	b := sandbox(t, config, specOf(dockertest.Static))
	if transport, why, err := b.Transport(bounded(t)); transport != docker.TransportSocket || why != "" || err != nil {
		t.Errorf("Transport = %q, %q, %v", transport, why, err)
	}
	found, err := engine(t).ContainerInspect(bounded(t), containerOf(b.ref), client.ContainerInspectOptions{})
	if err != nil || found.Container.Config.OpenStdin {
		t.Errorf("the container is one that is attached to: %+v, %v", found.Container.Config, err)
	}
	if got := b.script("echo works"); got != "works\n" {
		t.Errorf("it says %q", got)
	}
	if err := b.Destroy(bounded(t), b.ref); err != nil {
		t.Fatal(err)
	}
	nothingOfTheProbe(t, engine(t), config)
}

func TestAnEngineElsewhereIsReachedOverAttachedStreams(t *testing.T) {
	t.Parallel()
	e := farEngine(t, dockertest.Static)
	config := config(t)
	config.Host, config.Transport = e.Host, ""
	p := open(t, config)
	transport, why, err := p.Transport(bounded(t))
	if transport != docker.TransportAttached || why == "" || err != nil {
		t.Fatalf("Transport = %q, %q, %v", transport, why, err)
	}
	nothingOfTheProbe(t, e.Client(t), config)
	spec := specOf(dockertest.Static)
	ref := berth.SandboxRef{ID: spec.ID}
	if state := provision(t, p, spec); state.Status != berth.SandboxReady {
		t.Fatalf("%+v, %+v", state, state.Reason)
	}
	b := &box{Provider: p, t: t, ref: ref}
	if got := b.script("echo works"); got != "works\n" {
		t.Errorf("it says %q", got)
	}
	if err := p.Destroy(bounded(t), ref); err != nil {
		t.Error(err)
	}
}

func TestASocketThatAGuestCannotTalkOverFailsTheProbe(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	real := config(t)
	guest, err := real.Guest("")
	if err != nil {
		t.Fatal(err)
	}
	// As with another kernel between both: what is mounted is not what listens.
	deaf := filepath.Join(t.TempDir(), "guest")
	if err := os.WriteFile(deaf, []byte("#!"+guest+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := config(t)
	config.Transport, config.Guest = "", func(string) (string, error) { return deaf, nil }
	transport, why, err := open(t, config).Transport(bounded(t))
	if transport != docker.TransportAttached || err != nil || strings.Contains(why, config.Root) {
		t.Errorf("Transport = %q, %q, %v", transport, why, err)
	}
	nothingOfTheProbe(t, engine(t), config)
}

func TestAnEngineThatDoesNotAnswerIsProbedLater(t *testing.T) {
	t.Parallel()
	e := farEngine(t, dockertest.Static)
	config := config(t)
	config.Host, config.Transport = e.Host, ""
	p := open(t, config)
	e.Stop(t, 15)
	if _, _, err := p.Transport(bounded(t)); err == nil {
		t.Log("it was probed before it was stopped")
	} else if berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Transport without an engine: %v", err)
	}
	e.Start(t)
	eventually(t, "the probe of an engine that is back", func() bool {
		transport, _, err := p.Transport(bounded(t))
		return err == nil && transport == docker.TransportAttached
	})
}

func TestWhatAProbeThatWasCutShortHasLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	config := config(t)
	config.Transport = ""
	folder := filepath.Join(config.Root, "probe-1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"dev.berth.installation": string(config.Installation), "dev.berth.purpose": "probe"}
	_, err := engine(t).ContainerCreate(bounded(t), client.ContainerCreateOptions{
		Config: &container.Config{Image: dockertest.Static, Labels: labels},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, config)
	if list, err := p.List(bounded(t)); err != nil || len(list) > 0 {
		t.Errorf("List = %+v, %v: a probe is no sandbox", list, err)
	}
	if _, _, err := p.Transport(bounded(t)); err != nil {
		t.Error(err)
	}
	nothingOfTheProbe(t, engine(t), config)
}

func TestAProbeWhoseServerDiesEndsAndGoesByItself(t *testing.T) {
	t.Parallel()
	config := config(t)
	dockertest.Image(t, dockertest.Static)
	api := engine(t)
	// Once the probe runs, the server is as good as dead: nothing of its comes through.
	var dead atomic.Bool
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker.example.com" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return api.Dialer()(ctx)
		}},
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/start") {
			dead.Store(true)
		}
	}))
	t.Cleanup(proxy.Close)
	config.Host, config.Transport, config.CallTimeout = "tcp://"+strings.TrimPrefix(proxy.URL, "http://"), "", 10*time.Second
	p := open(t, config)
	eventually(t, "the server dies in the middle of its probe", func() bool { return dead.Load() })
	if _, _, err := p.Transport(bounded(t)); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Transport: %v", err)
	}
	probes := client.Filters{}.Add("label", "dev.berth.installation="+string(config.Installation))
	left := func() int {
		found, err := api.ContainerList(bounded(t), client.ContainerListOptions{All: true, Filters: probes})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Items)
	}
	if left() != 1 {
		t.Fatal("no probe is left that could go by itself")
	}
	eventually(t, "the probe is gone", func() bool {
		time.Sleep(250 * time.Millisecond) // it takes a while: the engine need not be asked all the time
		return left() == 0
	})
	// The image is what the next server of the installation removes.
	config.Host, config.Transport = "", ""
	if _, _, err := open(t, config).Transport(bounded(t)); err != nil {
		t.Error(err)
	}
	nothingOfTheProbe(t, api, config)
}

func TestAnEngineThatCannotBeProbedIsTakenForWhereItsAddressSays(t *testing.T) {
	t.Parallel()
	answers := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			w.Header().Set("Api-Version", "1.41")
			return
		}
		http.Error(w, `{"message":"not through here"}`, http.StatusForbidden)
	}
	byTCP := httptest.NewServer(http.HandlerFunc(answers))
	t.Cleanup(byTCP.Close)
	for host, want := range map[string]docker.Transport{
		fakeEngine(t, answers):                              docker.TransportSocket,
		"tcp://" + strings.TrimPrefix(byTCP.URL, "http://"): docker.TransportAttached,
	} {
		config := fakeConfig(t, host)
		config.Transport, config.CallTimeout = "", 30*time.Second
		if transport, _, err := open(t, config).Transport(bounded(t)); transport != want || err != nil {
			t.Errorf("%s: Transport = %q, %v; want %q", host, transport, err, want)
		}
	}
}

// shiftedClock is the system's, and goes before it.
type shiftedClock struct {
	berth.SystemClock
	ahead atomic.Int64 // nanoseconds
}

func (c *shiftedClock) Now() time.Time {
	return c.SystemClock.Now().Add(time.Duration(c.ahead.Load()))
}

func TestAnEngineIsProbedOnceAndAnotherOneAgain(t *testing.T) {
	t.Parallel()
	var id, runtime atomic.Value
	id.Store("one")
	runtime.Store("runc")
	var probes atomic.Int64
	host := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/info"):
			_, _ = fmt.Fprintf(w, `{"ID":%q,"DefaultRuntime":%q}`, id.Load(), runtime.Load())
		case strings.HasSuffix(path, "/version"):
			_, _ = fmt.Fprint(w, `{"Arch":"amd64"}`)
		case strings.HasSuffix(path, "/containers/json"):
			_, _ = fmt.Fprint(w, `[]`)
		case strings.HasSuffix(path, "/images/create"):
			probes.Add(1)
			http.Error(w, `{"message":"no room"}`, http.StatusInternalServerError)
		default:
			http.Error(w, `{"message":"nothing there"}`, http.StatusNotFound)
		}
	})
	clock := &shiftedClock{}
	config := fakeConfig(t, host)
	config.Transport, config.CallTimeout, config.Clock = "", 30*time.Second, clock
	p := open(t, config)
	for _, step := range []struct {
		name   string
		change func()
		probes int64
	}{
		{"at first", func() {}, 1},
		{"at once", func() {}, 1},
		{"later", func() { clock.ahead.Add(int64(time.Hour)) }, 1},
		{"with another engine", func() { id.Store("two"); clock.ahead.Add(int64(time.Hour)) }, 2},
		{"with another runtime", func() { runtime.Store("runsc"); clock.ahead.Add(int64(time.Hour)) }, 3},
	} {
		step.change()
		if _, _, err := p.Transport(bounded(t)); err != nil || probes.Load() != step.probes {
			t.Errorf("%s: %d probes, want %d; %v", step.name, probes.Load(), step.probes, err)
		}
	}
}
