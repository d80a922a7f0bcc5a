// Package berth_test holds the rules of the code base that no compiler checks.
package berth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/berth-dev/berth/"

// source is one Go file: its package's folder, and what it imports.
type source struct {
	file, dir, name string
	test            bool
	imports         []string
	lines           int
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || d.Name() == "testdata" || p == "examples" || p == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{file: p, dir: filepath.ToSlash(filepath.Dir(p)), name: f.Name.Name, test: strings.HasSuffix(p, "_test.go"), lines: bytes.Count(text, []byte("\n"))}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("found %d Go files, which cannot be all", len(out))
	}
	return out
}

func ours(name string) (string, bool) { return strings.CutPrefix(name, module) }

func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

func TestTheDomainImportsTheStandardLibraryOnly(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir != "shared/berth" || s.test {
			continue
		}
		for _, name := range s.imports {
			if !standard(name) {
				t.Errorf("%s imports %s", s.file, name)
			}
		}
	}
}

// adapters are the packages behind a port, by the folder of the port.
var adapters = []string{"shared/table/", "shared/blob/", "shared/secret/", "shared/sandbox/", "shared/schedule/"}

func adapterOf(dir string) string {
	for _, port := range adapters {
		if strings.HasPrefix(dir, port) && !strings.HasSuffix(dir, "test") {
			return dir
		}
	}
	return ""
}

func TestAdaptersNeverImportEachOther(t *testing.T) {
	for _, s := range sources(t) {
		from := adapterOf(s.dir)
		if from == "" || s.test {
			continue
		}
		for _, name := range s.imports {
			if dir, ok := ours(name); ok {
				if to := adapterOf(dir); to != "" && to != from && !strings.HasPrefix(to, from+"/") && !strings.HasPrefix(from, to+"/") {
					t.Errorf("%s imports the adapter %s", s.file, to)
				}
			}
		}
	}
}

func TestArrowsGoOneWay(t *testing.T) {
	// Each rule: packages under from may not import packages under any of to.
	rules := []struct {
		from string
		to   []string
	}{
		{"shared/", []string{"cmd/", "functions/", "infra/"}},
		{"shared/records", []string{"shared/httpapi", "shared/runner", "shared/control", "shared/embedded"}},
		{"shared/runner", []string{"shared/httpapi", "shared/control", "shared/embedded"}},
		{"shared/control", []string{"shared/httpapi", "shared/embedded"}},
		{"shared/httpapi", []string{"shared/embedded", "shared/sandbox/", "shared/table/dynamo"}},
		{"shared/client", []string{"shared/httpapi", "shared/embedded", "shared/control", "shared/records"}},
		{"shared/sandbox/", []string{"shared/httpapi", "shared/runner", "shared/control", "shared/records"}},
	}
	all := sources(t)
	for _, rule := range rules {
		if !slices.ContainsFunc(all, func(s source) bool { return strings.HasPrefix(s.dir+"/", rule.from) }) {
			t.Errorf("there is nothing under %s: the rule about it holds nothing", rule.from)
		}
	}
	for _, s := range all {
		if s.test {
			continue
		}
		for _, rule := range rules {
			if !strings.HasPrefix(s.dir+"/", rule.from) {
				continue
			}
			for _, name := range s.imports {
				dir, ok := ours(name)
				if ok && slices.ContainsFunc(rule.to, func(to string) bool { return strings.HasPrefix(dir+"/", to) }) {
					t.Errorf("%s imports %s", s.file, dir)
				}
			}
		}
	}
}

func TestPackagesAreNamedForWhatTheyDo(t *testing.T) {
	banned := []string{"util", "utils", "common", "helper", "helpers", "types", "models"}
	for _, s := range sources(t) {
		if slices.Contains(banned, path.Base(s.dir)) || slices.Contains(banned, s.name) {
			t.Errorf("%s: package %s", s.file, s.name)
		}
	}
}

func TestProgramsStandUnderCmdFunctionsOrScripts(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "infra" {
			continue // the deployment is one program, with a module of its own
		}
		if s.name == "main" && !strings.HasPrefix(s.dir, "cmd/") && !strings.HasPrefix(s.dir, "functions/") && !strings.HasPrefix(s.dir, "scripts/") {
			t.Errorf("%s is a program", s.file)
		}
		if s.name == "main" && strings.HasPrefix(s.dir, "functions/") && !s.test && s.lines > 40 {
			t.Errorf("%s has %d lines, a function's main has 40 at most", s.file, s.lines)
		}
	}
}

func TestNoFolderIsMadeForASingleFile(t *testing.T) {
	files := map[string]int{}
	program := map[string]bool{}
	for _, s := range sources(t) {
		files[s.dir]++
		program[s.dir] = program[s.dir] || s.name == "main"
	}
	for dir, n := range files {
		if n == 1 && dir != "." && !program[dir] {
			t.Errorf("%s has one file: put it where its like are, or test it", dir)
		}
	}
}

func TestFilesStayShort(t *testing.T) {
	const most = 400
	for _, s := range sources(t) {
		if !s.test && s.lines > most {
			t.Errorf("%s has %d lines: split it", s.file, s.lines)
		}
	}
}

// The guest goes into every sandbox: what it brings there is 4 MB at most. What
// made it larger before is named by TestTheGuestIsTheStandardLibraryWithoutHTTP.
func TestTheGuestIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the guest twice")
	}
	t.Parallel()
	const most = 4_000_000 // bytes
	for _, arch := range []string{"amd64", "arm64"} {
		file := filepath.Join(t.TempDir(), "berth-guest")
		// As the target guests of the Makefile does.
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "./cmd/berth-guest")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building the guest for %s: %v\n%s", arch, err, out)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", arch, info.Size())
		if info.Size() > most {
			t.Errorf("the guest for %s has %d bytes, more than %d: see what its packages import (go list -deps ./cmd/berth-guest)", arch, info.Size(), most)
		}
	}
}

// The guest goes into every sandbox: it must stay small and free of what it
// does not need.
func TestTheGuestIsTheStandardLibraryWithoutHTTP(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard", "./cmd/berth-guest")
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Standard   bool
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found++
		switch p.ImportPath {
		case "net/http", "log/slog", "flag", "crypto/sha256", "crypto/rand", "text/template":
			t.Errorf("the guest imports %s, which is too large for it", p.ImportPath)
		}
		if _, isOurs := ours(p.ImportPath); !p.Standard && !isOurs {
			t.Errorf("the guest imports %s", p.ImportPath)
		}
	}
	if found == 0 {
		t.Fatal("go list named no package")
	}
}
