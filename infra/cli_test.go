package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// cliWait bounds the installation of tools and the compilation of the app on a
// busy machine.
const cliWait = 15 * time.Minute

// withoutAccount is an environment that knows of no AWS account.
func withoutAccount() (clean []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") {
			clean = append(clean, v)
		}
	}
	return append(clean, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true", "CDK_DISABLE_CLI_TELEMETRY=true", "CGO_ENABLED=0")
}

// command runs a program in a folder and returns what it writes: its standard
// output, and with an error all of it.
func command(ctx context.Context, folder, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, cliWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = folder, withoutAccount(), 10*time.Second
	var out, failure strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return out.String() + failure.String(), errors.Join(err, errors.New(strings.TrimSpace(failure.String())))
	}
	return out.String(), nil
}

// written is the folder into which the command line has synthesized, for all tests.
var written = sync.OnceValues(func() (folder string, err error) {
	functions, err := emptyFunctions()
	if err != nil {
		return "", err
	}
	tools, err := command(context.Background(), ".", filepath.Join("..", "scripts", "nodetools.sh"))
	if err != nil {
		return "", &toolsError{err}
	}
	folder = filepath.Join(scratch, "cdk.out")
	_, err = command(context.Background(), ".", filepath.Join(strings.TrimSpace(tools), "cdk"), "synth", "--quiet",
		"--output", folder, "--context", "functionsDir="+functions)
	return folder, err
})

// toolsError is that a tool cannot be installed here.
type toolsError struct{ error }

// synthesized is what the command line makes with no AWS account.
func synthesized(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the command lines of CDK and SAM are not installed with -short")
	}
	needNode(t)
	folder, err := written()
	var missing *toolsError
	switch {
	case errors.As(err, &missing):
		absent(t, "the CDK's command line cannot be installed: "+missing.Error())
	case err != nil:
		t.Fatal(err)
	}
	return folder
}

func TestTheCommandLineSynthesizesWithoutAnAccount(t *testing.T) {
	folder := synthesized(t)
	for _, stack := range []string{"data", "runner", "api"} {
		if _, err := os.Stat(filepath.Join(folder, stack+".template.json")); err != nil {
			t.Error(err)
		}
	}
}

func TestSAMTakesTheTemplatesAndFindsTheFunctions(t *testing.T) {
	folder := synthesized(t)
	if version, err := command(t.Context(), ".", filepath.Join("..", "scripts", "sam.sh"), "--version"); err != nil {
		absent(t, "the SAM command line cannot be installed: "+err.Error()+version)
	}
	sam := func(args ...string) (string, error) {
		return command(t.Context(), ".", filepath.Join("..", "scripts", "sam.sh"), args...)
	}
	for _, stack := range []string{"data", "runner", "api"} {
		file := filepath.Join(folder, stack+".template.json")
		if out, err := sam("validate", "--lint", "--region", "us-east-1", "--template", file); err != nil {
			t.Errorf("the template of %s: %v\n%s", stack, err, out)
		}
	}
	// What there is no such function of is answered with those that there are,
	// without an engine to run them.
	out, err := sam("local", "invoke", "Nothing", "--template", filepath.Join(folder, "api.template.json"))
	if err == nil {
		t.Fatalf("SAM runs a function that is not there: %s", out)
	}
	for _, r := range apiRoutes() {
		if !strings.Contains(out, "'"+pascal(r.ID)+"'") {
			t.Errorf("SAM does not find %s", pascal(r.ID))
		}
	}
}
