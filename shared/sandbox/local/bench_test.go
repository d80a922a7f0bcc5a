//go:build linux

package local_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func BenchmarkCommandTrue(b *testing.B) {
	p := open(b, local.Config{Root: filepath.Join(b.TempDir(), "s"), GuestPath: sandboxtest.BuildGuest(b)})
	defer p.Close()
	s := spec(b)
	ctx := context.Background()
	if state, err := p.Provision(ctx, s); err != nil || state.Status != berth.SandboxReady {
		b.Fatal(state, err)
	}
	ref := berth.SandboxRef{ID: s.ID}
	defer p.Destroy(ctx, ref)
	n := 0
	for b.Loop() {
		n++
		id := berth.CommandID(fmt.Sprint("c", n))
		if err := p.StartCommand(ctx, ref, berth.CommandSpec{ID: id, Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
		for offset := int64(0); ; {
			out, err := p.ReadOutput(ctx, ref, id, offset, 0, time.Minute)
			if err != nil {
				b.Fatal(err)
			}
			if offset = out.Next; out.Ended {
				break
			}
		}
	}
}

func BenchmarkSandbox(b *testing.B) {
	p := open(b, local.Config{Root: filepath.Join(b.TempDir(), "s"), GuestPath: sandboxtest.BuildGuest(b)})
	defer p.Close()
	ctx := context.Background()
	dir := b.TempDir()
	var provision, destroy time.Duration
	for b.Loop() {
		s := spec(b)
		s.Directory = dir
		began := time.Now()
		if state, err := p.Provision(ctx, s); err != nil || state.Status != berth.SandboxReady {
			b.Fatal(state, err)
		}
		ready := time.Now()
		if err := p.Destroy(ctx, berth.SandboxRef{ID: s.ID}); err != nil {
			b.Fatal(err)
		}
		provision += ready.Sub(began)
		destroy += time.Since(ready)
	}
	b.ReportMetric(float64(provision.Microseconds())/float64(b.N), "µs/provision")
	b.ReportMetric(float64(destroy.Microseconds())/float64(b.N), "µs/destroy")
}
