package berth

import "testing"

func TestTheRecipeIsWhatIsBuiltIntoASandbox(t *testing.T) {
	image, other, cpu := "debian:12", "debian:13", 2
	base := Environment{ID: "a", Provider: ProviderDocker, Image: Image{Docker: &image}}
	for _, row := range []struct {
		name   string
		change func(*Environment)
		same   bool
	}{
		{"another id", func(e *Environment) { e.ID = "b" }, true},
		{"variables", func(e *Environment) { e.Env = map[string]string{"A": "b"} }, true},
		{"labels", func(e *Environment) { e.Labels = map[string]string{"a": "b"} }, true},
		{"the lifecycle", func(e *Environment) { e.Lifecycle.Preserve = true }, true},
		{"the pool's size", func(e *Environment) { e.Docker = &DockerOptions{PoolSize: 3} }, true},
		{"an omitted network mode", func(e *Environment) { e.Network.Mode = NetworkAllowAll }, true},
		{"the image", func(e *Environment) { e.Image.Docker = &other }, false},
		{"the limits", func(e *Environment) { e.Resources.CPU = &cpu }, false},
		{"the network", func(e *Environment) { e.Network.Mode = NetworkBlock }, false},
		{"the mounts", func(e *Environment) { e.Docker = &DockerOptions{ExtraMounts: []string{"/a:/b"}} }, false},
		{"the engine's network", func(e *Environment) { e.Docker = &DockerOptions{NetworkMode: "mine"} }, false},
	} {
		e := base
		row.change(&e)
		if got := Recipe(e) == Recipe(base); got != row.same {
			t.Errorf("%s: same recipe = %t, want %t", row.name, got, row.same)
		}
	}
}
