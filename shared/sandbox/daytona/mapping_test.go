//go:build linux

package daytona_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

// seen is what a test of a cell looks at: the bodies of what was created, and
// what a command said.
type seen struct {
	sandbox, snapshot map[string]any
	env               string
}

// cell is how a row of the mapping is tested. Rows whose effect is a warning or an
// error need no check: those are seen alike for all.
type cell struct {
	set   func(*berth.Environment)
	check func(seen) bool
}

func number(n int) *int { return &n }

func size(s string) *berth.Size { v := berth.Size(s); return &v }

func text(s string) *string { return &s }

func dockerfile(e *berth.Environment) {
	e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian:13\n"}
}

func networks(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return all
}

// cells are by the title of the row.
var cells = map[string]cell{
	"`image.docker`": {set: func(e *berth.Environment) { e.Image.Docker = text("debian:13") }},
	"`image.dockerfile`": {dockerfile, func(s seen) bool {
		info, _ := s.snapshot["buildInfo"].(map[string]any)
		return info["dockerfileContent"] == "FROM debian:13\n" && s.sandbox["snapshot"] == s.snapshot["name"]
	}},
	"`image.dockerfile`, that copies a local file": {set: func(e *berth.Environment) {
		e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian:13\nCOPY a /a\n"}
	}},
	"`resources.cpu`": {
		func(e *berth.Environment) { dockerfile(e); e.Resources.CPU = number(3) },
		func(s seen) bool { return s.snapshot["cpu"] == 3.0 && s.sandbox["cpu"] == nil },
	},
	"`resources.memory`": {
		func(e *berth.Environment) { dockerfile(e); e.Resources.Memory = size("3500MB") },
		func(s seen) bool { return s.snapshot["memory"] == 4.0 && s.sandbox["memory"] == nil },
	},
	"`resources.disk`": {
		func(e *berth.Environment) { dockerfile(e); e.Resources.Disk = size("9GiB") },
		func(s seen) bool { return s.snapshot["disk"] == 9.0 && s.sandbox["disk"] == nil },
	},
	"`resources.cpu`, without image.dockerfile":    {set: func(e *berth.Environment) { e.Resources.CPU = number(2) }},
	"`resources.memory`, without image.dockerfile": {set: func(e *berth.Environment) { e.Resources.Memory = size("2GB") }},
	"`resources.disk`, without image.dockerfile":   {set: func(e *berth.Environment) { e.Resources.Disk = size("2GB") }},
	"`network.mode = \"allow_all\"`": {
		func(e *berth.Environment) { e.Network.Mode = berth.NetworkAllowAll },
		func(s seen) bool { return s.sandbox["networkBlockAll"] == nil && s.sandbox["networkAllowList"] == nil },
	},
	"`network.mode = \"block\"`": {
		func(e *berth.Environment) { e.Network.Mode = berth.NetworkBlock },
		func(s seen) bool { return s.sandbox["networkBlockAll"] == true && s.sandbox["networkAllowList"] == nil },
	},
	"`network.mode = \"cidr_allow_list\"`": {
		func(e *berth.Environment) {
			e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"192.168.1.7/16", "10.0.0.0/24"}}
		},
		func(s seen) bool {
			return s.sandbox["networkBlockAll"] == nil && s.sandbox["networkAllowList"] == "192.168.0.0/16,10.0.0.0/24"
		},
	},
	"`network.allow`, more than 10 networks": {set: func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: networks(11)}
	}},
	"`network.allow`, with an IPv6 network": {set: func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"fd00::/8"}}
	}},
	"`labels`": {
		func(e *berth.Environment) {
			e.Labels = map[string]string{"team": "x", "dev.berth.installation": "forged", "dev.berth.workspace": "/forged"}
		},
		func(s seen) bool {
			labels, _ := s.sandbox["labels"].(map[string]any)
			return labels["team"] == "x" && labels["dev.berth.installation"] == installation && labels["dev.berth.run"] == string(run) &&
				labels["dev.berth.sandbox"] != nil && labels["dev.berth.workspace"] == nil
		},
	},
	"`lifecycle.auto_stop`": {
		func(e *berth.Environment) { d := berth.Duration("90s"); e.Lifecycle.AutoStop = &d },
		func(s seen) bool { return s.sandbox["autoStopInterval"] == 2.0 },
	},
	"`env`": {
		func(e *berth.Environment) { e.Env = map[string]string{"GREETING": "hello there"} },
		func(s seen) bool { return s.env == "hello there" && s.sandbox["env"] == nil },
	},
	"`cwd`":     {set: func(e *berth.Environment) { e.CWD = text("/srv") }},
	"`docker`":  {set: func(e *berth.Environment) { e.Docker = &berth.DockerOptions{PoolSize: 1} }},
	"`ssh`":     {set: func(e *berth.Environment) { e.SSH = &berth.SSHOptions{Destination: "host"} }},
	"`exe`":     {set: func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "debian:13"} }},
	"`sprites`": {set: func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Name: "mine"} }},
	"`daytona`": {
		func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Snapshot: "daytona-small", Target: "eu"} },
		func(s seen) bool { return s.sandbox["snapshot"] == "daytona-small" && s.sandbox["target"] == "eu" },
	},
	"`daytona.snapshot`": {
		func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Snapshot: "daytona-large"} },
		func(s seen) bool { return s.sandbox["snapshot"] == "daytona-large" && s.sandbox["target"] == nil },
	},
	"`daytona.target`": {
		func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Target: "us"} },
		func(s seen) bool { return s.sandbox["target"] == "us" && s.sandbox["snapshot"] == "daytona-medium" },
	},
}

