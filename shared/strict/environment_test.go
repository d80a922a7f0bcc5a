package strict_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
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

func ptr[T any](v T) *T { return &v }

func TestAnEnvironmentReadsAsTheDocumentShowsIt(t *testing.T) {
	t.Parallel()
	got := berth.EnvironmentDefaults()
	if err := strict.JSON([]byte(documentBody), &got); err != nil {
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
		t.Errorf("JSON (-want +got)\n%s", diff)
	}
	if problems := berth.ValidateEnvironment(got); len(problems) > 0 {
		t.Errorf("ValidateEnvironment = %v, want nothing", problems)
	}
}

func TestAbsentKeysOfAnEnvironmentHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	got := berth.EnvironmentDefaults()
	if err := strict.JSON([]byte(`{"id":"x","provider":"docker","lifecycle":{"preserve":true},"network":{"allow":["10.0.0.0/8"]},"docker":{}}`), &got); err != nil {
		t.Fatal(err)
	}
	want := berth.Environment{
		ID: "x", Provider: berth.ProviderDocker, Network: berth.Network{Mode: "cidr_allow_list", Allow: []string{"10.0.0.0/8"}},
		Lifecycle: berth.Lifecycle{Preserve: true, StopOnTerminal: true}, Labels: map[string]string{}, Env: map[string]string{},
	}
	if diff := cmp.Diff(want, berth.NormalizeEnvironment(got)); diff != "" {
		t.Errorf("JSON (-want +got)\n%s", diff)
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add([]byte(documentBody))
	f.Add([]byte(`{"id":"x","provider":"ssh","ssh":{"destination":"a","working_directory":"/w"}}`))
	f.Add([]byte(`{"id":"x","provider":"docker","image":{"dockerfile":{"path":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := berth.EnvironmentDefaults()
		if strict.JSON(data, &e) != nil || len(berth.ValidateEnvironment(e)) > 0 {
			return
		}
		e = berth.NormalizeEnvironment(e)
		stored, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		again := berth.EnvironmentDefaults()
		err = strict.JSON(stored, &again)
		if diff := cmp.Diff(e, again); err != nil || diff != "" {
			t.Fatalf("%q is stored as %s, which reads as something else: %v\n%s", data, stored, err, diff)
		}
	})
}
