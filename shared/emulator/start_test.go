package emulator

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAnEmulatorRunsOnLoopbackAndEndsWithItsLastTest(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			var endpoint string
			var pids []int
			t.Run("in use", func(t *testing.T) {
				e := Start(t, kind)
				endpoint = e.Endpoint
				if again := Start(t, kind); again != e {
					t.Errorf("a second Start gives %s, want the same %s", again.Endpoint, endpoint)
				}
				for _, p := range e.programs {
					pids = append(pids, p.process.cmd.Process.Pid)
				}
				for _, address := range otherAddresses(t) {
					connection, err := net.DialTimeout("tcp", net.JoinHostPort(address, strings.TrimPrefix(endpoint, "http://127.0.0.1:")), time.Second)
					if err == nil {
						_ = connection.Close()
						t.Errorf("the emulator listens on %s too", address)
					}
				}
			})
			if len(pids) == 0 {
				t.Skip("the emulator does not run here; see above")
			}
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d runs on after the last test that used it", pid)
				}
			}
			if _, err := net.DialTimeout("tcp", strings.TrimPrefix(endpoint, "http://"), time.Second); err == nil {
				t.Errorf("%s still answers", endpoint)
			}
		})
	}
}

// helper makes this test binary start the emulator, tell its process on file 3,
// and wait to be killed.
const helper = "BERTH_TEST_EMULATOR_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helper) == "" {
		os.Exit(m.Run())
	}
	running, err := acquire(context.Background(), Ministack)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.NewFile(3, "pipe"), running.programs[0].process.cmd.Process.Pid)
	time.Sleep(time.Minute)
	os.Exit(1)
}

func TestTheEmulatorDoesNotOutliveAKilledTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a killed process")
	}
	Start(t, Ministack) // installs it, or skips
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), helper+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the helper did not start the emulator: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !alive(pid) {
		t.Fatalf("the helper's emulator is process %q (%v), which does not run", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 100 {
		if !alive(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d runs on after its test was killed", pid)
}

func TestWithoutPythonTheReasonIsGiven(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("PYENV_ROOT", t.TempDir())
	_, _, err := localStackPythons.find(t.Context())
	if err == nil || !strings.Contains(err.Error(), "python3 of the releases 3.13") {
		t.Errorf("find = %v, want that there is no python3", err)
	}
}

func TestAPythonOfAnotherReleaseIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	folder := t.TempDir()
	script := "#!/bin/sh\necho 'AssertionError: Python 3.9 is not 3.10 to 3.13' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(folder, "python3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	t.Setenv("PYENV_ROOT", t.TempDir())
	_, _, err := ministackPythons.find(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Python 3.9 is not 3.10 to 3.13") {
		t.Errorf("find = %v, want the old version", err)
	}
}

func TestAPythonOfPyenvIsFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	root := t.TempDir()
	folder := filepath.Join(root, "versions", "3.13.7", "bin")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "python3"), []byte("#!/bin/sh\necho Python 3.13\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("PYENV_ROOT", root)
	path, version, err := localStackPythons.find(t.Context())
	if err != nil || path != filepath.Join(folder, "python3") || version != "Python 3.13" {
		t.Errorf("find = %s, %s, %v", path, version, err)
	}
}

func TestBerthRequireNamesTheEmulators(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "docker": false, "emulators": true, "docker,emulators": true, "docker, emulators": true, "noemulators": false,
	} {
		t.Setenv("BERTH_REQUIRE", value)
		if got := Required(); got != want {
			t.Errorf("with %q: Required() = %v, want %v", value, got, want)
		}
	}
}

// alive reports whether a process runs; one that has ended and waits to be
// collected does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		_, after, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(after, "Z")
	}
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

func otherAddresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for _, address := range all {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && network.IP.To4() != nil {
			others = append(others, network.IP.String())
		}
	}
	return others
}
