//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

func TestAPersonHasAShellOnATerminalInASandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "TERM=xterm")
	shellOnATerminal(t, m, m.live())
}

// shellOnATerminal is what holds of berth sandbox ssh wherever the shell is.
func shellOnATerminal(t *testing.T, m *machine, id string) {
	s := m.session("sandbox", "ssh", id)
	before := modes(t, s.user)
	s.types("PS1='ready> '; echo sum=$((40+2)) on $TERM\n")
	s.sees("sum=42 on xterm")
	onDescriptor(t, s.user, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 31, Col: 97})
	})
	// The size travels by itself, a moment later.
	s.types("until [ \"$(stty size)\" = '31 97' ]; do sleep 0.05; done; echo size-$((30+1))\n")
	s.sees("size-31")
	s.types("echo up-$((1+1)); sleep 600\n")
	s.sees("up-2")
	s.shown = ""
	// The key may come before the job is in front; what is typed with it is thrown away.
	for end := time.Now().Add(endWait); !s.showsWithin("ready> ", time.Second); {
		if time.Now().After(end) {
			t.Fatalf("Ctrl-C does not end the job; the terminal shows:\n%s", s.shown)
		}
		s.types("\x03")
	}
	s.types("echo back-$((2+2))\n")
	s.sees("back-4")
	s.types("exit 37\n")
	s.endsWith(37)
	if after := modes(t, s.user); after != before {
		t.Errorf("the terminal's modes are %x, and were %x", after, before)
	}
}

// showsWithin reports whether the terminal shows a text in time.
func (s *session) showsWithin(text string, limit time.Duration) bool {
	s.t.Helper()
	if err := s.user.SetReadDeadline(time.Now().Add(limit)); err != nil {
		s.t.Fatal(err)
	}
	buf := make([]byte, 4<<10)
	for !strings.Contains(s.shown, text) {
		n, err := s.user.Read(buf)
		s.shown += string(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			s.t.Fatalf("reading the terminal: %v; it shows:\n%s", err, s.shown)
		}
	}
	return strings.Contains(s.shown, text)
}

// modes are a terminal's settings.
func modes(t *testing.T, f *os.File) (flags [4]uint32) {
	t.Helper()
	onDescriptor(t, f, func(fd int) error {
		termios, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			flags = [4]uint32{termios.Iflag, termios.Oflag, termios.Cflag, termios.Lflag}
		}
		return err
	})
	return flags
}

// onDescriptor leaves the file as it is: one that never blocks a thread.
func onDescriptor(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func TestAShellWhosePersonIsGoneIsEndedWithAllItStarted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.live()
	marker := "612345." + id[len(id)-4:]
	marker = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '7'
	}, marker)
	s := m.session("sandbox", "ssh", id)
	s.types("(trap '' HUP TERM; sleep " + marker + ") & sleep " + marker + "\n")
	if !within(endWait, func() bool { return processes("sleep "+marker) >= 2 }) {
		t.Fatal("the shell runs nothing")
	}
	if err := s.kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if !within(endWait, func() bool { return processes("sleep "+marker) == 0 }) {
		t.Error("what the shell started is still there")
	}
}

func TestAShellWithoutATerminalIsRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.live()
	r := m.run("sandbox", "ssh", id)
	if r.status != 125 {
		t.Errorf("status %d", r.status)
	}
	mustContain(t, "stderr", r.stderr, "standard input is no terminal", "berth exec")
	var access struct {
		Ticket struct{ Value, URL string }
	}
	if err := json.Unmarshal([]byte(m.ok("sandbox", "ssh", "--json", id).stdout), &access); err != nil || access.Ticket.Value == "" || !strings.HasPrefix(access.Ticket.URL, "http://127.0.0.1:") {
		t.Errorf("--json: %+v, %v", access, err)
	}
	m.ok("runs", "cancel", id)
	if !within(endWait, func() bool { return m.run("sandbox", "ssh", "--json", id).status == 125 }) {
		t.Error("a sandbox that is gone gives out tickets")
	}
}

// webServer answers with a file of the folder that it is started in.
const webServer = `use IO::Socket::INET; $| = 1;
my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 64) or die;
open(my $f, ">", "port") or die; print $f $l->sockport, "\n"; close $f;
while (my $c = $l->accept) {
	my $line = <$c>; while (<$c> =~ /\S/) {}
	my $body = "from the sandbox: $line"; print $c "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: ", length($body), "\r\n\r\n", $body; close $c;
}`

