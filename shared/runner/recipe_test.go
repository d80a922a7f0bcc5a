package runner

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestTheRecipeIsWhatIsBuiltIntoASandbox(t *testing.T) {
	image, other, cpu := "debian:12", "debian:13", 2
	base := berth.Environment{ID: "a", Provider: berth.ProviderDocker, Image: berth.Image{Docker: &image}}
	for _, row := range []struct {
		name   string
		change func(*berth.Environment)
		same   bool
	}{
		{"another id", func(e *berth.Environment) { e.ID = "b" }, true},
		{"variables", func(e *berth.Environment) { e.Env = map[string]string{"A": "b"} }, true},
		{"labels", func(e *berth.Environment) { e.Labels = map[string]string{"a": "b"} }, true},
		{"the lifecycle", func(e *berth.Environment) { e.Lifecycle.Preserve = true }, true},
		{"the pool's size", func(e *berth.Environment) { e.Docker = &berth.DockerOptions{PoolSize: 3} }, true},
		{"an omitted network mode", func(e *berth.Environment) { e.Network.Mode = berth.NetworkAllowAll }, true},
		{"labels that choose hosts", func(e *berth.Environment) { e.Labels = map[string]string{"host.zone": "b"} }, false},
		{"the image", func(e *berth.Environment) { e.Image.Docker = &other }, false},
		{"the limits", func(e *berth.Environment) { e.Resources.CPU = &cpu }, false},
		{"the network", func(e *berth.Environment) { e.Network.Mode = berth.NetworkBlock }, false},
		{"the mounts", func(e *berth.Environment) { e.Docker = &berth.DockerOptions{ExtraMounts: []string{"/a:/b"}} }, false},
		{"the engine's network", func(e *berth.Environment) { e.Docker = &berth.DockerOptions{NetworkMode: "mine"} }, false},
	} {
		e := base
		row.change(&e)
		if got := recipe(e) == recipe(base); got != row.same {
			t.Errorf("%s: same recipe = %t, want %t", row.name, got, row.same)
		}
	}
}
