package embedded_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
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

func TestASecretIsFoundNowhere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	dir := filepath.Join(t.TempDir(), "data")
	server := startProcess(t, dir, sandboxtest.BuildGuest(t))
	ctx := t.Context()
	if _, err := server.PutSecret(ctx, "CANARY", berth.SecretRequest{Value: canary}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := server.CreateEnvironment(ctx, map[string]any{
		"id": "bird", "provider": "local", "cwd": t.TempDir(),
		"env": map[string]string{"TOKEN": "{{ secrets.CANARY }}"},
	}); err != nil {
		t.Fatal(err)
	}
	preserve := true // so that the spool is still there to be searched
	created, err := server.CreateRun(ctx, berth.RunRequest{Environment: "bird", Script: canaryScript, PreserveSandbox: &preserve})
	if err != nil {
		t.Fatal(err)
	}
	run := server.awaitRun(created.ID)
	if run.Status != berth.RunSucceeded {
		t.Fatalf("run is %s: %+v", run.Status, run.Reason)
	}
	// A command by exec gets and masks it alike.
	cmd, err := server.StartCommand(ctx, run.Sandbox, berth.CommandRequest{Script: canaryScript})
	if berth.CodeOf(err) == berth.CodeConflict {
		if _, err = server.StartSandbox(ctx, run.Sandbox); err != nil {
			t.Fatal(err)
		}
		cmd, err = server.StartCommand(ctx, run.Sandbox, berth.CommandRequest{Script: canaryScript})
	}
	if err != nil {
		t.Fatal(err)
	}
	var byExec output
	if _, err := server.FollowOutput(ctx, run.Sandbox, cmd.ID, 0, byExec.take); err != nil {
		t.Fatal(err)
	}
	log := server.log(run)
	for name, o := range map[string]*output{"run": log, "exec": &byExec} {
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
	_, err = server.PutSecret(ctx, "bad/name", berth.SecretRequest{Value: canary}, false)
	if err == nil {
		t.Error("a secret with a bad name was taken")
	} else {
		search(t, "error reply", []byte(err.Error()))
	}
	files := 0
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		search(t, path, b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files < 4 {
		t.Errorf("searched %d files only", files)
	}
}

// The value may be in the environment of the process that was given it, and in
// the guest's memory; it may be in no process's arguments.
func TestASecretIsInNoArguments(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	server := startProcess(t, filepath.Join(t.TempDir(), "data"), sandboxtest.BuildGuest(t))
	ctx := t.Context()
	if _, err := server.PutSecret(ctx, "CANARY", berth.SecretRequest{Value: canary}, false); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if _, err := server.CreateEnvironment(ctx, map[string]any{
		"id": "bird", "provider": "local", "cwd": work, "env": map[string]string{"TOKEN": "{{ secrets.CANARY }}"},
	}); err != nil {
		t.Fatal(err)
	}
	created, err := server.CreateRun(ctx, berth.RunRequest{
		Environment: "bird",
		Script:      `cat /proc/[0-9]*/cmdline > seen 2>/dev/null; [ -s seen ]`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if run := server.awaitRun(created.ID); run.Status != berth.RunSucceeded {
		t.Fatalf("run is %s: %+v", run.Status, run.Reason)
	}
	seen, err := os.ReadFile(filepath.Join(work, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	search(t, "process arguments", seen)
}

func search(t *testing.T, where string, in []byte) {
	t.Helper()
	for _, form := range canaryForms() {
		if bytes.Contains(in, form) {
			t.Errorf("%s holds the secret in the form %q", where, form)
		}
	}
}
