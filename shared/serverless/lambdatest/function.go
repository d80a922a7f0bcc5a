// Package lambdatest runs a function's program as Lambda does: as a process
// behind the Runtime API, in an environment of its own.
package lambdatest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// patience bounds an invocation, the start of the program included.
	patience = 60 * time.Second
	stopWait = 5 * time.Second
)

// Function is a running program.
type Function struct {
	api    *runtimeAPI
	cmd    *exec.Cmd
	output *output
	ended  chan struct{} // closed when the program has ended
}

// Failure is an error of the function.
type Failure struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Start runs a program with these variables alone, until the end of the test.
func Start(t *testing.T, program string, variables map[string]string) *Function {
	t.Helper()
	f := &Function{api: newRuntimeAPI(), output: &output{}, ended: make(chan struct{})}
	f.cmd = exec.Command(program)
	f.cmd.Dir, f.cmd.Stdout, f.cmd.Stderr, f.cmd.WaitDelay = t.TempDir(), f.output, f.output, stopWait
	f.cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + f.api.address(), "AWS_LAMBDA_FUNCTION_NAME=test", "TMPDIR=" + f.cmd.Dir, "PATH=" + os.Getenv("PATH")}
	for name, value := range variables {
		f.cmd.Env = append(f.cmd.Env, name+"="+value)
	}
	if err := f.cmd.Start(); err != nil {
		f.api.close()
		t.Fatalf("starting the function: %v", err)
	}
	go func() {
		_ = f.cmd.Wait() // it is killed, as Lambda does
		close(f.ended)
	}()
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill() // it may have ended
		<-f.ended
		f.api.close()
	})
	return f
}

// Invoke sends an event and waits for the answer: what the function returned, or
// its failure.
func (f *Function) Invoke(t *testing.T, event any) (json.RawMessage, *Failure) {
	t.Helper()
	encoded, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := f.api.invoke(encoded, f.ended)
	if err != nil {
		t.Fatalf("%v; the function wrote:\n%s", err, f.Output())
	}
	if !reply.failed {
		return reply.body, nil
	}
	failure := &Failure{}
	if err := json.Unmarshal(reply.body, failure); err != nil {
		t.Fatalf("the function's error is no JSON: %s", reply.body)
	}
	return nil, failure
}

// Exit waits for a program that ends by itself, and returns its status.
func (f *Function) Exit(t *testing.T) int {
	t.Helper()
	select {
	case <-f.ended:
		return f.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the function runs on; it wrote:\n%s", f.Output())
		return 0
	}
}

// Output is what the program has written so far.
func (f *Function) Output() string { return f.output.String() }

// output is a buffer that is read while it is written.
type output struct {
	mu     sync.Mutex // guards buffer
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.buffer.String())
}

var (
	errEnded = errors.New("the function has ended without an answer")
	errLate  = errors.New("the function does not answer")
)
