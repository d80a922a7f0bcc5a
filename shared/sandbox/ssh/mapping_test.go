//go:build linux

package ssh_test

import (
	"os"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	// What a host cannot do without is in every environment of this test.
	given := func(*berth.Environment) {}
	sandboxtest.RunMapping(t, sandboxtest.Mapping{
		Kind: berth.ProviderSSH,
		Fields: map[string]func(*berth.Environment){
			"ssh": given, "ssh.destination": given, "ssh.working_directory": given, "ssh.config_file": given,
			"ssh.preview_url_base": func(e *berth.Environment) { e.SSH.PreviewURLBase = "http://devbox" },
		},
		Seen: map[string]sandboxtest.Look{
			`network.mode = "allow_all"`: nil,
			"ssh":                        nil, // its fields are
			"ssh.destination": func(_ *testing.T, m sandboxtest.Mapped) (got, want any) {
				_, err := os.Stat(r.folder(m.Spec.ID))
				return err, nil
			},
			"ssh.working_directory": func(t *testing.T, m sandboxtest.Mapped) (got, want any) {
				return m.Output(t, "pwd"), m.Spec.Environment.SSH.WorkingDirectory + "\n"
			},
			"ssh.config_file": func(_ *testing.T, m sandboxtest.Mapped) (got, want any) {
				// Its alias is what was reached, and a person is told to use it too.
				told := "ssh -t -F " + m.Spec.Environment.SSH.ConfigFile + " box"
				return strings.HasPrefix(m.State.Hint, told+" "), true
			},
			"ssh.preview_url_base": func(t *testing.T, m sandboxtest.Mapped) (got, want any) {
				url, err := r.present.Preview(t.Context(), refOf(m.State), 3000, 0)
				if err != nil {
					t.Error(err)
				}
				return url, "http://devbox:3000"
			},
		},
		Open: func(*testing.T, berth.Effect) sandboxtest.MappingRig {
			return sandboxtest.MappingRig{Provider: r.present, Spec: r.spec, Calls: r.server.Connections}
		},
	})
}
