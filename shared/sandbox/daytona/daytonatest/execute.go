//go:build linux

package daytonatest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// execute feeds the command to a shell's standard input. Output and errors are
// mixed; a client that goes away does not stop it.
func (t *toolbox) execute(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Command string            `json:"command"`
		CWD     string            `json:"cwd"`
		Envs    map[string]string `json:"envs"`
		Timeout int               `json:"timeout"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || strings.TrimSpace(in.Command) == "" {
		t.fail(w, r, http.StatusBadRequest, "INVALID_REQUEST_BODY", "empty command")
		return
	}
	if result, ok := t.sandbox.server.pretence(in.Command); ok {
		t.sandbox.server.answer(w, http.StatusOK, map[string]any{"exitCode": 0, "result": result})
		return
	}
	cmd := exec.Command("/bin/bash")
	cmd.Dir, cmd.Env = t.sandbox.home(), t.environ()
	if in.CWD != "" {
		cmd.Dir = in.CWD
	}
	for name, value := range in.Envs {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in.Command), &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.sandbox.server.answer(w, http.StatusOK, map[string]any{"exitCode": -1, "result": err.Error()})
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var expired <-chan time.Time
	if in.Timeout > 0 {
		expired = time.After(time.Duration(in.Timeout) * time.Second)
	}
	select {
	case err := <-ended:
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		t.sandbox.server.answer(w, http.StatusOK, map[string]any{"exitCode": code, "result": strings.ToValidUTF8(out.String(), "\uFFFD")})
	case <-expired:
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		t.fail(w, r, http.StatusRequestTimeout, "PROCESS_EXECUTION_TIMEOUT", "command execution timeout")
	}
}
