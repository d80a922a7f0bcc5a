//go:build linux

package daytona_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

func TestDockerfilesThatNeedLocalFilesAreRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	for name, tt := range map[string]struct {
		text string
		line string // that is refused; empty when none is
	}{
		"COPY":                  {"FROM debian:13\nCOPY app /app\n", "line 2 copies the local file app"},
		"ADD in lower case":     {"FROM debian:13\nRUN true\n  add  src.tar /src\n", "line 3 copies the local file src.tar"},
		"flags":                 {"FROM debian:13\nCOPY --chown=1:1 --chmod=755 a b /c/\n", "the local file a"},
		"JSON":                  {"FROM debian:13\nCOPY [\"my file\", \"/x\"]\n", "the local file my"},
		"continued":             {"FROM debian:13\n# a comment\nCOPY \\\n  # in between\n  a \\\n  /b\n", "line 3 copies the local file a"},
		"one word":              {"FROM debian:13\nCOPY a\n", "the local file a"},
		"another escape":        {"# escape=`\nFROM debian:13\nCOPY `\n a /b\n", "line 3 copies the local file a"},
		"a URL":                 {"FROM debian:13\nADD https://example.com/x.tar /x\n", ""},
		"a repository":          {"FROM debian:13\nADD git@example.com:a/b.git /x\n", ""},
		"another stage":         {"FROM debian:13 AS a\nFROM debian:13\nCOPY --from=a /x /y\n", ""},
		"a here document":       {"FROM debian:13\nCOPY <<EOF /x\nCOPY a b\nEOF\nRUN true\n", ""},
		"RUN's here document":   {"FROM debian:13\nRUN <<'END'\nADD a b\nEND\n", ""},
		"an argument of RUN":    {"FROM debian:13\nRUN echo \\\nCOPY a b\n", ""},
		"behind a here docu.":   {"FROM debian:13\nRUN cat <<-X\n\tADD\n\tX\nADD a b\n", "line 5 copies the local file a"},
		"a comment like COPY":   {"FROM debian:13\n# COPY a b\n", ""},
		"Windows' ends of line": {"FROM debian:13\r\nCOPY a b\r\n", "line 2 copies the local file a"},
	} {
		before := len(s.Requests())
		spec := built(t, tt.text)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is accepted need not be made
		_, err := p.Provision(ctx, spec)
		switch {
		case tt.line == "" && berth.CodeOf(err) == berth.CodeUnsupported:
			t.Errorf("%s: %v", name, err)
		case tt.line != "" && (berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), tt.line)):
			t.Errorf("%s: %v, want %q", name, err, tt.line)
		case tt.line != "" && len(s.Requests()) != before:
			t.Errorf("%s: requests were made", name)
		}
		if tt.line == "" {
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Errorf("%s: Destroy: %v", name, err)
			}
		}
	}
}

func TestSnapshotsThatChangeUnderOneNameAreRefused(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	for _, name := range []string{"latest", "tools:latest"} {
		spec := spec(t)
		spec.Environment.Daytona = &berth.DaytonaOptions{Snapshot: name}
		if _, err := p.Provision(t.Context(), spec); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "must not be latest") {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	both := built(t, "FROM debian:13\n")
	both.Environment.Daytona = &berth.DaytonaOptions{Snapshot: "tools:1"}
	if _, err := p.Provision(t.Context(), both); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a snapshot beside a Dockerfile: %v, want invalid", err)
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestAWrongURLIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.URL = s.Host() // without /api
	p := open(t, c)
	state, err := provision(t.Context(), p, spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "answers HTML: is the URL right?")
}

func TestARevokedKeyIsNamedAndNeverShown(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	var log bytes.Buffer
	c := config(t, s)
	c.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p := open(t, c)
	made := ready(t, p, spec(t))
	s.RevokeKey(daytonatest.Key)
	state, err := provision(t.Context(), p, spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "API key", "unauthenticated", "revoked")
	_, describeErr := p.Describe(t.Context(), ref(made))
	_, listErr := p.List(t.Context())
	for call, err := range map[string]error{"Describe": describeErr, "List": listErr, "Destroy": p.Destroy(t.Context(), ref(made))} {
		if berth.CodeOf(err) != berth.CodeForbidden {
			t.Errorf("%s: %v, want forbidden", call, err)
		}
	}
	p.Close()
	said := log.String() + fmt.Sprint(state, state.Reason, describeErr, listErr)
	if strings.Contains(said, daytonatest.Key) {
		t.Errorf("the key is shown: %s", said)
	}
}

func TestAPermissionThatLacksIsNamed(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	s.AllowKey("reader-key", "read:sandboxes")
	c := config(t, s)
	c.Key = secret("reader-key")
	state, err := provision(t.Context(), open(t, c), spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "write:sandboxes")
}

func TestWithoutAKeyThereIsNothingToSweep(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Key = func(context.Context) (berth.SecretValue, error) {
		return berth.SecretValue{}, berth.Errorf(berth.CodeUnsupported, "provider daytona has no API key")
	}
	p := open(t, c)
	if list, err := p.List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := p.CleanUp(t.Context()); err != nil {
		t.Errorf("CleanUp: %v", err)
	}
	if state, err := provision(t.Context(), p, spec(t)); err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "no API key") {
		t.Errorf("Provision = %+v, %v", state, err)
	}
}

