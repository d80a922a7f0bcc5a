package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// The rows of providers that are far away are benchmarks of their packages, which
// have the servers that they need.

// benchSSH is a command on an SSH host against OpenSSH's client over a connection
// that is kept.
func benchSSH(ctx context.Context, p plan, _ *server) (row, error) {
	r := row{what: "command `true` over ssh", anchor: "`ssh HOST true` by ControlMaster", budget: 0.5}
	found, err := goBench(ctx, "ssh", "BenchmarkCommandTrue", p.block)
	if err != nil {
		return r, err
	}
	ours, theirs := found["provider ns/op"], found["ssh_over_a_kept_connection ns/op"]
	if ours == 0 || theirs == 0 {
		return r, fmt.Errorf("the benchmark measured %v", found)
	}
	r.ours, r.theirs, r.ratio = show(time.Duration(ours)), show(time.Duration(theirs)), ours/theirs
	return r, nil
}

// benchSnapshot counts what Daytona is asked to build by a further run of a
// Dockerfile, against the first run.
func benchSnapshot(ctx context.Context, _ plan, _ *server) (row, error) {
	r := row{what: "build requests, a second run of a Dockerfile", anchor: "the first run", note: "counted: the budget is none"}
	found, err := goBench(ctx, "daytona", "BenchmarkRunsOfADockerfile", 1)
	if err != nil {
		return r, err
	}
	first, counted := found["builds/first"]
	second, again := found["builds/second"]
	if !counted || !again || first == 0 {
		return r, fmt.Errorf("the benchmark counted %v", found)
	}
	r.ours, r.theirs, r.ratio = fmt.Sprint(second), fmt.Sprint(first), second/first
	if second > 0 {
		return r, fmt.Errorf("a second run made %v build requests", second)
	}
	return r, nil
}

// goBench runs a benchmark of a provider's package and returns its figures, each
// under the name of the sub-benchmark, if any, and its unit.
func goBench(ctx context.Context, provider, name string, times int) (map[string]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+name+"$", "-benchtime", strconv.Itoa(times)+"x", "./shared/sandbox/"+provider)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return figures(out, name), nil
}

// figures reads the lines of a benchmark: its name, how often it ran, and pairs of
// a value and a unit.
func figures(out []byte, name string) map[string]float64 {
	found := map[string]float64{}
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 || !strings.HasPrefix(fields[0], name) {
			continue
		}
		_, sub, _ := strings.Cut(fields[0], "/")
		if i := strings.LastIndexByte(sub, '-'); i >= 0 {
			sub = sub[:i] // the number of processors
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found[strings.TrimSpace(sub+" "+fields[i+1])] = value
			}
		}
	}
	return found
}
