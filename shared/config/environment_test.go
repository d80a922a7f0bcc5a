package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

// The first example of the document, without what is another field's.
const documentBody = `{
  "id": "fabro-dev",
  "provider": "daytona",
  "cwd": null,
  "image": {"docker": null, "dockerfile": {"type": "inline", "value": "FROM buildpack-deps:noble\n"}},
  "resources": {"cpu": 8, "memory": "16GB", "disk": "20GB"},
  "network": {"mode": "cidr_allow_list", "allow": ["10.0.0.0/8"]},
  "lifecycle": {"preserve": false, "stop_on_terminal": true, "auto_stop": "30m"},
  "labels": {"repo": "fabro-sh/fabro"},
  "env": {"NODE_ENV": "development"}
}`

func TestParseEnvironmentReadsTheDocumentsExample(t *testing.T) {
	t.Parallel()
	got, err := config.ParseEnvironment([]byte(documentBody))
	if err != nil {
		t.Fatal(err)
	}
	want := berth.Environment{
		ID: "fabro-dev", Provider: berth.ProviderDaytona,
		Image:     berth.Image{Dockerfile: &berth.Dockerfile{Type: "inline", Value: "FROM buildpack-deps:noble\n"}},
		Resources: berth.Resources{CPU: ptr(8), Memory: ptr(berth.Size("16GB")), Disk: ptr(berth.Size("20GB"))},
		Network:   berth.Network{Mode: "cidr_allow_list", Allow: []string{"10.0.0.0/8"}},
		Lifecycle: berth.Lifecycle{StopOnTerminal: true, AutoStop: ptr(berth.Duration("30m"))},
		Labels:    map[string]string{"repo": "fabro-sh/fabro"},
		Env:       map[string]string{"NODE_ENV": "development"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseEnvironment (-want +got)\n%s", diff)
	}
}

func TestParseEnvironmentFillsDefaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]berth.Environment{
		`{"id":"x","provider":"docker"}`: server("x", func(e *berth.Environment) { e.Image, e.Resources = berth.Image{}, berth.Resources{} }),
		`{"id":"x","provider":"docker","network":{"allow":["10.0.0.0/8"]},"lifecycle":{"preserve":true},"docker":{}}`: server("x", func(e *berth.Environment) {
			e.Image, e.Resources = berth.Image{}, berth.Resources{}
			e.Network, e.Lifecycle.Preserve = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"10.0.0.0/8"}}, true
		}),
	} {
		got, err := config.ParseEnvironment([]byte(body))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ParseEnvironment(%s): %v, (-want +got)\n%s", body, err, diff)
		}
	}
}

func TestAStoredEnvironmentReadsAsItself(t *testing.T) {
	t.Parallel()
	for _, e := range []berth.Environment{berth.SeedEnvironment(), berth.LocalEnvironment()} {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.ParseEnvironment(data)
		if diff := cmp.Diff(e, got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got)\n%s", e.ID, err, diff)
		}
	}
}

func TestParseEnvironmentTellsEveryProblemOnce(t *testing.T) {
	t.Parallel()
	hint := "must be inline: " + berth.DockerfileHint
	for body, want := range map[string][]berth.Problem{
		`{}`: {
			{Location: "id", Message: slugRule},
			{Location: "provider", Message: "is missing: must be one of local, docker, daytona, ssh, exe, sprites"},
		},
		`{"id":"a/b","provider":"docker","memory":"4GB","resources":{"cpu":0,"memory":"512"},"id":"c"}`: {
			{Location: "id", Message: "is there twice"},
			{Location: "memory", Message: "is not a known key"},
			{Location: "id", Message: slugRule},
			{Location: "resources.cpu", Message: "must be a whole number from 1 to 1024"},
			{Location: "resources.memory", Message: "has no unit" + sizeRule},
		},
		`{"id":"x","provider":5,"resources":{"cpu":"s3cret","memory":4},"env":{"A":null,"B":1},"labels":null,"network":{"mode":"s3cret"}}`: {
			{Location: "env.A", Message: "must be a string, not null"},
			{Location: "env.B", Message: "must be a string, not a number"},
			{Location: "labels", Message: "must be an object, not null"},
			{Location: "network.mode", Message: "must be one of allow_all, block, cidr_allow_list"},
			{Location: "provider", Message: "must be a string, not a number"},
			{Location: "resources.cpu", Message: "must be a whole number, not a string"},
			{Location: "resources.memory", Message: "must be a string, not a number"},
		},
		`{"id":"x","provider":"docker","image":{"dockerfile":{"path":"Dockerfile"}}}`:                {{Location: "image.dockerfile", Message: hint}},
		`{"id":"x","provider":"docker","image":{"dockerfile":{"type":"path","value":"Dockerfile"}}}`: {{Location: "image.dockerfile", Message: hint}},
		`{"id":"x","provider":"docker","image":{"dockerfile":"FROM debian"}}`:                        {{Location: "image.dockerfile", Message: hint}},
		`{"id":"x","provider":"docker","network":{"mode":"allow_all","allow":["10.0.0.0/8"]}}`:       {{Location: "network.allow", Message: "has no effect with network.mode = allow_all: empty the list, or say network.mode = cidr_allow_list"}},
		`[]`: {{Message: "must be an object, not a list"}},
	} {
		_, err := config.ParseEnvironment([]byte(body))
		if diff := cmp.Diff(refusal{berth.CodeInvalid, want}, refusalOf(t, err)); diff != "" {
			t.Errorf("ParseEnvironment(%s) (-want +got)\n%s", body, diff)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("ParseEnvironment(%s): the error holds a value: %v", body, err)
		}
	}
	if _, err := config.ParseEnvironment([]byte(`{"id":"x"} x`)); berth.CodeOf(err) != berth.CodeMalformed {
		t.Errorf("trailing garbage: %v, want malformed", err)
	}
}

