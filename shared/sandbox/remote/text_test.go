package remote_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// hostile is what a host says that somebody else has taken over.
var hostile = "\x1b[2Jü\xff\x00" + strings.Repeat("ü", 100_000)

func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	if len(text) > 8<<10 || !strings.HasSuffix(text, "ü…") || strings.ContainsAny(text, "\x1b\x00") || !utf8.ValidString(text) {
		t.Errorf("%s has %d bytes: %.40q…", what, len(text), text)
	}
}

func TestAHostsErrorsAreBoundedAndHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	many := make([]berth.Problem, 10_000)
	for i := range many {
		many[i] = berth.Problem{Location: hostile[:9], Message: hostile[:9]}
	}
	many[0] = berth.Problem{Location: hostile, Message: hostile}
	s := newScript(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", agentapi.MediaProblem)
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(agentapi.Problem{
			Code: berth.CodeConflict, Detail: hostile, Field: hostile, Remediation: hostile, Errors: many,
		})
	})
	_, err := dial(t, s.config()).Health(t.Context())
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeConflict || len(e.Problems) > 100 {
		t.Fatalf("the agent's error came back as code %s with %d problems", berth.CodeOf(err), len(e.Problems))
	}
	for what, text := range map[string]string{
		"the message": e.Message, "the field": e.Field, "what to do": e.Remediation, "a problem": e.Problems[0].Message, "its place": e.Problems[0].Location,
	} {
		wantPlain(t, what, text)
	}
}

func TestAHostsHealthIsBoundedAndHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", agentapi.MediaJSON)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"version": hostile, "installation": hostile, "providers": []map[string]any{{"kind": "docker", "problem": hostile}},
		})
	})
	h, err := dial(t, s.config()).Health(t.Context())
	if err != nil || len(h.Providers) != 1 {
		t.Fatalf("health %.200v, %v", h, err)
	}
	wantPlain(t, "the version", h.Version)
	wantPlain(t, "the installation", string(h.Installation))
	wantPlain(t, "the provider's problem", h.Providers[0].Problem)
}