func TestPeopleGetInForAnHour(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	command, err := p.OpenShell(t.Context(), ref(state), 0)
	if err != nil || !strings.HasPrefix(command, "ssh -p 2222 ") {
		t.Errorf("OpenShell = %q, %v", command, err)
	}
	url, err := p.Preview(t.Context(), ref(state), 3000, 90*time.Second)
	if err != nil || !strings.HasPrefix(url, "http://3000-") {
		t.Errorf("Preview = %q, %v", url, err)
	}
	for _, port := range []int{0, -1, 65536} {
		if _, err := p.Preview(t.Context(), ref(state), port, 0); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Preview of port %d: %v, want invalid", port, err)
		}
	}
	if _, err := p.Preview(t.Context(), ref(state), 80, 100*24*time.Hour); err != nil {
		t.Errorf("Preview for a hundred days, which is cut to one: %v", err)
	}
	var queries []string
	for _, r := range s.Requests() {
		if strings.HasSuffix(r.Path, "/ssh-access") || strings.HasSuffix(r.Path, "signed-preview-url") {
			queries = append(queries, r.Query)
		}
	}
	if got := strings.Join(queries, " "); got != "expiresInMinutes=60 expiresInSeconds=90 expiresInSeconds=86400" {
		t.Errorf("asked for %q", got)
	}
	if err := p.Snapshot(t.Context(), ref(state), "kept:1"); err != nil || len(s.Snapshots()) != 1 {
		t.Errorf("Snapshot: %v, %+v", err, s.Snapshots())
	}
	if err := p.Snapshot(t.Context(), ref(state), "kept:1"); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("a second snapshot of that name: %v, want conflict", err)
	}
	if err := p.Snapshot(t.Context(), ref(state), "a:latest"); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a snapshot named latest: %v, want invalid", err)
	}
	if err := p.Stop(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	for call, err := range map[string]error{
		"OpenShell": second(p.OpenShell(t.Context(), ref(state), 0)), "Preview": second(p.Preview(t.Context(), ref(state), 80, 0)),
		"Snapshot": p.Snapshot(t.Context(), ref(state), "b:1"),
	} {
		if berth.CodeOf(err) != berth.CodeConflict {
			t.Errorf("%s of a stopped sandbox: %v, want conflict", call, err)
		}
	}
}

func TestProvisionReturnsSoonWhateverTheServerWaitsFor(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	release := s.Hold(http.MethodPost, "/api/sandbox")
	c := config(t, s)
	c.Pace.Provision = 50 * time.Millisecond
	p := open(t, c)
	spec := spec(t)
	began := time.Now()
	state, err := p.Provision(t.Context(), spec)
	if err != nil || state.Status != berth.SandboxCreating || time.Since(began) > 15*time.Second {
		t.Errorf("Provision = %+v, %v after %v", state, err, time.Since(began))
	}
	release()
	ready(t, p, spec)
	if n := s.Count(http.MethodPost, "/api/sandbox"); n != 1 {
		t.Errorf("created %d times", n)
	}
}

func TestASandboxWithoutBashIsTold(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	s.Pretend("uname -m; [ -x /bin/bash ] && echo bash", "x86_64\n")
	state, err := provision(t.Context(), open(t, config(t, s)), spec(t))
	if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonBashMissing {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	if left := s.Sandboxes(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestConfigurationsThatLackSomethingAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := daytona.New(daytona.Config{}); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("New: %v, want invalid", err)
	}
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	for _, id := range []berth.SandboxID{"", "x", "../../etc"} {
		if _, err := p.Provision(t.Context(), berth.SandboxSpec{ID: id}); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Provision of %q: %v, want invalid", id, err)
		}
	}
}
