package httpapi_test

import (
	"bytes"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/httpapi"
)

// connect gives a client of a served fixture.
func connect(t *testing.T, f *fixture) *client.Client {
	t.Helper()
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL, Token: testToken})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestTheClientSpeaksEveryRouteOfTheServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := connect(t, f)
	ctx := t.Context()

	_, err := c.Health(ctx)
	must(t, err)
	v, err := c.Version(ctx)
	must(t, err)
	if v.Version != "1.2.3" {
		t.Errorf("version %+v", v)
	}
	who, err := c.WhoAmI(ctx)
	must(t, err)
	if who.Name != "local" {
		t.Errorf("whoami %+v", who)
	}

	env, err := c.CreateEnvironment(ctx, map[string]any{"id": "ci", "provider": "docker"})
	must(t, err)
	env, err = c.UpdateEnvironment(ctx, "ci", env.ETag, map[string]any{"labels": map[string]string{"a": "b"}})
	must(t, err)
	env.Labels["c"] = "d"
	env, err = c.ReplaceEnvironment(ctx, "ci", env.ETag, env.Environment)
	must(t, err)
	found, err := c.FindEnvironment(ctx, "ci")
	must(t, err)
	if diff := cmp.Diff(env, found); diff != "" {
		t.Errorf("the environment (-replaced +found):\n%s", diff)
	}
	if _, err = c.ReplaceEnvironment(ctx, "ci", `"1"`, env.Environment); berth.CodeOf(err) != berth.CodeStale {
		t.Errorf("with an old ETag: %v", err)
	}
	_, err = c.CheckEnvironment(ctx, "ci")
	must(t, err)
	list, err := c.ListEnvironments(ctx, client.Page{Limit: 5})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("environments %+v", list)
	}
	must(t, c.DeleteEnvironment(ctx, "ci", env.ETag))

	_, err = c.PutVariable(ctx, "A", "1", true)
	must(t, err)
	if _, err = c.PutVariable(ctx, "A", "1", true); berth.CodeOf(err) != berth.CodeStale {
		t.Errorf("created twice: %v", err)
	}
	variable, err := c.FindVariable(ctx, "A")
	must(t, err)
	if variable.Value != "1" {
		t.Errorf("variable %+v", variable)
	}
	must(t, c.DeleteVariable(ctx, "A"))
	_, err = c.PutSecret(ctx, "S", berth.SecretRequest{ValueBase64: []byte("\xff\x00secret")}, false)
	must(t, err)
	_, err = c.FindSecret(ctx, "S")
	must(t, err)
	secrets, err := c.ListSecrets(ctx, client.Page{})
	must(t, err)
	if len(secrets.Items) != 1 {
		t.Errorf("secrets %+v", secrets)
	}
	must(t, c.DeleteSecret(ctx, "S"))

	key, err := c.CreateKeyOnce(ctx, "key", berth.KeyRequest{Name: "ci", Scopes: []berth.Scope{berth.ScopeRead}, ExpiresIn: "1h"})
	must(t, err)
	if again, err := c.CreateKeyOnce(ctx, "key", berth.KeyRequest{Name: "ci", Scopes: []berth.Scope{berth.ScopeRead}, ExpiresIn: "1h"}); err != nil || again.ID != key.ID || again.Value != "" || key.Value == "" {
		t.Errorf("the second answer %+v, %v", again.Key, err)
	}
	other, err := c.CreateKey(ctx, berth.KeyRequest{Name: "ci", Scopes: []berth.Scope{berth.ScopeRun}})
	must(t, err)
	keys, err := c.ListKeys(ctx, client.Page{})
	must(t, err)
	if diff := cmp.Diff([]berth.Key{key.Key, other.Key}, keys.Items); diff != "" {
		t.Errorf("keys (-made +listed):\n%s", diff)
	}
	must(t, c.DeleteKey(ctx, key.ID))
	if err := c.DeleteKey(ctx, key.ID); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("removed twice: %v", err)
	}

	_, err = c.Preflight(ctx, berth.RunRequest{Command: []string{"true"}})
	must(t, err)
	run, err := c.CreateRunOnce(ctx, "key", berth.RunRequest{Command: []string{"true"}})
	must(t, err)
	again, err := c.CreateRunOnce(ctx, "key", berth.RunRequest{Command: []string{"true"}})
	must(t, err)
	if run.ID != again.ID {
		t.Errorf("one key gave the runs %s and %s", run.ID, again.ID)
	}
	_, err = c.FindRun(ctx, run.ID)
	must(t, err)
	stages, err := c.ListStages(ctx, run.ID)
	must(t, err)
	if len(stages) != 1 {
		t.Errorf("stages %+v", stages)
	}
	must(t, c.CancelRun(ctx, run.ID))
	f.endRun(run.ID)
	runs, err := c.ListRuns(ctx, client.Page{})
	must(t, err)
	if len(runs.Items) != 1 {
		t.Errorf("runs %+v", runs)
	}
	must(t, c.DeleteRun(ctx, run.ID))

	f.seedRun(runA, sandboxA)
	_, err = c.StopSandbox(ctx, sandboxA)
	must(t, err)
	_, err = c.StartSandbox(ctx, sandboxA)
	must(t, err)
	sandboxes, err := c.ListSandboxes(ctx, client.Page{})
	must(t, err)
	if len(sandboxes.Items) == 0 {
		t.Error("no sandboxes")
	}
	cmd, err := c.StartCommand(ctx, sandboxA, berth.CommandRequest{Script: "cat", Stdin: true})
	must(t, err)
	_, err = c.FindCommand(ctx, sandboxA, cmd.ID)
	must(t, err)
	next, err := c.WriteInput(ctx, sandboxA, cmd.ID, berth.StdinRequest{Data: []byte("hi")})
	must(t, err)
	if next != 2 {
		t.Errorf("the input's next offset is %d", next)
	}
	must(t, c.SignalCommand(ctx, sandboxA, cmd.ID, "TERM"))
	file := client.File{Sandbox: sandboxA, Path: "a/b c"}
	_, err = c.WriteFile(ctx, file, []byte("needle"), 0o755)
	must(t, err)
	if f.plane.files["a/b c"].mode != 0o755 {
		t.Errorf("the mode is %o", f.plane.files["a/b c"].mode)
	}
	data, err := c.ReadFile(ctx, file, 2, 3)
	must(t, err)
	if string(data.Data) != "edl" {
		t.Errorf("read %q", data.Data)
	}
	grep, err := c.Grep(ctx, sandboxA, berth.GrepQuery{Pattern: "needle"})
	must(t, err)
	if len(grep.Matches) != 1 {
		t.Errorf("grep %+v", grep)
	}
	_, err = c.Glob(ctx, sandboxA, berth.GlobQuery{Pattern: "*"})
	must(t, err)
	must(t, c.DeleteFile(ctx, file))
	must(t, c.ForgetSandbox(ctx, sandboxA))
	if sb, err := c.FindSandbox(ctx, sandboxA); err != nil || sb.Reason == nil || sb.Reason.Code != berth.ReasonForgotten {
		t.Errorf("a sandbox that was forgotten is %+v, %v", sb, err)
	}
	must(t, c.DestroySandbox(ctx, sandboxA))
}

