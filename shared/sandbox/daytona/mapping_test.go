//go:build linux

package daytona_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// created are the bodies of what was asked of the service to create.
type created struct{ sandbox, snapshot map[string]any }

func createdAt(s *daytonatest.Server) (c created) {
	for _, r := range s.Requests() {
		switch {
		case r.Method != http.MethodPost:
		case r.Path == "/api/sandbox":
			_ = json.Unmarshal([]byte(r.Body), &c.sandbox) // without it nothing is seen
		case r.Path == "/api/snapshots":
			_ = json.Unmarshal([]byte(r.Body), &c.snapshot)
		}
	}
	return c
}

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

// daytonaFields are those that mean more to Daytona than to others.
var daytonaFields = map[string]func(*berth.Environment){
	"image.dockerfile": dockerfile,
	"image.dockerfile, that copies a local file": func(e *berth.Environment) {
		e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian:13\nCOPY a /a\n"}
	},
	"resources.cpu":    func(e *berth.Environment) { dockerfile(e); e.Resources.CPU = new(3) },
	"resources.memory": func(e *berth.Environment) { dockerfile(e); e.Resources.Memory = new(berth.Size("3500MB")) },
	"resources.disk":   func(e *berth.Environment) { dockerfile(e); e.Resources.Disk = new(berth.Size("9GiB")) },

	"resources.cpu, without image.dockerfile":    func(e *berth.Environment) { e.Resources.CPU = new(2) },
	"resources.memory, without image.dockerfile": func(e *berth.Environment) { e.Resources.Memory = new(berth.Size("2GB")) },
	"resources.disk, without image.dockerfile":   func(e *berth.Environment) { e.Resources.Disk = new(berth.Size("2GB")) },

	`network.mode = "cidr_allow_list"`: func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"192.168.1.7/16", "10.0.0.0/24"}}
	},
	"network.allow, more than 10 networks": func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: networks(11)}
	},
	"network.allow, with an IPv6 network": func(e *berth.Environment) {
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"fd00::/8"}}
	},
	"labels": func(e *berth.Environment) {
		e.Labels = map[string]string{"team": "x", "dev.berth.installation": "forged", "dev.berth.workspace": "/forged"}
	},
	"lifecycle.auto_stop": func(e *berth.Environment) { e.Lifecycle.AutoStop = new(berth.Duration("90s")) },
	"daytona": func(e *berth.Environment) {
		e.Daytona = &berth.DaytonaOptions{Snapshot: "daytona-small", Target: "eu"}
	},
	"daytona.snapshot": func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Snapshot: "daytona-large"} },
	"daytona.target":   func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Target: "us"} },
}

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	var servers sync.Map // by the provider
	at := func(m sandboxtest.Mapped) created {
		s, _ := servers.Load(m.Provider)
		return createdAt(s.(*daytonatest.Server))
	}
	// compared looks at some fields of what was created: nil is one that was not sent.
	compared := func(of func(created) map[string]any, want map[string]any) sandboxtest.Look {
		return func(_ *testing.T, m sandboxtest.Mapped) (got, _ any) {
			sent, seen := of(at(m)), map[string]any{}
			for name := range want {
				seen[name] = sent[name]
			}
			return seen, want
		}
	}
	sandbox := func(want map[string]any) sandboxtest.Look {
		return compared(func(c created) map[string]any { return c.sandbox }, want)
	}
	sized := func(name string, want float64) sandboxtest.Look {
		return func(_ *testing.T, m sandboxtest.Mapped) (got, _ any) {
			c := at(m)
			return []any{c.snapshot[name], c.sandbox[name], c.sandbox["snapshot"]}, []any{want, nil, c.snapshot["name"]}
		}
	}
	sandboxtest.RunMapping(t, sandboxtest.Mapping{
		Kind: berth.ProviderDaytona, Fields: daytonaFields,
		Said: map[string]string{"image.dockerfile, that copies a local file": "local file"}, // and in which line
		Seen: map[string]sandboxtest.Look{
			"image.dockerfile": func(_ *testing.T, m sandboxtest.Mapped) (got, want any) {
				c := at(m)
				return []any{c.snapshot["buildInfo"], c.sandbox["snapshot"]}, []any{map[string]any{"dockerfileContent": "FROM debian:13\n"}, c.snapshot["name"]}
			},
			"resources.cpu": sized("cpu", 3), "resources.memory": sized("memory", 4), "resources.disk": sized("disk", 9),
			`network.mode = "allow_all"`:       sandbox(map[string]any{"networkBlockAll": nil, "networkAllowList": nil}),
			`network.mode = "block"`:           sandbox(map[string]any{"networkBlockAll": true, "networkAllowList": nil}),
			`network.mode = "cidr_allow_list"`: sandbox(map[string]any{"networkBlockAll": nil, "networkAllowList": "192.168.0.0/16,10.0.0.0/24"}),
			"labels": func(_ *testing.T, m sandboxtest.Mapped) (got, want any) {
				return at(m).sandbox["labels"], map[string]any{
					"team": "x", "dev.berth.installation": installation, "dev.berth.run": string(run), "dev.berth.sandbox": string(m.Spec.ID),
					"dev.berth.ephemeral": "true",
				}
			},
			"lifecycle.auto_stop": sandbox(map[string]any{"autoStopInterval": 2.0}),
			"env": func(t *testing.T, m sandboxtest.Mapped) (got, want any) {
				return []any{m.Output(t, `printf %s "$GREETING"`), at(m).sandbox["env"]}, []any{"hello there", nil}
			},
			"daytona":          sandbox(map[string]any{"snapshot": "daytona-small", "target": "eu"}),
			"daytona.snapshot": sandbox(map[string]any{"snapshot": "daytona-large", "target": nil}),
			"daytona.target":   sandbox(map[string]any{"snapshot": "daytona-medium", "target": "us"}),
		},
		Open: func(t *testing.T, effect berth.Effect) sandboxtest.MappingRig {
			t.Parallel()
			if effect != berth.EffectError {
				needGuest(t)
			}
			s := daytonatest.New(t, daytonatest.Config{})
			p := open(t, config(t, s))
			servers.Store(p, s)
			return sandboxtest.MappingRig{
				Provider: p, Spec: spec, Calls: func() int { return len(s.Requests()) },
				Gone: func(t *testing.T, _ berth.SandboxID) {
					if effect == berth.EffectWarning { // ignored: nothing but what is always sent
						c := createdAt(s)
						got := []any{c.snapshot == nil, c.sandbox["snapshot"], c.sandbox["cpu"], c.sandbox["memory"], c.sandbox["disk"]}
						if want := []any{true, "daytona-medium", nil, nil, nil}; fmt.Sprint(got) != fmt.Sprint(want) {
							t.Errorf("created %v from %v", c.sandbox, c.snapshot)
						}
					}
					if left := s.Sandboxes(); len(left) > 0 {
						t.Errorf("left: %+v", left)
					}
				},
			}
		},
	})
}
