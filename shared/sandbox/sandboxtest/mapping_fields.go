package sandboxtest

import "github.com/berth-dev/berth/shared/berth"

// fields let an environment set what a row is about, with what any provider would be
// given.
var fields = map[string]func(*berth.Environment){
	"image.docker": func(e *berth.Environment) { e.Image.Docker = new("debian:13") },
	"image.dockerfile": func(e *berth.Environment) {
		e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian:13\n"}
	},
	"resources.cpu":          func(e *berth.Environment) { e.Resources.CPU = new(2) },
	"resources.memory":       func(e *berth.Environment) { e.Resources.Memory = new(berth.Size("2GB")) },
	"resources.disk":         func(e *berth.Environment) { e.Resources.Disk = new(berth.Size("10GB")) },
	`network.mode = "block"`: func(e *berth.Environment) { e.Network = berth.Network{Mode: berth.NetworkBlock} },
	`network.mode = "allow_all"`: func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkAllowAll}
	},
	`network.mode = "cidr_allow_list"`: func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"10.0.0.0/8"}}
	},
	"labels":              func(e *berth.Environment) { e.Labels = map[string]string{"team": "x"} },
	"lifecycle.auto_stop": func(e *berth.Environment) { e.Lifecycle.AutoStop = new(berth.Duration("30m")) },
	"env":                 func(e *berth.Environment) { e.Env = map[string]string{"GREETING": "hello there"} },
	"cwd":                 func(e *berth.Environment) { e.CWD = new("/srv") },
	"docker":              func(e *berth.Environment) { e.Docker = &berth.DockerOptions{AutoPull: new(false)} },
	"daytona":             func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Snapshot: "s"} },
	"ssh":                 func(e *berth.Environment) { e.SSH = &berth.SSHOptions{Destination: "host"} },
	"exe":                 func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "i"} },
	"sprites":             func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: "o"} },
}
