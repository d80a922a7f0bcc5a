//go:build linux

package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// RelayConfig is what a relay is started with.
type RelayConfig struct {
	Config
	// Create makes the folder when it is not there: only who makes a sandbox asks
	// for that.
	Create bool
	// Base64 is for streams that do not carry every byte: each line is base64.
	Base64 bool
	In     io.Reader
	Out    io.Writer
}

const (
	startLimit = 20 * time.Second // for a daemon to answer
	startRetry = 20 * time.Millisecond
	endLimit   = 5 * time.Second // for a daemon to end
)

// Relay connects In and Out to the sandbox's daemon, and starts one when none
// lives. It returns when either end is gone. The line wire.Preamble comes first,
// behind whatever a shell has printed before. Where there is no sandbox, the
// first message says not_found.
func Relay(config RelayConfig) error {
	hideMemory()
	if _, err := io.WriteString(config.Out, wire.Preamble+"\n"); err != nil {
		return err
	}
	var far io.ReadWriteCloser = pair{config.In, config.Out}
	if config.Base64 {
		far = wire.Lines(far)
	}
	conn, err := connect(config)
	if err != nil {
		return refuse(far, err)
	}
	defer conn.Close()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{far}, struct{ io.Reader }{conn})
		waitForEnd(conn, config.Root)
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{far})
		done <- struct{}{}
	}()
	<-done
	return nil
}

// waitForEnd returns when the daemon of a sandbox that has been destroyed is gone
// too, so that the end of the stream means that nothing is left.
func waitForEnd(conn *net.UnixConn, root string) {
	pid, err := wire.PeerPID(conn)
	if err != nil || pid == 0 {
		return
	}
	daemon, alive := proctree.Read(pid)
	for deadline := time.Now().Add(endLimit); alive && time.Now().Before(deadline); time.Sleep(startRetry / 10) {
		if _, err := os.Stat(root); err == nil {
			return
		}
		alive = daemon.Alive()
	}
}

// refuse sends err in place of a daemon's hello.
func refuse(far io.ReadWriteCloser, err error) error {
	return wire.NewStream(far).Send(wire.Message{Header: wire.Header{Op: wire.OpHello, Error: wire.ErrorOf(err)}})
}

// pair makes one stream of two. The process that has them ends with them.
type pair struct {
	io.Reader
	io.Writer
}

func (pair) Close() error { return nil }

// connect dials the daemon's socket, and starts a daemon while nobody listens.
func connect(config RelayConfig) (*net.UnixConn, error) {
	if config.Create {
		if err := os.MkdirAll(config.Root, 0o700); err != nil {
			return nil, fmt.Errorf("making the sandbox's folder: %w", err)
		}
	}
	var started *os.Process
	for deadline := time.Now().Add(startLimit); ; time.Sleep(startRetry) {
		dir, err := os.Open(config.Root)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
		}
		if err != nil {
			return nil, err
		}
		conn, err := wire.DialUnix(dir)
		dir.Close()
		if err == nil {
			return conn, nil
		}
		if started == nil || syscall.Kill(started.Pid, 0) != nil || ended(started) {
			if started, err = startDaemon(config.Config); err != nil {
				return nil, fmt.Errorf("starting the sandbox's daemon: %w", err)
			}
		}
		if time.Now().After(deadline) {
			return nil, &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox's daemon does not answer: " + lastLine(config.Root)}
		}
	}
}

// ended reaps the daemon that this process started, when it is over.
func ended(p *os.Process) bool {
	pid, err := syscall.Wait4(p.Pid, nil, syscall.WNOHANG, nil)
	return err != nil || pid == p.Pid
}

// startDaemon starts one that outlives this process and its connection.
func startDaemon(config Config) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	log, err := os.OpenFile(filepath.Join(config.Root, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return os.StartProcess(config.Program, append([]string{"berth-guest", "daemon"}, config.args()...), &os.ProcAttr{
		Dir: "/", Env: withoutConnection(config.Environ), Files: []*os.File{null, null, log}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// withoutConnection drops the variables that are about the connection of a relay:
// its daemon has none.
func withoutConnection(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "SSH_AUTH_SOCK", "SSH_ORIGINAL_COMMAND", "DISPLAY":
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}

// lastLine is what a daemon that did not come up said last.
func lastLine(root string) string {
	f, err := os.Open(filepath.Join(root, logName))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const most = 4 << 10
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, end-most), io.SeekStart) // a log is read from its beginning at worst
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
