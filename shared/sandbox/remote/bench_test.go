//go:build linux

package remote_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// BenchmarkCommandTrue is a command's start, output and exit; what the agent
// costs is the difference between the two.
func BenchmarkCommandTrue(b *testing.B) {
	a := startLocal(b)
	for _, row := range []struct {
		name     string
		provider berth.Provider
	}{{"in process", a.provider}, {"agent", connect(b, a.config())}} {
		b.Run(row.name, func(b *testing.B) {
			p, s := row.provider, spec(b)
			if state, err := p.Provision(b.Context(), s); err != nil || state.Status != berth.SandboxReady {
				b.Fatal(state, err)
			}
			ref := berth.SandboxRef{ID: s.ID}
			for n := 0; b.Loop(); n++ {
				id := berth.CommandID(fmt.Sprint("c", n))
				if err := p.StartCommand(b.Context(), ref, berth.CommandSpec{ID: id, Argv: []string{"true"}}); err != nil {
					b.Fatal(err)
				}
				for offset := int64(0); ; {
					out, err := p.ReadOutput(b.Context(), ref, id, offset, 0, time.Minute)
					if err != nil {
						b.Fatal(err)
					}
					if offset = out.Next; out.Ended {
						break
					}
				}
			}
			if err := p.Destroy(b.Context(), ref); err != nil {
				b.Fatal(err)
			}
		})
	}
}
