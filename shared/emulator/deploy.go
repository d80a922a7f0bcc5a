package emulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deployWait bounds a deployment of berth's own stacks on a slow machine.
const deployWait = 15 * time.Minute

// App is a CDK app to deploy.
type App struct {
	// Folder has its cdk.json. It is relative to the root of the repository.
	Folder string
	// Context is given to the app as it is.
	Context map[string]string
	// Stacks are those to deploy; none are all.
	Stacks []string
}

// Berth is berth's own app, with functions from the folder that BuildFunctions
// gives. Only the processor differs from a deployment to AWS, and that nothing
// is kept when a stack goes.
func Berth(functions string) App {
	return App{Folder: "infra", Context: map[string]string{
		"arch": runtime.GOARCH, "functionsDir": functions, "retainData": "false",
	}}
}

// Outputs are those of the stacks of a deployment, by the stack's name.
type Outputs map[string]map[string]string

// Deploy puts an app into the account of the credentials test and test, as
// cdklocal does. The first time it also makes what the CDK needs in an account.
func (e *Emulator) Deploy(ctx context.Context, app App, progress func(line string)) (Outputs, error) {
	ctx, cancel := context.WithTimeout(ctx, deployWait)
	defer cancel()
	root, err := Root()
	if err != nil {
		return nil, err
	}
	tool, err := e.cdklocal(ctx, root)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(e.folder, "deploy-")
	if err != nil {
		return nil, err
	}
	c := cdk{tool: tool, folder: filepath.Join(root, app.Folder), variables: e.variables(), progress: progress}
	if !e.prepared {
		progress("preparing the account for the CDK")
		// Outside of the app's folder: its app is not needed.
		outside := c
		outside.folder = work
		if err := outside.run(ctx, "bootstrap", "aws://"+Account+"/"+Region); err != nil {
			return nil, err
		}
		e.prepared = true
	}
	progress("deploying " + app.Folder)
	outputs := filepath.Join(work, "outputs.json")
	arguments := []string{"deploy", "--require-approval", "never", "--progress", "events", "--outputs-file", outputs, "--output", filepath.Join(work, "cdk.out")}
	for _, name := range slices.Sorted(maps.Keys(app.Context)) {
		arguments = append(arguments, "--context", name+"="+app.Context[name])
	}
	if len(app.Stacks) == 0 {
		arguments = append(arguments, "--all")
	}
	if err := c.run(ctx, append(arguments, app.Stacks...)...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(outputs)
	if err != nil {
		return nil, err
	}
	var out Outputs
	return out, json.Unmarshal(text, &out)
}

// cdklocal gives the path of the tool.
func (e *Emulator) cdklocal(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(root, "scripts", "nodetools.sh"))
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("installing the CDK's tools: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "cdklocal"), nil
}

// variables are those of this process, but with the emulator in the place of AWS.
func (e *Emulator) variables() []string {
	kept := slices.DeleteFunc(os.Environ(), func(each string) bool {
		return strings.HasPrefix(each, "AWS_") || strings.HasPrefix(each, "CDK_")
	})
	return append(kept, e.Variables()...)
}

// Variables point a program that uses AWS's SDKs, or cdklocal, to the emulator.
func (e *Emulator) Variables() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=" + Region, "AWS_DEFAULT_REGION=" + Region,
		// An address as the endpoint of S3 makes SDKs use path style.
		"AWS_ENDPOINT_URL=" + e.Endpoint, "AWS_ENDPOINT_URL_S3=" + e.Endpoint,
		"EDGE_PORT=" + e.Endpoint[strings.LastIndexByte(e.Endpoint, ':')+1:],
		"CDK_DISABLE_CLI_TELEMETRY=true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1",
	}
}

// cdk runs the CDK's tool.
type cdk struct {
	tool, folder string
	variables    []string
	progress     func(line string)
}

func (c cdk) run(ctx context.Context, arguments ...string) error {
	cmd := exec.CommandContext(ctx, c.tool, append([]string{"--no-color", "--no-notices"}, arguments...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.folder, c.variables, 10*time.Second
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	said := make(chan []string)
	go func() {
		var last []string
		var told string
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			last = append(last, lines.Text())
			last = last[max(0, len(last)-40):]
			if number, of, ok := counted(lines.Text()); ok {
				if now := fmt.Sprintf("%d of %d resources", number-number%25, of); now != told && number >= 25 {
					told = now
					c.progress(now)
				}
			}
		}
		_, _ = io.Copy(io.Discard, r) // a line that is too long
		said <- last
	}()
	err := cmd.Run()
	_ = w.Close()
	last := <-said
	if err != nil {
		return fmt.Errorf("cdklocal %s: %w; it said, at the end:\n%s", arguments[0], err, strings.Join(last, "\n"))
	}
	return nil
}

// counted reads the count of an event of the CDK, such as " 12/77 | …".
func counted(line string) (number, of int, ok bool) {
	for part := range strings.SplitSeq(line, "|") {
		before, after, found := strings.Cut(strings.TrimSpace(part), "/")
		number, err := strconv.Atoi(before)
		of, errOf := strconv.Atoi(after)
		if found && err == nil && errOf == nil {
			return number, of, true
		}
	}
	return 0, 0, false
}
