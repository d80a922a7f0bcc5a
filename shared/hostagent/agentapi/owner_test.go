package agentapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

func TestAnAgentBelongsToTheFirstWhoCallsWithTheToken(t *testing.T) {
	t.Parallel()
	var asked []berth.InstallationID
	e := newEdge(t, func(c *agentapi.Config) {
		providers := c.Providers
		c.Installation, c.Providers = "", nil
		c.Adopt = func(_ context.Context, id berth.InstallationID) (agentapi.Providers, error) {
			asked = append(asked, id)
			if len(asked) == 1 {
				return nil, errors.New("the disk is not there yet")
			}
			return providers, nil
		}
	})
	const list = "/v1/local/sandboxes"
	as := func(id, auth string) int {
		return e.do(http.MethodGet, list, "", agentapi.InstallationHeader, id, "Authorization", auth).status
	}
	if got := as("thief", "Bearer wrong"); got != http.StatusUnauthorized || len(asked) > 0 {
		t.Errorf("without the token: %d, asked %v", got, asked)
	}
	if got := as("mine", "Bearer "+token); got != http.StatusInternalServerError {
		t.Errorf("when the providers do not open: %d", got)
	}
	for _, id := range []string{"first", "second", "first", "mine"} {
		want := http.StatusForbidden
		if id == "first" {
			want = http.StatusOK
		}
		if got := as(id, "Bearer "+token); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
	if diff := cmp.Diff([]berth.InstallationID{"mine", "first"}, asked); diff != "" {
		t.Errorf("Adopt was called for (-want +got)\n%s", diff)
	}
}

func TestASandboxIsMadeForTheOwner(t *testing.T) {
	t.Parallel()
	e := newEdge(t, nil)
	image := "debian:13"
	spec := berth.SandboxSpec{
		ID: sandboxID, Installation: "theirs", Run: "r", Directory: "/srv", Labels: map[string]string{"a": "b"}, Host: "h",
		Environment: berth.Environment{ID: "ci", Provider: berth.ProviderDocker, Image: berth.Image{Docker: &image}, Docker: &berth.DockerOptions{PoolSize: 2}},
	}
	form, err := agentapi.ProvisionOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.do(http.MethodPut, sandbox, string(body)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	spec.Installation = "mine"
	if diff := cmp.Diff(spec, e.provider.provisioned); diff != "" {
		t.Errorf("provisioned (-want +got)\n%s", diff)
	}
}

func TestCredentialsOfARegistryAreLentAndNotLogged(t *testing.T) {
	t.Parallel()
	var lent []string
	e := newEdge(t, func(c *agentapi.Config) {
		c.Credentials = func(r agentapi.RegistryCredentials) {
			lent = append(lent, fmt.Sprintf("%s %s %s %s %v", r.Registry, r.Username, r.Password.Reveal(), r.IdentityToken.Reveal(), r.Empty()))
		}
	})
	form := agentapi.Provision{Run: "r", Environment: json.RawMessage("{}"), Registry: &agentapi.RegistryCredentials{
		Registry: "host:5000", Username: "u\xff", Password: agentapi.Secret{SecretValue: berth.NewSecretValue([]byte("canary-5f2b7c"))},
	}}
	for range 2 {
		body, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.do(http.MethodPut, sandbox, string(body)); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		form.Registry = &agentapi.RegistryCredentials{Registry: "docker.io"}
	}
	if got := e.do(http.MethodPut, sandbox, `{"run":"r","environment":{}}`); got.status != http.StatusOK {
		t.Errorf("without any: %d %s", got.status, got.body)
	}
	if diff := cmp.Diff([]string{"host:5000 u\xff canary-5f2b7c  false", "docker.io    true"}, lent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if text := e.log.String() + fmt.Sprintf("%v %+v", *form.Registry, form); strings.Contains(text, "canary") || strings.Contains(text, "Y2FuYXJ5") {
		t.Errorf("the log is %s", text)
	}
}

func TestAFullHostMakesNoNewSandboxAndKeepsThoseItHas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		free     int64
		describe berth.SandboxStatus
		want     []string
	}{
		{"room", 100, berth.SandboxGone, []string{"provision"}},
		{"none", 99, berth.SandboxGone, []string{"describe "}},
		{"none, for one that is there", 99, berth.SandboxReady, []string{"describe ", "provision"}},
	} {
		e := newEdge(t, func(c *agentapi.Config) {
			c.MinFreeDisk = 100
			c.Capacity = func() (agentapi.Capacity, error) { return agentapi.Capacity{FreeDiskBytes: tt.free}, nil }
		})
		e.provider.describe = tt.describe
		got := e.do(http.MethodPut, sandbox, `{"run":"r","environment":{}}`)
		var state agentapi.Sandbox
		if err := json.Unmarshal([]byte(got.body), &state); err != nil {
			t.Fatal(err)
		}
		refused := state.Status == berth.SandboxFailed && state.Reason != nil && strings.Contains(state.Reason.Message, "free disk")
		if diff := cmp.Diff(tt.want, e.provider.calls); diff != "" || refused == (len(tt.want) == 2 || tt.free == 100) {
			t.Errorf("%s: %s (-want +got)\n%s", tt.name, got.body, diff)
		}
	}
}

// engined is a provider with an engine.
type engined struct {
	*stand
	version string
	err     error
}

func (e engined) EngineVersion(context.Context) (string, error) { return e.version, e.err }
func (e engined) Kind() berth.ProviderKind                      { return berth.ProviderDocker }

func TestHealthTellsOfTheHostAndOfEachProvider(t *testing.T) {
	t.Parallel()
	down := berth.Errorf(berth.CodeUnavailable, "the engine does not answer")
	for _, tt := range []struct {
		name   string
		docker engined
		want   agentapi.ProviderHealth
	}{
		{"an engine that works", engined{&stand{}, "28.5.2", nil}, agentapi.ProviderHealth{Kind: "docker", Engine: "28.5.2", Sandboxes: 1}},
		{"one that does not", engined{&stand{}, "", down}, agentapi.ProviderHealth{Kind: "docker", Problem: "the engine does not answer"}},
	} {
		e := newEdge(t, func(c *agentapi.Config) {
			c.Providers[berth.ProviderDocker] = tt.docker
			c.Version = berth.Version{Version: "v1", Commit: "c", Go: "g"}
			c.Capacity = func() (agentapi.Capacity, error) {
				return agentapi.Capacity{CPUs: 2, MemoryBytes: 3, FreeDiskBytes: 4}, nil
			}
		})
		got := e.do(http.MethodGet, agentapi.HealthPath, "")
		var health agentapi.Health
		if err := json.Unmarshal([]byte(got.body), &health); err != nil || got.status != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", tt.name, got.status, got.body, err)
		}
		want := agentapi.Health{
			Version: "v1", Commit: "c", Go: "g", Installation: "mine", Capacity: agentapi.Capacity{CPUs: 2, MemoryBytes: 3, FreeDiskBytes: 4},
			Providers: []agentapi.ProviderHealth{{Kind: "local", Sandboxes: 1}, tt.want},
		}
		if diff := cmp.Diff(want, health); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestFingerprintsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	f := agentapi.FingerprintOf([]byte("a certificate"))
	hex := strings.TrimPrefix(f.String(), "sha256:")
	var pairs []string
	for i := 0; i < len(hex); i += 2 {
		pairs = append(pairs, strings.ToUpper(hex[i:i+2]))
	}
	for _, text := range []string{f.String(), hex, strings.ToUpper(hex), "SHA256:" + hex, strings.Join(pairs, ":"), "sha256:" + strings.Join(pairs, ":"), " " + hex + "\n"} {
		if got, err := agentapi.ParseFingerprint(text); err != nil || got != f {
			t.Errorf("ParseFingerprint(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "sha256:", hex[:62], hex + "00", "x" + hex[1:], "sha1:" + hex} {
		if _, err := agentapi.ParseFingerprint(text); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseFingerprint(%q): %v", text, err)
		}
	}
}

func TestAnAgentWithoutTokenOrProvidersIsRefused(t *testing.T) {
	t.Parallel()
	providers := agentapi.Providers{berth.ProviderLocal: &stand{}}
	for name, config := range map[string]agentapi.Config{
		"no token":         {Installation: "mine", Providers: providers},
		"a blank token":    {Token: " x", Installation: "mine", Providers: providers},
		"no providers":     {Token: token, Installation: "mine"},
		"no installation":  {Token: token, Providers: providers},
		"nothing to adopt": {Token: token},
	} {
		if _, err := agentapi.New(config); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
