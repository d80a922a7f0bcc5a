package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// scratch is the folder of this test binary; it ends with it.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "berth-infra-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	jsii.Close()
	_ = os.RemoveAll(scratch) // a rest in the temporary folder does no harm
	os.Exit(code)
}

// everything is a context that turns all on.
var everything = map[string]any{
	"installation": "prod", "arch": "amd64", "vpc": "vpc-0123456789abcdef0",
	"subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1", "customerKey": "new",
	"domain": "api.example.com", "certificate": "arn:aws:acm:eu-west-1:123456789012:certificate/1b2c",
	"waf": "true", "maxLiveRuns": "20", "defaultEnvironment": "ci",
	"daytonaURL": "https://daytona.example.com/api", "spritesURL": "https://sprites.example.com", "alarmEmail": "ops@example.com",
}

// Each is made once for all tests.
var (
	defaults = sync.OnceValues(func() (*synthesis, error) { return synthesize(nil) })
	full     = sync.OnceValues(func() (*synthesis, error) { return synthesize(everything) })
)

// synthesis is what the app makes of a context.
type synthesis struct {
	stacks   map[string]template
	written  map[string]string // the templates' texts
	findings []string          // of cdk-nag, and warnings
}

// deployed is the deployment that a context without anything describes.
func deployed(t *testing.T) *synthesis { return once(t, defaults) }

// equipped is the deployment with everything on.
func equipped(t *testing.T) *synthesis { return once(t, full) }

func once(t *testing.T, made func() (*synthesis, error)) *synthesis {
	t.Helper()
	needNode(t)
	s, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// needNode skips where there is no Node.js, in which the CDK runs.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		absent(t, "Node.js is not there: "+err.Error())
	}
}

// absent skips, or fails where the emulators' tools are required.
func absent(t *testing.T, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("BERTH_REQUIRE"), ","), "emulators") {
		t.Fatalf("BERTH_REQUIRE names emulators, but %s", why)
	}
	t.Skip(why)
}

// synthesize runs the app over functions that hold nothing, with cdk.json's own
// context as the command line has it.
func synthesize(context map[string]any) (*synthesis, error) {
	settings, err := os.ReadFile("cdk.json")
	if err != nil {
		return nil, err
	}
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(settings, &file); err != nil {
		return nil, err
	}
	functions, err := emptyFunctions()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(file.Context)
	all["functionsDir"] = functions
	maps.Copy(all, context)
	out, err := os.MkdirTemp(scratch, "out-")
	if err != nil {
		return nil, err
	}
	app := awscdk.NewApp(&awscdk.AppProps{Context: &all, Outdir: text(out), AnalyticsReporting: no()})
	d, err := newDeployment(app)
	if err != nil {
		return nil, err
	}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Reports: no()}), nil)
	app.Synth(nil)
	return read(d, out)
}

// emptyFunctions makes a folder of archives like that of `make functions`.
func emptyFunctions() (string, error) {
	c := &config{functionsDir: filepath.Join(scratch, "functions")}
	for _, path := range c.archives() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		file, err := os.Create(path)
		if err != nil {
			return "", err
		}
		archive := zip.NewWriter(file)
		program, err := archive.Create("bootstrap")
		if err == nil {
			_, err = program.Write([]byte(path))
		}
		if err != nil {
			return "", err
		}
		if err := archive.Close(); err != nil {
			return "", err
		}
		if err := file.Close(); err != nil {
			return "", err
		}
	}
	return c.functionsDir, nil
}

// read takes in what was written into a folder.
func read(d *deployment, folder string) (*synthesis, error) {
	s := &synthesis{stacks: map[string]template{}, written: map[string]string{}}
	for name := range d.stacks() {
		written, err := os.ReadFile(filepath.Join(folder, name+".template.json"))
		if err != nil {
			return nil, err
		}
		var t template
		if err := json.Unmarshal(written, &t); err != nil {
			return nil, err
		}
		s.stacks[name], s.written[name] = t, string(written)
		found, err := annotations(filepath.Join(folder, name+".metadata.json"))
		if err != nil {
			return nil, err
		}
		s.findings = append(s.findings, found...)
	}
	return s, nil
}

// annotations are the warnings and errors on a stack's constructs.
func annotations(file string) (all []string, err error) {
	written, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var byConstruct map[string][]struct {
		Type string
		Data any
	}
	if err := json.Unmarshal(written, &byConstruct); err != nil {
		return nil, err
	}
	for construct, entries := range byConstruct {
		for _, e := range entries {
			if e.Type == "aws:cdk:warning" || e.Type == "aws:cdk:error" {
				all = append(all, fmt.Sprint(construct, ": ", e.Data))
			}
		}
	}
	return all, nil
}
