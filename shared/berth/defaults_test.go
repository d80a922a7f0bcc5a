package berth_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestTheStoredFormHasEveryKeyOfTheDocument(t *testing.T) {
	t.Parallel()
	got, err := json.MarshalIndent(berth.SeedEnvironment(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "id": "default",
  "provider": "docker",
  "cwd": null,
  "image": {
    "docker": "buildpack-deps:noble",
    "dockerfile": null
  },
  "resources": {
    "cpu": 2,
    "memory": "4GB",
    "disk": null
  },
  "network": {
    "mode": "allow_all",
    "allow": []
  },
  "lifecycle": {
    "preserve": false,
    "stop_on_terminal": true,
    "auto_stop": null
  },
  "labels": {},
  "env": {}
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("SeedEnvironment (-want +got)\n%s", diff)
	}
}

func TestNormalizeEnvironmentFillsWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   berth.Network
		want berth.Network
	}{
		"nothing is allow_all":          {berth.Network{}, berth.Network{Mode: "allow_all", Allow: []string{}}},
		"a list alone is an allow list": {berth.Network{Allow: []string{"10.0.0.0/8"}}, cidrs("10.0.0.0/8")},
		"a mode stays":                  {berth.Network{Mode: "block"}, berth.Network{Mode: "block", Allow: []string{}}},
		"a contradiction stays":         {berth.Network{Mode: "block", Allow: []string{"10.0.0.0/8"}}, berth.Network{Mode: "block", Allow: []string{"10.0.0.0/8"}}},
	} {
		got := berth.NormalizeEnvironment(berth.Environment{Network: c.in})
		if diff := cmp.Diff(c.want, got.Network); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if got.Labels == nil || got.Env == nil {
			t.Errorf("%s: labels %v and env %v are not made", name, got.Labels, got.Env)
		}
	}
}

func TestNormalizeEnvironmentDropsEmptyProviderObjects(t *testing.T) {
	t.Parallel()
	got := berth.NormalizeEnvironment(berth.Environment{
		Docker: &berth.DockerOptions{}, Daytona: &berth.DaytonaOptions{}, SSH: &berth.SSHOptions{},
		Exe: &berth.ExeOptions{}, Sprites: &berth.SpritesOptions{},
	})
	if got.Docker != nil || got.Daytona != nil || got.SSH != nil || got.Exe != nil || got.Sprites != nil {
		t.Errorf("NormalizeEnvironment = %+v, want no provider object", got)
	}
	kept := berth.NormalizeEnvironment(berth.Environment{Docker: &berth.DockerOptions{AutoPull: ptr(false)}})
	if kept.Docker == nil {
		t.Error("NormalizeEnvironment dropped docker.auto_pull = false")
	}
}

func TestLocalAloneIsReserved(t *testing.T) {
	t.Parallel()
	if err := berth.CheckReserved("local"); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("CheckReserved(local) = %v, want conflict", err)
	}
	for _, id := range []berth.EnvironmentID{"default", "local-2", "ci"} {
		if err := berth.CheckReserved(id); err != nil {
			t.Errorf("CheckReserved(%s) = %v", id, err)
		}
	}
}
