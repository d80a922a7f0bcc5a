//go:build linux

package ssh_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/shell"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

// BenchmarkCommandTrue is a command's start, output and exit on an SSH host. Its
// anchor is OpenSSH's client over a connection that is kept, as people use it.
func BenchmarkCommandTrue(b *testing.B) {
	server := sshdtest.Start(b)
	client, err := shell.NewProgram(shell.ProgramConfig{Destination: sshdtest.Alias, ConfigFile: server.ClientConfig})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	b.Run("ssh over a kept connection", func(b *testing.B) {
		for b.Loop() {
			if _, err := client.Run(b.Context(), "true", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("provider", func(b *testing.B) {
		p := ssh.New(ssh.Config{Installation: "bench", Connect: transports["program"](server), Guest: guestFile(b)})
		defer p.Close()
		spec := berth.SandboxSpec{ID: sandboxtest.NewID(), Environment: berth.Environment{Provider: berth.ProviderSSH, SSH: &berth.SSHOptions{
			Destination: sshdtest.Alias, ConfigFile: server.ClientConfig, WorkingDirectory: filepath.Join(b.TempDir(), "work"),
		}}}
		state, err := p.Provision(b.Context(), spec)
		if err != nil || state.Status != berth.SandboxReady {
			b.Fatal(state, err)
		}
		n := 0
		for b.Loop() {
			n++
			id := berth.CommandID(fmt.Sprint("c", n))
			if err := p.StartCommand(b.Context(), refOf(state), berth.CommandSpec{ID: id, Argv: []string{"true"}}); err != nil {
				b.Fatal(err)
			}
			for offset := int64(0); ; {
				out, err := p.ReadOutput(b.Context(), refOf(state), id, offset, 0, time.Minute)
				if err != nil {
					b.Fatal(err)
				}
				if offset = out.Next; out.Ended {
					break
				}
			}
		}
		if err := p.Destroy(b.Context(), refOf(state)); err != nil {
			b.Fatal(err)
		}
	})
}
