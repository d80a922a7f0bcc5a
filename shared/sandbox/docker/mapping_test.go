//go:build linux

package docker_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	config := config(t)
	mounted := t.TempDir()
	config.Policy = docker.Policy{Mounts: []string{mounted}, NetworkModes: []string{"host"}}
	dockertest.Image(t, dockertest.Debian)
	api := engine(t)
	p := open(t, config)
	t.Cleanup(func() { noneLeft(t, api, config.Installation) })
	inspected := func(look func(container.InspectResponse) any, want any) sandboxtest.Look {
		return func(t *testing.T, m sandboxtest.Mapped) (got, _ any) {
			made, err := api.ContainerInspect(t.Context(), "berth-"+string(m.Spec.ID), client.ContainerInspectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return look(made.Container), want
		}
	}
	network := func(c container.InspectResponse) any { return string(c.HostConfig.NetworkMode) }
	sandboxtest.RunMapping(t, sandboxtest.Mapping{
		Kind: berth.ProviderDocker,
		Fields: map[string]func(*berth.Environment){
			"image.docker":                  func(e *berth.Environment) { e.Image.Docker = new(dockertest.Debian) },
			"resources.memory":              func(e *berth.Environment) { e.Resources.Memory = new(berth.Size("64MiB")) },
			"resources.memory, below 6 MiB": func(e *berth.Environment) { e.Resources.Memory = new(berth.Size("5MiB")) },
			"docker.extra_mounts": func(e *berth.Environment) {
				e.Docker = &berth.DockerOptions{ExtraMounts: []string{mounted + ":/mnt:ro"}}
			},
			"docker.network_mode": func(e *berth.Environment) {
				e.Network.Mode, e.Docker = berth.NetworkAllowAll, &berth.DockerOptions{NetworkMode: "host"}
			},
			"docker.auto_pull": func(e *berth.Environment) { e.Docker = &berth.DockerOptions{AutoPull: new(true)} },
			"docker.pool_size": func(e *berth.Environment) { e.Docker = &berth.DockerOptions{PoolSize: 1} },
		},
		Seen: map[string]sandboxtest.Look{
			"image.docker": inspected(func(c container.InspectResponse) any { return c.Config.Image }, dockertest.Debian),
			"resources.cpu": inspected(func(c container.InspectResponse) any {
				return []int64{c.HostConfig.CPUQuota, c.HostConfig.CPUPeriod}
			}, []int64{200000, 100000}),
			"resources.memory":           inspected(func(c container.InspectResponse) any { return c.HostConfig.Memory }, int64(64<<20)),
			`network.mode = "allow_all"`: inspected(network, "default"),
			`network.mode = "block"`:     inspected(network, "none"),
			"docker.extra_mounts": func(t *testing.T, m sandboxtest.Mapped) (got, want any) {
				return m.Output(t, "touch /mnt/x 2>/dev/null && echo written; grep -c ' /mnt [^ ]* ro,' /proc/mounts"), "1\n"
			},
			"docker.network_mode": inspected(network, "host"),
			"docker":              nil, // its fields are
			"docker.auto_pull":    nil, // the image is there: the tests of registries pull
			"docker.pool_size":    nil, // the server keeps the pool
		},
		Open: func(t *testing.T, effect berth.Effect) sandboxtest.MappingRig {
			rig := sandboxtest.MappingRig{
				Provider: p, Spec: func(testing.TB) berth.SandboxSpec { return specOf(dockertest.Debian) }, Calls: func() int { return 0 },
			}
			if effect == berth.EffectError {
				rig.Provider, rig.Calls = tallied(t, config)
			}
			return rig
		},
	})
}

// tallied is a provider whose every request to the engine is counted. It makes none
// by itself once it is open.
func tallied(t *testing.T, config docker.Config) (p *docker.Provider, requests func() int) {
	t.Helper()
	dial := engine(t).Dialer()
	var count atomic.Int64
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { count.Add(1); r.SetURL(&url.URL{Scheme: "http", Host: "engine"}) },
		Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableKeepAlives: true,
		},
	}
	path := filepath.Join(t.TempDir(), "e.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: pass}}
	server.Start()
	t.Cleanup(server.Close)
	config.Host, config.Root = "unix://"+path, filepath.Join(t.TempDir(), "s")
	p = open(t, config)
	if count.Load() == 0 {
		t.Fatal("the provider was opened without a word to the engine: nothing is counted")
	}
	return p, func() int { return int(count.Load()) }
}
