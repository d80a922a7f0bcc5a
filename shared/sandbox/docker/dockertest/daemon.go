package dockertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Daemon is a Docker engine of a test's own, in a network of its own: stopping it
// harms nobody.
type Daemon struct {
	// Host is its address.
	Host  string
	dir   string
	args  []string
	cmd   *exec.Cmd
	log   bytes.Buffer
	ended chan struct{}
}

const (
	daemonStart = 30 * time.Second
	daemonEnd   = 60 * time.Second
)

// StartDaemon starts an engine that lives until the test's end. It needs root and
// the program dockerd.
func StartDaemon(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	// Not below the test's folder: sockets and mounts want short paths.
	e := newDaemon(t, "")
	e.Host = "unix://" + filepath.Join(e.dir, "s")
	e.args = append(append([]string{"--net", "dockerd", "--host", e.Host}, e.flags()...), flags...)
	e.start(t)
	return e
}

// StartFarDaemon starts an engine that is as far away as one can be on the same
// machine: it is reached by TCP, and sees none of the tests' folders.
func StartFarDaemon(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	e := newDaemon(t, "/var/tmp") // as the usual folder is hidden from it
	socket := filepath.Join(e.dir, "s")
	e.Host = "tcp://" + forward(t, socket)
	hide := `mount -t tmpfs tmpfs "$0" && exec dockerd "$@"`
	e.args = append([]string{"--net", "--mount", "sh", "-c", hide, os.TempDir(), "--host", "unix://" + socket}, e.flags()...)
	e.args = append(e.args, flags...)
	e.start(t)
	return e
}

// StartRemappedDaemon starts an engine whose containers have users of their own:
// root in them is nobody on the machine.
func StartRemappedDaemon(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	e := newDaemon(t, "")
	ranges := filepath.Join(e.dir, "ranges")
	if err := os.WriteFile(ranges, []byte("nobody:100000:65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(e.dir, 0o711); err != nil { // for whom root is there
		t.Fatal(err)
	}
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		if _, err := os.Stat(file); err != nil {
			Missing(t, "there is no "+file+" to put ranges of users in place of")
		}
	}
	e.Host = "unix://" + filepath.Join(e.dir, "s")
	remap := `mount --bind "$0" /etc/subuid && mount --bind "$0" /etc/subgid && exec dockerd "$@"`
	e.args = append([]string{"--net", "--mount", "sh", "-c", remap, ranges, "--host", e.Host, "--userns-remap", "nobody:nogroup"}, e.flags()...)
	e.args = append(e.args, flags...)
	e.start(t)
	return e
}

// newDaemon makes the folder of an engine, below parent or where it is usual.
func newDaemon(t testing.TB, parent string) *Daemon {
	t.Helper()
	for _, program := range []string{"dockerd", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			Missing(t, program+" is not installed")
		}
	}
	if os.Getuid() != 0 {
		Missing(t, "an engine of the test's own needs root")
	}
	dir, err := os.MkdirTemp(parent, "dockerd")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "none.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Daemon{dir: dir}
}

// flags keep it apart from every other engine.
func (e *Daemon) flags() []string {
	dir := e.dir
	return []string{
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "--config-file", filepath.Join(dir, "none.json"), "--bridge", "none", "--iptables=false", "--ip-forward=false",
		"--containerd-namespace", filepath.Base(dir), "--containerd-plugins-namespace", filepath.Base(dir) + "-plugins",
	}
}

// start starts it for the first time.
func (e *Daemon) start(t testing.TB) {
	t.Helper()
	e.Start(t)
	t.Cleanup(func() {
		if e.cmd != nil {
			e.Stop(t, syscall.SIGTERM)
		}
		e.clean(t)
	})
}

// Start starts the engine again, after Stop.
func (e *Daemon) Start(t testing.TB) {
	t.Helper()
	e.cmd, e.ended = exec.Command("unshare", e.args...), make(chan struct{})
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := e.cmd, e.ended
	go func() {
		_ = cmd.Wait() // that it ends is what matters
		close(ended)
	}()
	api := e.Client(t)
	for deadline := time.Now().Add(daemonStart); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := api.Ping(ctx, client.PingOptions{})
		cancel()
		if err == nil {
			return
		}
		select {
		case <-ended:
			Missing(t, "an engine of the test's own does not start:\n"+e.tail())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the engine does not answer: %v\n%s", err, e.tail())
		}
	}
}

// Stop sends a signal to the engine, not to its containers, and waits for its end.
func (e *Daemon) Stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := e.cmd.Process.Signal(signal); err != nil {
		t.Errorf("stopping an engine: %v", err)
	}
	select {
	case <-e.ended:
	case <-time.After(daemonEnd):
		_ = e.cmd.Process.Kill()
		t.Errorf("the engine does not end\n%s", e.tail())
	}
	e.cmd = nil
	if signal == syscall.SIGKILL {
		// Its containerd has died with it; where nobody reaps that, the next engine
		// takes the number in this file for one that lives.
		_ = os.Remove(filepath.Join(e.dir, "exec/containerd/containerd.pid"))
	}
}

// clean ends what a killed engine has left, and removes its folder.
func (e *Daemon) clean(t testing.TB) {
	namespace := []byte("\x00-namespace\x00" + filepath.Base(e.dir) + "\x00")
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, namespace) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // a shim of this engine's, which may be gone
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], e.dir+"/") {
			_ = syscall.Unmount(fields[1], syscall.MNT_DETACH) // with what is mounted below, whatever the order
		}
	}
	if err := os.RemoveAll(e.dir); err != nil {
		t.Errorf("removing an engine's folder: %v", err)
	}
}

// Client is a client of the engine, which the test's end closes.
func (e *Daemon) Client(t testing.TB) *client.Client {
	t.Helper()
	api, err := client.New(client.WithHost(e.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// Load gives the engine an image that the machine's engine has.
func (e *Daemon) Load(t testing.TB, image string) {
	t.Helper()
	Image(t, image)
	from, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	saved, err := from.ImageSave(t.Context(), []string{image})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	loaded, err := e.Client(t).ImageLoad(t.Context(), saved, client.ImageLoadWithQuiet(true))
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	if _, err := new(bytes.Buffer).ReadFrom(loaded); err != nil {
		t.Fatal(err)
	}
}

// maxTail is how much of an engine's log a failure shows, in bytes.
const maxTail = 4000

func (e *Daemon) tail() string {
	text := e.log.Bytes()
	return string(text[max(0, len(text)-maxTail):])
}
