//go:build linux

package ssh_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

// answering is a connection whose lines all end in one way.
type answering struct {
	err    error
	ran    []string
	closed int
}

func (a *answering) Run(_ context.Context, line string, _ io.Reader) ([]byte, error) {
	a.ran = append(a.ran, line)
	return nil, a.err
}

func (a *answering) Open(context.Context, string) (io.ReadWriteCloser, error) {
	return nil, errors.New("nothing is to be opened")
}

func (a *answering) Close() error {
	a.closed++
	return nil
}

func TestAHostIsAskedWhetherItAnswers(t *testing.T) {
	t.Parallel()
	key := &berth.Error{Code: berth.CodeForbidden, Message: "the host key of box is not known"}
	for name, tt := range map[string]struct {
		destination string
		err         error
		asked       bool
		code        berth.Code
		words       string
	}{
		"one that answers":           {"box", nil, true, "", "the host box answers"},
		"one whose key is not known": {"box", key, false, berth.CodeForbidden, "is not known"},
		"one that runs nothing":      {"box", &relay.StatusError{Status: 1, Stderr: "no account"}, false, berth.CodeUnavailable, "no account"},
		"one that is silent":         {"box", berth.Errorf(berth.CodeTimedOut, "silence"), false, berth.CodeTimedOut, "the host box did not answer in time"},
		"nobody":                     {"", nil, false, berth.CodeInvalid, "ssh.destination"},
		"a name that nobody has":     {"doctor.invalid", errors.New("it was asked"), false, "", "no host was asked"},
	} {
		sh := &answering{err: tt.err}
		p := ssh.New(ssh.Config{Connect: func(context.Context, string, string) (ssh.Shell, error) { return sh, nil }})
		said, asked, err := p.Ask(t.Context(), berth.Environment{SSH: &berth.SSHOptions{Destination: tt.destination}})
		if err != nil {
			said = err.Error()
		}
		if berth.CodeOf(err) != tt.code || asked != tt.asked || !strings.Contains(said, tt.words) && !strings.Contains(fieldOf(err), tt.words) {
			t.Errorf("%s: Ask = %q, %v, %v", name, said, asked, err)
		}
		if len(sh.ran) != sh.closed {
			t.Errorf("%s: %d lines were run, and %d connections closed", name, len(sh.ran), sh.closed)
		}
	}
}

func fieldOf(err error) string {
	var e *berth.Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}

func TestWhatKeepsAHostFromAnsweringIsToldInTime(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r := newRig(t, transport)
		good := *r.spec(t).Environment.SSH
		if said, asked, err := r.present.Ask(t.Context(), berth.Environment{SSH: &good}); err != nil || !asked || !strings.Contains(said, "answers") {
			t.Errorf("a host that is well: %q, %v, %v", said, asked, err)
		}
		if _, err := os.Stat(filepath.Join(r.server.Home, ".berth")); !os.IsNotExist(err) {
			t.Errorf("something was made on the host: %v", err)
		}
		lost := good
		lost.Destination = "u@" + strings.TrimSuffix(sshdtest.NoHost, ".invalid")
		if _, _, err := r.present.Ask(t.Context(), berth.Environment{SSH: &lost}); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "does not resolve") {
			t.Errorf("a name that does not resolve: %v", err)
		}
		r.server.Refuse(true)
		if _, _, err := r.present.Ask(t.Context(), berth.Environment{SSH: &good}); berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("a host that hangs up: %v", err)
		}
	})
}

func TestAHostThatSaysNothingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	r := newRig(t, "program")
	text, err := os.ReadFile(r.server.ClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(silent.Addr().String())
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "Port "+r.server.Port, "Port "+port, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begun := time.Now()
	_, _, err = r.present.Ask(ctx, berth.Environment{SSH: &berth.SSHOptions{Destination: sshdtest.Alias, ConfigFile: file}})
	if took := time.Since(begun); berth.CodeOf(err) != berth.CodeTimedOut || took > 12*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}
