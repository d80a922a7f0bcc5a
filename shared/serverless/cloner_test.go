package serverless_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/serverless"
)

func TestTheGitHubAppIsReadFromTheInstallationsSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret string // none when empty
		code   berth.Code
	}{
		"without a secret there is no App":         {"", ""},
		"one that is no App's is told":             {`{"app_id":1,"private_key":"hunter2-hunter2"}`, berth.CodeInvalid},
		"one that is not even an object, likewise": {`hunter2-hunter2`, berth.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var in struct {
					SecretID string `json:"SecretId"`
				}
				_ = json.NewDecoder(r.Body).Decode(&in)
				asked = in.SecretID
				w.Header().Set("Content-Type", "application/x-amz-json-1.1")
				if c.secret == "" {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write([]byte(`{"__type":"ResourceNotFoundException","Message":"none"}`))
					return
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"Name": asked, "SecretString": c.secret})
			}))
			t.Cleanup(store.Close)
			variables := whole()
			variables["AWS_ENDPOINT_URL"] = store.URL
			w, err := serverless.Open(lookup(variables))
			if err != nil {
				t.Fatal(err)
			}
			spec, err := w.Runner().Cloner.CloneCommand(t.Context(), berth.Definition{
				Target: berth.Target{Kind: berth.TargetGit, Origin: "https://github.com/acme/secret", Branch: "main"}, Clone: berth.Clone{Enabled: true},
			})
			if berth.CodeOf(err) != c.code || err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("CloneCommand = %v, want code %q", err, c.code)
			}
			if len(spec.Mask) > 0 || asked != "berth/test/provider/github/app" {
				t.Errorf("the store was asked for %q, and %d values are masked", asked, len(spec.Mask))
			}
		})
	}
}
