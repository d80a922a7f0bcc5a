package embedded_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const canary = "canary-5f2b7c\nsecond line 91c4e7 of it\nthird  with \"quotes\" & 88aa"

// canaryForms are what must be found nowhere: the value, its long lines, and
// its base64 at each offset (without the ends, which depend on what is around).
func canaryForms() [][]byte {
	forms := [][]byte{[]byte(canary)}
	for line := range strings.SplitSeq(canary, "\n") {
		forms = append(forms, []byte(line))
	}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + canary))
		forms = append(forms, []byte(encoded[4:len(encoded)-4]))
	}
	return forms
}

const canaryScript = `
printf '%s\n' "$TOKEN"
printf '%s' "$TOKEN" | base64 -w0; echo
printf 'x%s' "$TOKEN" | base64 -w0; echo
printf 'xx%s' "$TOKEN" | base64 -w0; echo
printf '%s' "$TOKEN" | while IFS= read -r -n1 c; do printf '%s' "$c"; done; echo
printf '%s\n' "$TOKEN" | sed -n 2p >&2
echo $TOKEN
echo done
`

// nest keeps the secret in the server, and makes an environment that uses it.
func nest(s *site) berth.EnvironmentID {
	s.t.Helper()
	if _, err := s.PutSecret(s.t.Context(), "CANARY", berth.SecretRequest{Value: canary}, false); err != nil {
		s.t.Fatal(err)
	}
	const id = "bird"
	s.create(id, map[string]any{"env": map[string]string{"TOKEN": "{{ secrets.CANARY }}"}})
	return id
}

func TestASecretIsFoundNowhere(t *testing.T) {
	onEverySite(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		request := s.request(nest(s), canaryScript)
		preserve := true // so that the spool is still there to be searched
		request.PreserveSandbox = &preserve
		run := s.succeed(s.submit(request).ID)
		t.Cleanup(func() {
			if err := s.DestroySandbox(context.WithoutCancel(ctx), run.Sandbox); err != nil {
				t.Error(err)
			}
		})
		// A command by exec gets and masks it alike.
		if _, err := s.StartSandbox(ctx, run.Sandbox); err != nil {
			t.Fatal(err)
		}
		cmd, err := s.StartCommand(ctx, run.Sandbox, berth.CommandRequest{Script: canaryScript})
		if err != nil {
			t.Fatal(err)
		}
		var byExec output
		if _, err := s.FollowOutput(ctx, run.Sandbox, cmd.ID, 0, byExec.take); err != nil {
			t.Fatal(err)
		}
		for name, o := range map[string]*output{"run": s.log(run), "exec": &byExec} {
			text := o.stdout.String() + o.stderr.String()
			if !strings.HasSuffix(o.stdout.String(), "done\n") || !strings.Contains(text, "***") {
				t.Errorf("%s: the output is not that of the script: %q", name, text)
			}
			search(t, name+" output", []byte(text))
		}
		everything, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		search(t, "GET run", everything)
		_, err = s.PutSecret(ctx, "bad/name", berth.SecretRequest{Value: canary}, false)
		if err == nil {
			t.Error("a secret with a bad name was taken")
		} else {
			search(t, "error reply", []byte(err.Error()))
		}
		for what, text := range s.shown() {
			search(t, what, text)
		}
		if files := searchFolder(t, s.dir); files < 4 {
			t.Errorf("searched %d files only", files)
		}
	})
}

// searchFolder searches all files below dir, spools, records and the server's log
// among them, and returns how many there are.
func searchFolder(t *testing.T, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		search(t, path, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The value may be in the environment of the process that was given it, and in
// the guest's memory; it may be in no process's arguments.
func TestASecretIsInNoArguments(t *testing.T) {
	onEverySite(t, func(t *testing.T, s *site) {
		const marker = "sleep 617.5"
		run := s.submit(s.request(nest(s), `echo "$TOKEN"; `+marker))
		lookFor(t, marker)
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil { // else the process has ended
				search(t, file, b)
			}
		}
		if err := s.CancelRun(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		if ended := s.awaitRun(run.ID); ended.Status != berth.RunCancelled {
			t.Errorf("the run is %s, want cancelled", ended.Status)
		}
	})
}

// lookFor waits until a process has text in its arguments.
func lookFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(startWait); ; time.Sleep(10 * time.Millisecond) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && bytes.Equal(b, []byte(strings.ReplaceAll(text, " ", "\x00")+"\x00")) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no process %q has come", text)
		}
	}
}

func search(t *testing.T, where string, in []byte) {
	t.Helper()
	for _, form := range canaryForms() {
		if bytes.Contains(in, form) {
			t.Errorf("%s holds the secret in the form %q", where, form)
		}
	}
}
