//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

func TestTheSameJourneyThroughLambdaAndStepFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("deploys to emulators")
	}
	for _, kind := range emulator.Kinds() {
		t.Run(string(kind), func(t *testing.T) { journey(t, newCloudSite(t, kind)) })
	}
}

// newCloudSite is the whole app on a fresh emulator, where only the processor and
// the endpoints are others than on AWS.
func newCloudSite(t *testing.T, kind emulator.Kind) site {
	t.Helper()
	if _, err := binary(); err != nil { // before what takes minutes
		t.Fatal(err)
	}
	e := emulator.New(t, kind)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	functions, err := emulator.BuildFunctions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cloud := daytonatest.New(t, daytonatest.Config{})
	app := emulator.Berth(functions)
	app.Context["daytonaURL"] = cloud.URL()
	if _, err := e.Deploy(ctx, app, func(line string) { t.Logf("%5.1fs %s", time.Since(began).Seconds(), line) }); err != nil {
		t.Fatal(err)
	}
	secrets := secretsmanager.NewFromConfig(e.ConfigOf(t, emulator.Account))
	if _, err := secrets.CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name: aws.String("berth/berth/provider/daytona/key"), SecretString: aws.String(daytonatest.Key),
	}); err != nil {
		t.Fatal(err)
	}
	s := firstLogin(t, e)
	s.daytona = cloud
	return s
}

// firstLogin is what people get of a deployment that is new.
func firstLogin(t *testing.T, e *emulator.Emulator) site {
	t.Helper()
	root, err := emulator.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "bootstrap")
	if err := build("-o", program, "../../scripts/bootstrap"); err != nil {
		t.Fatal(err)
	}
	bootstrap := func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), journeyLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "-json")
		cmd.Dir, cmd.Env = root, append(os.Environ(), e.Variables()...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return stderr.Bytes(), err
		}
		return out, nil
	}
	out, err := bootstrap()
	if err != nil {
		t.Fatalf("bootstrap: %v\n%s", err, out)
	}
	var first struct{ URL, Key string }
	if err := json.Unmarshal(out, &first); err != nil || first.URL == "" || first.Key == "" {
		t.Fatalf("bootstrap printed %q, %v", out, err)
	}
	if out, err := bootstrap(); err == nil || !strings.Contains(string(out), "key") {
		t.Errorf("a second first key: %v, %s", err, out)
	}
	return site{url: first.URL, key: first.Key}
}