func TestEveryCellOfTheMappingIsSeen(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, row := range berth.Mapping() {
		effect := row.Cells[berth.ProviderDaytona]
		if effect.Effect == "" {
			continue
		}
		titles[row.Title()] = true
		c, ok := cells[row.Title()]
		if !ok {
			t.Errorf("%s has no test", row.Title())
			continue
		}
		t.Run(strings.Trim(row.Title(), "`"), func(t *testing.T) {
			t.Parallel()
			testCell(t, row, effect, c)
		})
	}
	for title := range cells {
		if !titles[title] {
			t.Errorf("%s is no row of the mapping", title)
		}
	}
}

func testCell(t *testing.T, row berth.MappingRow, want berth.Cell, c cell) {
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	spec := spec(t)
	c.set(&spec.Environment)
	warnings, errors := berth.CheckMapping(spec.Environment)
	told := berth.Problem{Location: row.Field, Message: want.Text}
	if slices.Contains(warnings, told) != (want.Effect == berth.EffectWarning) || slices.Contains(errors, told) != (want.Effect == berth.EffectError) {
		t.Errorf("warnings %v, errors %v; want %s: %s", warnings, errors, want.Effect, want.Text)
	}
	if want.Effect == berth.EffectError {
		_, err := p.Provision(t.Context(), spec)
		said, _, _ := strings.Cut(want.Text, ",") // of a Dockerfile more is said: the line
		if berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), strings.TrimPrefix(said, "copies a ")) {
			t.Errorf("Provision: %v, want unsupported: %s", err, want.Text)
		}
		if n := len(s.Requests()); n > 0 {
			t.Errorf("%d requests were made before it was refused", n)
		}
		return
	}
	state := ready(t, p, spec)
	var got seen
	for _, r := range s.Requests() {
		switch {
		case r.Method != http.MethodPost:
		case r.Path == "/api/sandbox":
			_ = json.Unmarshal([]byte(r.Body), &got.sandbox)
		case r.Path == "/api/snapshots":
			_ = json.Unmarshal([]byte(r.Body), &got.snapshot)
		}
	}
	command := berth.CommandSpec{ID: "env", Script: `printf %s "$GREETING"`, Env: spec.Environment.Env}
	got.env = runCommand(t, p, ref(state), command).stdout
	if want.Effect == berth.EffectWarning { // ignored: nothing but what is always sent
		if got.snapshot != nil || got.sandbox["snapshot"] != "daytona-medium" || got.sandbox["cpu"] != nil || got.sandbox["memory"] != nil {
			t.Errorf("created %v from %v", got.sandbox, got.snapshot)
		}
		return
	}
	if !c.check(got) {
		t.Errorf("created %v from %v, env %q", got.sandbox, got.snapshot, got.env)
	}
}
