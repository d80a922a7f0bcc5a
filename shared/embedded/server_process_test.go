package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// The test binary is also the server: started again with the first variable it
// runs one on the named data folder.
const (
	serverEnv = "BERTH_TEST_SERVER_DIR"
	guestEnv  = "BERTH_TEST_GUEST"
	engineEnv = "BERTH_TEST_ENGINE"  // use the machine's Docker engine when set
	spriteEnv = "BERTH_TEST_SPRITES" // the URL of the Sprites API, and a token
	cloudEnv  = "BERTH_TEST_DAYTONA" // the URL of Daytona's API, and a key
	vmEnv     = "BERTH_TEST_EXE"     // the address of exe's lobby, its host key's fingerprint, and the file of a key
	githubEnv = "BERTH_TEST_GITHUB"  // the URL, the App's id, the file of its key, and a folder to allow mounts of
	idleEnv   = "BERTH_TEST_IDLE"    // end after that long without work
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverEnv); dir != "" {
		os.Exit(serve(dir))
	}
	os.Exit(m.Run())
}

func serve(dir string) int {
	log, err := embedded.OpenLog(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	idle, _ := time.ParseDuration(os.Getenv(idleEnv)) // never when there is none
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := embedded.Options{
		DataDir: dir, ConfigDir: dir + "-config", AllowLocal: true, Docker: embedded.Docker{Off: os.Getenv(engineEnv) == ""},
		GuestPath: os.Getenv(guestEnv), Log: log, Idle: idle,
	}
	if parts := strings.Fields(os.Getenv(githubEnv)); len(parts) == 4 {
		o.GitHub = embedded.GitHub{URL: parts[0], AppID: parts[1], KeyFile: parts[2]}
		o.Docker.AllowMounts = parts[3:]
	}
	if parts := strings.Fields(os.Getenv(spriteEnv)); len(parts) == 2 {
		o.Sprites = embedded.Account{URL: parts[0], Key: berth.NewSecretValue([]byte(parts[1]))}
	}
	if parts := strings.Fields(os.Getenv(cloudEnv)); len(parts) == 2 {
		o.Daytona = embedded.Account{URL: parts[0], Key: berth.NewSecretValue([]byte(parts[1]))}
	}
	if parts := strings.Fields(os.Getenv(vmEnv)); len(parts) == 3 {
		key, err := os.ReadFile(parts[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		o.Exe = embedded.Exe{Lobby: parts[0], Fingerprint: parts[1], Key: berth.NewSecretValue(key)}
	}
	err = embedded.Run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a server in a process of its own, which a test may kill.
type process struct {
	t      *testing.T
	dir    string
	guest  string
	engine bool // the server uses the machine's Docker engine
	idle   time.Duration
	more   []string // of the server's environment
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	ended  chan struct{}
	found  embedded.Found
	*client.Client
}

const startWait = 30 * time.Second

// startProcess starts a server on a new data folder.
func startProcess(t *testing.T, engine bool) *process {
	t.Helper()
	p := &process{t: t, dir: filepath.Join(t.TempDir(), "data"), guest: sandboxtest.BuildGuest(t), engine: engine}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	p.stderr = &bytes.Buffer{}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), serverEnv+"="+p.dir, guestEnv+"="+p.guest)
	p.cmd.Env = append(p.cmd.Env, p.more...)
	if p.engine {
		p.cmd.Env = append(p.cmd.Env, engineEnv+"=yes")
	}
	if p.idle > 0 {
		p.cmd.Env = append(p.cmd.Env, idleEnv+"="+p.idle.String())
	}
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(p.cmd, p.ended)
	deadline := time.Now().Add(startWait)
	for {
		found, err := embedded.Find(p.t.Context(), p.dir)
		if err == nil && found.PID == p.cmd.Process.Pid {
			p.found = found
			break
		}
		select {
		case <-p.ended:
			p.t.Fatalf("the server ended as it started: %s", p.stderr)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("no server after %s: %v", startWait, err)
		}
	}
	p.Client, err = client.New(client.Config{BaseURL: p.found.URL, Token: p.found.Token})
	if err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the server with SIGKILL and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // gone already is fine
	<-p.ended
}

// stop ends the server as people do, and waits until it is gone.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	if !p.cmd.ProcessState.Success() {
		p.t.Fatalf("the server ended with %s: %s", p.cmd.ProcessState, p.stderr)
	}
}

// statusBytes is a field of a process's status: VmRSS is its resident set, VmHWM the peak of it.
func statusBytes(t *testing.T, pid int, field string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	n := fieldBytes(string(b), field)
	if n == 0 {
		t.Fatalf("process %d has no %s", pid, field)
	}
	return n
}

// output collects a stage's streams.
type output struct {
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

func (o *output) take(reply berth.OutputReply) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range reply.Frames {
		switch f.Stream {
		case berth.Stdout:
			o.stdout.Write(f.Data)
		case berth.Stderr:
			o.stderr.Write(f.Data)
		default:
			return fmt.Errorf("unexpected mark: %s", f.Data)
		}
	}
	return nil
}

// awaitRun follows a run to its end, also over restarts of the server that
// move it to another port.
func (p *process) awaitRun(id berth.RunID) berth.Run {
	p.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		run, err := p.FindRun(p.t.Context(), id)
		if err != nil {
			p.t.Fatalf("FindRun(%s): %v", id, err)
		}
		if run.Status.Ended() {
			return run
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("run %s has not ended", id)
	return berth.Run{}
}

// commandStage is the id of the stage that ran the run's command.
func commandStage(t *testing.T, run berth.Run) berth.StageID {
	t.Helper()
	for _, s := range run.Stages {
		if s.Kind == berth.StageCommand {
			return s.ID
		}
	}
	t.Fatalf("run %s has no command stage: %+v", run.ID, run.Stages)
	return ""
}

func (p *process) log(run berth.Run) *output {
	p.t.Helper()
	var o output
	if _, err := p.FollowLogs(p.t.Context(), run.ID, commandStage(p.t, run), 0, o.take); err != nil {
		p.t.Fatalf("FollowLogs(%s): %v", run.ID, err)
	}
	return &o
}