func TestTheClientNamesTheFaultsThatTheServerFound(t *testing.T) {
	t.Parallel()
	c := connect(t, newFixture(t))
	_, err := c.CreateEnvironment(t.Context(), map[string]any{"id": "UP", "provider": "docker", "x": 1})
	if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "x: ") || !strings.Contains(err.Error(), "id: ") || client.RequestID(err) == "" {
		t.Errorf("two faults came back as %v", err)
	}
	_, err = c.FindEnvironment(t.Context(), "..")
	if berth.CodeOf(err) != berth.CodeInvalid || !strings.HasPrefix(err.Error(), "path.id: ") {
		t.Errorf("an id of dots came back as %v", err)
	}
}

func TestAFollowerSeesTheWholeRunWithItsOutput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := connect(t, f)
	f.seedRun(runA, sandboxA)
	small := frames("stdout:one\n", "stderr:two\n")
	large := frames("stdout:" + strings.Repeat("L", 20000))
	go func() {
		at := f.appendOutput(runA, command, 0, small)
		f.appendOutput(runA, command, at, large)
		f.endStage(runA, command, berth.Exit{Reason: berth.ExitExited})
		f.endRun(runA)
	}()
	var kinds []berth.EventKind
	var fromEvents, fromLogs strings.Builder
	err := c.FollowEvents(t.Context(), runA, 0, func(e berth.Event) error {
		kinds = append(kinds, e.Kind)
		if e.Output == nil {
			return nil
		}
		return c.ReadPiece(t.Context(), runA, e.Stage, *e.Output, func(frame berth.Frame) error {
			fromEvents.Write(frame.Data)
			return nil
		})
	})
	must(t, err)
	want := []berth.EventKind{berth.EventRunStatus, berth.EventOutput, berth.EventOutput, berth.EventStageEnded, berth.EventRunStatus}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	exit, err := c.FollowLogs(t.Context(), runA, "", 0, func(r berth.OutputReply) error {
		for _, frame := range r.Frames {
			fromLogs.Write(frame.Data)
		}
		return nil
	})
	must(t, err)
	whole := "one\ntwo\n" + strings.Repeat("L", 20000)
	if exit == nil || fromLogs.String() != whole || fromEvents.String() != whole {
		t.Errorf("exit %v; %d bytes from the logs, %d by events, want %d", exit, fromLogs.Len(), fromEvents.Len(), len(whole))
	}
}

func TestFilesOfAnySizeGoUpAndDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *httpapi.Config) { cfg.PublicURL = "" })
	c := connect(t, f)
	f.seedRun(runA, sandboxA)
	for name, size := range map[string]int{"empty": 0, "small": 10, "piece": 1 << 20, "cap": 4 << 20, "large": 4<<20 + 1, "larger": 9 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(rand.Uint32())
		}
		file := client.File{Sandbox: sandboxA, Path: name}
		must(t, c.Upload(t.Context(), file, bytes.NewReader(data), 0o600))
		if stored := f.plane.files[name]; !bytes.Equal(stored.data, data) || stored.mode != 0o600 {
			t.Errorf("%s: %d bytes of mode %o arrived, or others", name, len(stored.data), stored.mode)
		}
		var back bytes.Buffer
		info, err := c.Download(t.Context(), file, &back)
		must(t, err)
		if !bytes.Equal(back.Bytes(), data) || info.Size != int64(size) {
			t.Errorf("%s: %d bytes came back, or others; the info says %d", name, back.Len(), info.Size)
		}
	}
	if _, err := c.Download(t.Context(), client.File{Sandbox: sandboxA, Path: "nope"}, &bytes.Buffer{}); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := c.Download(t.Context(), client.File{Sandbox: sandboxA, Path: "."}, &bytes.Buffer{}); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a folder: %v", err)
	}
}
