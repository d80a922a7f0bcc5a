package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/shell"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

type closer interface {
	relay.Shell
	io.Closer
}

// kinds are the two clients, for one server.
var kinds = map[string]func(t *testing.T, s *sshdtest.Server, knownHosts []byte) closer{
	"program": func(t *testing.T, s *sshdtest.Server, knownHosts []byte) closer {
		config := s.ClientConfig
		if knownHosts != nil {
			known := filepath.Join(t.TempDir(), "known_hosts")
			if err := os.WriteFile(known, knownHosts, 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			config = filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(config, append([]byte("UserKnownHostsFile "+known+"\n"), text...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := shell.NewProgram(shell.ProgramConfig{Destination: sshdtest.Alias, ConfigFile: config})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	},
	"native": func(t *testing.T, s *sshdtest.Server, knownHosts []byte) closer {
		if knownHosts == nil {
			knownHosts = s.KnownHosts
		}
		n, err := shell.NewNative(shell.NativeConfig{Destination: s.Destination(), Key: berth.NewSecretValue(s.Key), KnownHosts: knownHosts})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		return n
	},
}

func each(t *testing.T, test func(t *testing.T, open func(t *testing.T, s *sshdtest.Server, knownHosts []byte) closer)) {
	t.Parallel()
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestLinesAreRunAndStreamsOpened(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, *sshdtest.Server, []byte) closer) {
		server := sshdtest.Start(t)
		sh := open(t, server, nil)
		every := make([]byte, 1<<20)
		for i := range every {
			every[i] = byte(i * 7)
		}
		out, err := sh.Run(limited(t), "cat", bytes.NewReader(every))
		if err != nil || !bytes.Equal(out, every) {
			t.Errorf("cat gave %d bytes, %v", len(out), err)
		}
		out, err = sh.Run(limited(t), "echo out; echo oops >&2; exit 7", nil)
		var status *relay.StatusError
		if !errors.As(err, &status) || status.Status != 7 || status.Stderr != "oops\n" || string(out) != "out\n" {
			t.Errorf("a line that fails: %q, %v", out, err)
		}
		if out, err = sh.Run(limited(t), `echo "$HOME"`, nil); string(out) != server.Home+"\n" {
			t.Errorf("HOME is %q, %v", out, err)
		}
		stream, err := sh.Open(limited(t), "while read -r line; do echo got $line; done")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, err := fmt.Fprintln(stream, i); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len("got 0\n"))
			if _, err := io.ReadFull(stream, got); err != nil || string(got) != fmt.Sprintf("got %d\n", i) {
				t.Errorf("the stream gave %q, %v", got, err)
			}
		}
		if err := stream.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := server.Connections(); n != 1 {
			t.Errorf("%d connections were made, want 1", n)
		}
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := sh.Run(short, "sleep 600", nil); berth.CodeOf(err) != berth.CodeTimedOut {
			t.Errorf("a line that is too slow: %v", err)
		}
		sh.Close()
		server.WaitIdle(t)
	})
}

func TestManyLinesAtOnceTakeFurtherConnections(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, *sshdtest.Server, []byte) closer) {
		server := sshdtest.Start(t, "MaxSessions 3")
		sh := open(t, server, nil)
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				out, err := sh.Run(limited(t), fmt.Sprintf("sleep 0.5; echo %d", i), nil)
				if err != nil || string(out) != fmt.Sprintln(i) {
					t.Errorf("line %d gave %q, %v", i, out, err)
				}
			})
		}
		calls.Wait()
	})
}

func TestAConnectionThatIsCutIsMadeAnew(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, *sshdtest.Server, []byte) closer) {
		server := sshdtest.Start(t)
		sh := open(t, server, nil)
		stream, err := sh.Open(limited(t), "cat")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(stream, "x")
		if _, err := io.ReadFull(stream, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		server.Cut()
		if _, err := io.ReadAll(stream); err != nil && !errors.Is(err, io.EOF) {
			t.Logf("the stream ended with %v", err)
		}
		stream.Close()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			out, err := sh.Run(limited(t), "echo back", nil)
			if err == nil && string(out) == "back\n" {
				return
			}
			if code := berth.CodeOf(err); code != berth.CodeUnavailable || time.Now().After(deadline) {
				t.Fatalf("after the cut: %q, %v", out, err)
			}
		}
	})
}

func TestWhatIsWrongWithAHostIsTold(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, *sshdtest.Server, []byte) closer) {
		server := sshdtest.Start(t)
		changed := append([]byte("[127.0.0.1]:"+server.Port+" "), sshdtest.NewHostKey(t)...)
		revoked := append([]byte("@revoked "), server.KnownHosts...)
		for name, tt := range map[string]struct {
			known []byte
			code  berth.Code
			words string
		}{
			"a changed host key": {changed, berth.CodeForbidden, "has changed"},
			"a revoked host key": {append(revoked, changed...), berth.CodeForbidden, "host key of"},
		} {
			_, err := open(t, server, tt.known).Run(limited(t), "echo x", nil)
			if berth.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%s: %v", name, err)
			}
		}
		locked := sshdtest.Start(t, "AuthorizedKeysFile /dev/null")
		if _, err := open(t, locked, nil).Run(limited(t), "echo x", nil); berth.CodeOf(err) != berth.CodeForbidden || !strings.Contains(err.Error(), "none of the server's keys") {
			t.Errorf("a key that is not accepted: %v", err)
		}
		refusing := sshdtest.Start(t)
		refusing.Refuse(true)
		if _, err := open(t, refusing, nil).Run(limited(t), "echo x", nil); berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("a host that hangs up: %v", err)
		}
	})
}

// TestATemporaryFolderOfAnyNameDoes changes the environment: it is alone.
func TestATemporaryFolderOfAnyNameDoes(t *testing.T) {
	server := sshdtest.Start(t)
	for _, name := range []string{"with space", "100%done", `q"uote`, "${HOME}", "hash #x", strings.Repeat("long/", 30)} {
		tmp := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(tmp, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", tmp)
		p, err := shell.NewProgram(shell.ProgramConfig{Destination: sshdtest.Alias, ConfigFile: server.ClientConfig})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := p.Run(limited(t), "echo x", nil); string(out) != "x\n" {
			t.Errorf("in %q a line gave %q, %v", name, out, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
