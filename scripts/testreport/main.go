// Command testreport reads `go test -json` and prints what a person wants to
// know: a line a package, the output of what failed, what was skipped and why,
// and the sum.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
	// ImportPath is set for build output.
	ImportPath string
}

type report struct {
	output                  map[string][]string // by package and test
	passed, failed, skipped int
	skips                   map[string][]string // reason → tests
	bad                     []string
	// leftOut are the lines by which a suite says what it does not ask of an emulator.
	leftOut []string
}

func main() {
	r := &report{output: map[string][]string{}, skips: map[string][]string{}}
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	r.print(os.Stdout)
	if r.failed > 0 || len(r.bad) > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

func (r *report) read(in io.Reader) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var e event
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			fmt.Println(scan.Text()) // not JSON: the tool's own words
			continue
		}
		r.take(e)
	}
	return scan.Err()
}

func (r *report) take(e event) {
	key := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if _, what, ok := strings.Cut(e.Output, "left out: "); ok {
			r.leftOut = append(r.leftOut, strings.TrimSpace(e.Package+" "+what))
		}
		r.output[key] = append(r.output[key], e.Output)
		return
	case "build-fail":
		r.bad = append(r.bad, key)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	if e.Test == "" {
		r.endPackage(e, key)
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
		delete(r.output, key)
	case "fail":
		r.failed++
		r.bad = append(r.bad, key)
	case "skip":
		r.skipped++
		reason := skipReason(r.output[key])
		r.skips[reason] = append(r.skips[reason], strings.TrimSpace(key))
	}
}

func (r *report) endPackage(e event, key string) {
	switch e.Action {
	case "pass":
		fmt.Printf("ok    %-70s %6.1fs\n", e.Package, e.Elapsed)
		delete(r.output, key)
	case "fail":
		fmt.Printf("FAIL  %-70s %6.1fs\n", e.Package, e.Elapsed)
		r.bad = append(r.bad, key)
	}
}

// skipReason is the last line that the test wrote before it was skipped.
func skipReason(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "===") {
			continue
		}
		if _, rest, ok := strings.Cut(line, ".go:"); ok {
			if _, text, ok := strings.Cut(rest, ": "); ok {
				return text
			}
		}
		return line
	}
	return "no reason given"
}

func (r *report) print(w io.Writer) {
	for _, key := range r.bad {
		fmt.Fprintf(w, "\n---- %s\n%s", strings.TrimSpace(key), strings.Join(r.output[key], ""))
	}
	reasons := make([]string, 0, len(r.skips))
	for reason := range r.skips {
		reasons = append(reasons, reason)
	}
	sort.Strings(reasons)
	for _, reason := range reasons {
		fmt.Fprintf(w, "\nskipped, because %s:\n  %s\n", reason, strings.Join(r.skips[reason], "\n  "))
	}
	for _, line := range r.leftOut {
		fmt.Fprintf(w, "\nleft out: %s\n", line)
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