func TestPatchEnvironmentMergesAndNullsGoBackToDefaults(t *testing.T) {
	t.Parallel()
	current := server("ci", func(e *berth.Environment) {
		e.Env = map[string]string{"A": "1", "B": "2"}
		e.Lifecycle.StopOnTerminal = false
		e.Docker = &berth.DockerOptions{PoolSize: 2, AutoPull: ptr(false)}
	})
	for patch, want := range map[string]func(*berth.Environment){
		`{}`: func(*berth.Environment) {},
		`{"env":{"A":null,"C":"3"},"resources":{"cpu":4,"memory":null}}`: func(e *berth.Environment) {
			e.Env = map[string]string{"B": "2", "C": "3"}
			e.Resources = berth.Resources{CPU: ptr(4)}
		},
		`{"lifecycle":{"stop_on_terminal":null},"docker":null,"env":null}`: func(e *berth.Environment) {
			e.Lifecycle.StopOnTerminal, e.Docker, e.Env = true, nil, map[string]string{}
		},
		`{"docker":{"pool_size":null}}`: func(e *berth.Environment) { e.Docker = &berth.DockerOptions{AutoPull: ptr(false)} },
		`{"network":null}`:              func(*berth.Environment) {},
	} {
		expected := current
		want(&expected)
		got, err := config.PatchEnvironment(current, []byte(patch))
		if diff := cmp.Diff(expected, got); err != nil || diff != "" {
			t.Errorf("PatchEnvironment(%s): %v, (-want +got)\n%s", patch, err, diff)
		}
	}
}

func TestPatchEnvironmentIsAsStrictAsABody(t *testing.T) {
	t.Parallel()
	current := server("ci", nil)
	for patch, want := range map[string]refusal{
		`{"id":"x"}`:                             {berth.CodeInvalid, []berth.Problem{{Location: "id", Message: "cannot be changed: create another environment"}}},
		`{"id":null}`:                            {berth.CodeInvalid, []berth.Problem{{Location: "id", Message: slugRule}}},
		`{"lables":{}}`:                          {berth.CodeInvalid, []berth.Problem{{Location: "lables", Message: "is not a known key: did you mean labels?"}}},
		`{"env":{"A":1}}`:                        {berth.CodeInvalid, []berth.Problem{{Location: "env.A", Message: "must be a string, not a number"}}},
		`[]`:                                     {berth.CodeInvalid, []berth.Problem{{Message: "a merge patch must be an object"}}},
		`{"network":{"mode":"cidr_allow_list"}}`: {berth.CodeInvalid, []berth.Problem{{Location: "network.allow", Message: "is empty, and network.mode is cidr_allow_list: list at least one CIDR, or say network.mode = block"}}},
		`{`:                                      {berth.CodeMalformed, []berth.Problem{{Message: "the JSON document ends too early (line 1, column 2)"}}},
	} {
		_, err := config.PatchEnvironment(current, []byte(patch))
		if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
			t.Errorf("PatchEnvironment(%s) (-want +got)\n%s", patch, diff)
		}
	}
}

func FuzzParseEnvironment(f *testing.F) {
	f.Add([]byte(documentBody))
	f.Add([]byte(`{"id":"x","provider":"ssh","ssh":{"destination":"a"}}`))
	f.Add([]byte(`{"image":{"dockerfile":{"path":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := config.ParseEnvironment(data)
		if err != nil {
			if code := berth.CodeOf(err); code != berth.CodeInvalid && code != berth.CodeMalformed {
				t.Fatalf("ParseEnvironment(%q): %v", data, err)
			}
			return
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := config.ParseEnvironment(again)
		if diff := cmp.Diff(e, twice); err != nil || diff != "" {
			t.Fatalf("ParseEnvironment(%q) does not read back: %v\n%s", data, err, diff)
		}
	})
}
