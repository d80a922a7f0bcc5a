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

// secretStore is Secrets Manager with these secrets, by their names in the
// installation.
func secretStore(t *testing.T, secrets map[string]string) *httptest.Server {
	t.Helper()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			SecretID string `json:"SecretId"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		value, found := secrets[strings.TrimPrefix(in.SecretID, "berth/test/")]
		if !found {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"ResourceNotFoundException","Message":"none"}`))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Name": in.SecretID, "SecretString": value})
	}))
	t.Cleanup(store.Close)
	return store
}

func TestOnAWSTheKeysOfSSHAreInTheStoreOfSecretsAlone(t *testing.T) {
	t.Parallel()
	id := berth.SandboxID("01arz3ndektsv4rrffq69g5fav")
	ssh := func(destination, configFile string) berth.Environment {
		return berth.Environment{Provider: berth.ProviderSSH, SSH: &berth.SSHOptions{Destination: destination, ConfigFile: configFile, WorkingDirectory: "/srv/w"}}
	}
	for name, tt := range map[string]struct {
		secrets     map[string]string
		environment berth.Environment
		code        berth.Code
		words       string
	}{
		"a configuration file of a server that has no files": {nil, ssh("u@host", "/etc/config"), berth.CodeUnsupported, "has no files"},
		"no key":                  {nil, ssh("u@host", ""), berth.CodeUnsupported, "provider/ssh/key"},
		"no known hosts":          {map[string]string{"provider/ssh/key": "hunter2-hunter2"}, ssh("u@host", ""), berth.CodeUnsupported, "provider/ssh/known_hosts"},
		"a key that is none":      {map[string]string{"provider/ssh/key": "hunter2-hunter2", "provider/ssh/known_hosts": "x"}, ssh("u@host", ""), berth.CodeInvalid, "cannot be read"},
		"an alias":                {map[string]string{"provider/ssh/key": "hunter2-hunter2", "provider/ssh/known_hosts": "x"}, ssh("box", ""), berth.CodeInvalid, "user@host"},
		"no key for exe.dev":      {nil, berth.Environment{Provider: berth.ProviderExe}, berth.CodeUnsupported, "provider/exe/key"},
		"a key of exe.dev's none": {map[string]string{"provider/exe/key": "hunter2-hunter2"}, berth.Environment{Provider: berth.ProviderExe}, berth.CodeInvalid, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables := whole()
			variables["AWS_ENDPOINT_URL"] = secretStore(t, tt.secrets).URL
			w, err := serverless.Open(lookup(variables))
			if err != nil {
				t.Fatal(err)
			}
			provider, err := serverless.PlaneOf(w).Providers.Find(tt.environment.Provider)
			if err != nil {
				t.Fatal(err)
			}
			state, err := provider.Provision(t.Context(), berth.SandboxSpec{ID: id, Environment: tt.environment})
			if berth.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.words) {
				t.Fatalf("Provision = %+v, %v; want %s with %q", state, err, tt.code, tt.words)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}
