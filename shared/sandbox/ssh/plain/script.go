package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

// Detail marks the states of sandboxes of this kind.
const Detail = "without a guest: plain commands"

// Sandboxes are sandboxes of plain commands. They keep nothing.
type Sandboxes struct {
	Installation berth.InstallationID
	// Shell is the connection to a sandbox's host.
	Shell func(ctx context.Context, ref berth.SandboxRef) (relay.Shell, error)
}

// prelude is what every script begins with. R is the sandbox's folder; what a
// script says comes on one line, before raw bytes.
const prelude = `umask 077
say() { printf 'berth-plain %%s\n' "$*"; }
R="$HOME/.berth/%s/%s"
`

// exists ends a script whose sandbox is not there.
const exists = `[ -d "$R" ] || { say gone; exit 0; }
`

const marker = "berth-plain "

// run runs a script, with data behind it as its standard input, and returns what
// it said and the raw bytes behind that. Error: not_found when there is no sandbox.
func (s Sandboxes) run(ctx context.Context, ref berth.SandboxRef, script string, data io.Reader) (said []string, rest []byte, err error) {
	sh, err := s.Shell(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	// bash reads a script from a pipe no further than the line that it is at, and runs
	// a group when it has read its end: of a script that is cut nothing is run.
	text := "{\n" + fmt.Sprintf(prelude, s.Installation, ref.ID) + script + "\nexit 0\n}\n"
	in := io.Reader(strings.NewReader(text))
	if data != nil {
		in = io.MultiReader(strings.NewReader(text), data)
	}
	out, err := sh.Run(ctx, "exec bash -s", in)
	var status *relay.StatusError
	if errors.As(err, &status) {
		return nil, nil, &berth.Error{Code: berth.CodeUnavailable, Message: "a command on the host failed", Cause: err}
	}
	if err != nil {
		return nil, nil, err
	}
	i := bytes.Index(out, []byte(marker))
	if i < 0 {
		return nil, nil, berth.Errorf(berth.CodeUnavailable, "the host's bash did not answer")
	}
	line, rest, _ := bytes.Cut(out[i+len(marker):], []byte("\n"))
	if said = strings.Fields(string(line)); len(said) == 0 {
		return nil, nil, berth.Errorf(berth.CodeUnavailable, "the host's bash did not answer")
	}
	if said[0] == "gone" {
		return nil, nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	return said, rest, nil
}

// octal writes bytes as a format of printf.
func octal(b []byte) string {
	var text strings.Builder
	for _, c := range b {
		fmt.Fprintf(&text, `\%03o`, c)
	}
	return text.String()
}

func quote(word string) string { return berth.ShellQuote(word) }

func unsupported(what string) error {
	return &berth.Error{
		Code: berth.CodeUnsupported, Message: what + " needs the guest, which does not run on this host",
		Remediation: "Use a host with Linux on amd64 or arm64 whose user may run programs from the home or /var/tmp.",
	}
}
