//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

func TestCredentialsAreTheServersElseTheFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"auths":{"host:5000":{"username":"file","password":"one"}}}`)
	r := &registries{file: file}
	want := func(step, registry, username, password string) {
		t.Helper()
		got, err := r.find(t.Context(), registry)
		if err != nil {
			t.Errorf("%s: %v", step, err)
		}
		if (got == nil) != (username == "") || got != nil && (got.Username != username || string(got.Password.Reveal()) != password) {
			t.Errorf("%s: %+v", step, got)
		}
	}
	secret := func(s string) agentapi.Secret { return agentapi.Secret{SecretValue: berth.NewSecretValue([]byte(s))} }
	want("the file's", "host:5000", "file", "one")
	want("nobody's", "other:5000", "", "")
	write(`{"auths":{"host:5000":{"username":"file","password":"two"}}}`)
	want("the file's, renewed", "host:5000", "file", "two")
	r.lend(agentapi.RegistryCredentials{Registry: "host:5000", Username: "server", Password: secret("three")})
	want("the server's", "host:5000", "server", "three")
	want("of another port", "host:5001", "", "")
	r.lend(agentapi.RegistryCredentials{Registry: "host:5000"})
	want("the file's again", "host:5000", "file", "two")
	write(`{`)
	if _, err := r.find(t.Context(), "host:5000"); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a broken file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := r.find(t.Context(), "host:5000"); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("no file: %v", err)
	}
	none := &registries{}
	if got, err := none.find(t.Context(), "host:5000"); got != nil || err != nil {
		t.Errorf("without a file: %+v, %v", got, err)
	}
}