// serverInside starts a web server in a sandbox, for the test, and returns its port.
func serverInside(t *testing.T, m *machine, id string) (port string) {
	t.Helper()
	if m.run("exec", "-n", id, "--", "perl", "-MIO::Socket::INET", "-e", "1").status != 0 {
		t.Skip("there is no Perl in the sandbox to listen with")
	}
	server, _, _ := m.command("exec", "-n", id, "--", "perl", "-e", webServer)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	if !within(endWait, func() bool {
		r := m.run("exec", "-n", id, "--", "cat", "port")
		port = strings.TrimSpace(r.stdout)
		return r.status == 0 && port != ""
	}) {
		t.Fatal("the server in the sandbox does not listen")
	}
	return port
}

// previewOfAServer is what holds of a forward by berth sandbox preview wherever the
// server is.
func previewOfAServer(t *testing.T, m *machine, id string) {
	forwardTo(t, m, id, serverInside(t, m, id))
}

func forwardTo(t *testing.T, m *machine, id, port string) {
	cmd, _, _ := m.command("sandbox", "preview", id, port, "--listen", "127.0.0.1:0")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	complaint := &strings.Builder{}
	cmd.Stderr = complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the preview ended with %v: %s", err, complaint)
			}
		case <-time.After(endWait):
			t.Error("an interrupt does not end the preview")
			_ = cmd.Process.Kill()
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { ended <- cmd.Wait() }()
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("the preview says %q, %v", line, err)
	}
	for _, path := range []string{"/a", "/b?c=d"} {
		resp, err := http.Get(strings.TrimSpace(line) + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "from the sandbox: GET "+path+" HTTP/1.1") {
			t.Errorf("GET %s: %d %q, %v", path, resp.StatusCode, body, err)
		}
	}
}

func TestAServerInASandboxIsReachedFromThisMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	previewOfAServer(t, m, m.live())
}

func TestAPreviewOfAPortWhereNobodyListensStartsAndSaysSo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.live()
	for _, port := range []string{"0", "65536", "http"} {
		if r := m.run("sandbox", "preview", id, port); r.status != 2 || !strings.Contains(r.stderr, "1 to 65535") {
			t.Errorf("port %s: %d, %s", port, r.status, r.stderr)
		}
	}
	if r := m.run("sandbox", "preview", id, "8080", "--listen", "127.0.0.1"); r.status != 2 {
		t.Errorf("--listen without a port: %d, %s", r.status, r.stderr)
	}
}

func TestAPersonHasAShellOnATerminalInAContainer(t *testing.T) {
	t.Parallel()
	m := newDockerMachine(t)
	m.env = append(m.env, "TERM=xterm")
	shellOnATerminal(t, m, m.live())
}

func TestAServerInAContainerWithoutANetworkIsReached(t *testing.T) {
	t.Parallel()
	m := newDockerMachine(t)
	image := dockertest.Image(t, dockertest.Debian)
	m.environment = "closed"
	m.ok("env", "create", m.environment, "-p", "docker", "--image", image, "--network", "block")
	previewOfAServer(t, m, m.live())
}

// TestAShellAndAServerAreReachedAtTheHostsAgent goes past the server, which has no
// provider of its own, to the agent's address under its certificate.
func TestAShellAndAServerAreReachedAtTheHostsAgent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	agent, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "agent")
	serve := exec.Command(agent, "serve", "--data-dir", folder, "--listen", "127.0.0.1:0", "--docker=off", "--allow-local")
	serve.Env = m.env
	url := announced(t, serve)
	print := exec.Command(agent, "fingerprint", "--data-dir", folder)
	print.Env = m.env
	fingerprint, err := print.Output()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(m.program, "serve", "--docker=off", "--allow-local=false", "--agent", url, "--agent-provider", "local",
		"--agent-fingerprint", strings.TrimSpace(string(fingerprint)), "--agent-token-file", filepath.Join(folder, "token"))
	server.Dir, server.Env = m.dir, m.env
	announced(t, server)
	m.env = append(m.env, "TERM=xterm")
	id := m.live()
	var access struct {
		Ticket struct{ URL, Fingerprint string }
	}
	if err := json.Unmarshal([]byte(m.ok("sandbox", "ssh", "--json", id).stdout), &access); err != nil || !strings.HasPrefix(access.Ticket.URL, url) ||
		access.Ticket.Fingerprint != strings.TrimSpace(string(fingerprint)) {
		t.Errorf("the ticket is for %+v, %v; the agent is at %s", access, err, url)
	}
	shellOnATerminal(t, m, id)
	previewOfAServer(t, m, id)
}
