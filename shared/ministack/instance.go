// Package ministack runs the AWS emulator of that name for tests.
//
// It is a Python program from PyPI. It is installed once into a virtual
// environment in a cache folder, with every version pinned, and listens on the
// loopback interface only.
package ministack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// startWait is generous: a busy machine takes seconds.
	startWait     = time.Minute
	startAttempts = 3
	stopWait      = 5 * time.Second
	healthPoll    = 50 * time.Millisecond
)

// services are what the tests of this repository use.
const services = "dynamodb,secretsmanager,s3,lambda,stepfunctions,iam,logs"

// shared is the emulator of this test binary, while a test uses it.
var shared struct {
	mu      sync.Mutex // guards what follows
	users   int
	running *instance
	failed  error // the first failure to start, which is not tried again
}

// Start gives the address of a running emulator, such as
// http://127.0.0.1:40123. All tests of a binary that run at once share one; the
// last one stops it. Use Config with an account of the test's own to be alone.
//
// With -short it skips. It also skips, with the reason, where there is no
// Python or no way to install the emulator, unless BERTH_REQUIRE names
// `emulators`: then it fails.
func Start(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the emulator is not used with -short")
	}
	running, err := acquire(t.Context())
	if err != nil {
		if required() {
			t.Fatalf("BERTH_REQUIRE names emulators, but ministack does not run: %v", err)
		}
		t.Skipf("ministack does not run here: %v", err)
	}
	t.Cleanup(release)
	return running.endpoint
}

func required() bool {
	names := strings.FieldsFunc(os.Getenv("BERTH_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, "emulators")
}

func acquire(ctx context.Context) (*instance, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.failed != nil {
		return nil, shared.failed
	}
	if shared.running == nil {
		python, err := environment(ctx)
		if err == nil {
			shared.running, err = start(ctx, python)
		}
		if err != nil {
			shared.failed = err
			return nil, err
		}
	}
	shared.users++
	return shared.running, nil
}

func release() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users--; shared.users == 0 {
		shared.running.stop()
		shared.running = nil
	}
}

// instance is one running emulator.
type instance struct {
	endpoint string
	process  *process
	folder   string
}

func start(ctx context.Context, python string) (*instance, error) {
	var err error
	for range startAttempts {
		var i *instance
		// The port that was free may be taken by the time it is used.
		if i, err = startOnce(ctx, python); err == nil {
			return i, nil
		}
	}
	return nil, err
}

func startOnce(ctx context.Context, python string) (*instance, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "berth-ministack-")
	if err != nil {
		return nil, err
	}
	i := &instance{endpoint: "http://127.0.0.1:" + port, folder: folder}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	defer log.Close()
	cmd := exec.Command(python, "-m", "ministack")
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, log, log
	// Nothing of the caller's environment: no credentials, no proxy, no engine
	// whose containers it would tidy up.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + folder, "PYTHONDONTWRITEBYTECODE=1",
		"BIND_HOST=127.0.0.1", "GATEWAY_PORT=" + port, "SERVICES=" + services,
		"DOCKER_HOST=unix://" + filepath.Join(folder, "no-docker"),
	}
	if i.process, err = startProcess(cmd); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if err := i.awaitHealth(ctx); err != nil {
		err = fmt.Errorf("%w; its log ends with:\n%s", err, tail(log.Name()))
		i.stop()
		return nil, err
	}
	return i, nil
}

func (i *instance) awaitHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	client := &http.Client{Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.endpoint+"/_ministack/health", nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 64*1024))
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK && strings.Contains(string(body), "dynamodb") && !i.process.ended() {
				return nil
			}
		}
		select {
		case <-i.process.done:
			return fmt.Errorf("ministack ended: %w", i.process.err)
		case <-ctx.Done():
			return fmt.Errorf("ministack is not ready: %w", ctx.Err())
		case <-time.After(healthPoll):
		}
	}
}

func (i *instance) stop() {
	i.process.stop(stopWait)
	_ = os.RemoveAll(i.folder)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

func tail(path string) string {
	b, _ := os.ReadFile(path)
	return string(b[max(0, len(b)-2000):])
}
