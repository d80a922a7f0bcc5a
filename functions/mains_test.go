// Package functions_test holds what all functions have in common: each route and
// each task has one, they are alike but for their names, and their sample events
// are good ones.
package functions_test

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/runner"
)

var update = flag.Bool("update", false, "write the mains and sample events of routes and tasks anew")

var apiMain = template.Must(template.New("").Parse(`// Command {{.ID}} is the function of {{.Method}} {{.Prefix}}{{.Path}}.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

{{if .Guests}}	"github.com/berth-dev/berth/shared/guestbin"
{{end}}	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv{{if .Guests}}, serverless.WithGuests(guestbin.Binary){{end}}))
	api := serverless.Must(httpapi.Operation("{{.ID}}", wiring.API()))
	lambda.Start(gateway.New(api))
}
`))

var taskMain = template.Must(template.New("").Parse(`// Command {{.Folder}} is the function of the state machine's task {{.Name}}.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

{{if .Guests}}	"github.com/berth-dev/berth/shared/guestbin"
{{end}}	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv{{if .Guests}}, serverless.WithGuests(guestbin.Binary){{end}}))
	lambda.Start(serverless.Must(wiring.Task("{{.Name}}")))
}
`))

// equips are the functions that put guests into sandboxes: those that make or
// start one.
var equips = map[string]bool{"provision": true, "start-sandbox": true}

// apiRoutes are the routes that a function serves.
func apiRoutes() []httpapi.Route {
	return slices.DeleteFunc(slices.Clone(httpapi.Routes), func(r httpapi.Route) bool { return r.Embedded })
}

// tasks are the names of the state machine's tasks.
func tasks() []string {
	return slices.Sorted(maps.Keys((&runner.Runner{}).Tasks()))
}

// folderOf is a task's folder: AwaitOutput is in await-output.
func folderOf(task string) string {
	var b strings.Builder
	for i, r := range task {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestEveryRouteHasAFunctionAndEveryFunctionARoute(t *testing.T) {
	var want []string
	for _, r := range apiRoutes() {
		want = append(want, r.ID)
		checkFile(t, filepath.Join("api", r.ID, "main.go"), fill(t, apiMain, struct {
			httpapi.Route
			Prefix string
			Guests bool
		}{r, httpapi.Prefix, equips[r.ID]}))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, folders(t, "api")); diff != "" {
		t.Errorf("functions of the API, want (-) got (+):\n%s", diff)
	}
}

func TestEveryTaskHasAFunctionAndEveryFunctionATask(t *testing.T) {
	var want []string
	for _, name := range tasks() {
		folder := folderOf(name)
		want = append(want, folder)
		checkFile(t, filepath.Join("runner", folder, "main.go"), fill(t, taskMain, struct {
			Name, Folder string
			Guests       bool
		}{name, folder, equips[folder]}))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, folders(t, "runner")); diff != "" {
		t.Errorf("functions of the state machine, want (-) got (+):\n%s", diff)
	}
}

func fill(t *testing.T, text *template.Template, data any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := text.Execute(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkFile compares a file with what it should hold, or writes that.
func checkFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	switch {
	case *update && !bytes.Equal(got, want):
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, want, 0o644)); err != nil {
			t.Fatal(err)
		}
	case errors.Is(err, fs.ErrNotExist):
		t.Errorf("%s is missing; go test ./functions -update writes it", path)
	case err != nil:
		t.Fatal(err)
	default:
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is unlike the others, want (-) got (+):\n%s", path, diff)
		}
	}
}

func folders(t *testing.T, kind string) []string {
	t.Helper()
	entries, err := os.ReadDir(kind)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
