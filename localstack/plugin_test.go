package localstack_test

import (
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/emulator"
)

// report is pytest's, of which only what failed and why is read.
type report struct {
	Cases []struct {
		File    string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *outcome `xml:"failure"`
		Error   *outcome `xml:"error"`
		Skipped *outcome `xml:"skipped"`
	} `xml:"testsuite>testcase"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// least is a bound that finds a run in which pytest found nothing.
const least = 40

func TestThePluginInPython(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	written := filepath.Join(t.TempDir(), "report.xml")
	cmd := emulator.PluginPython(t, ctx, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", written, "tests")
	cmd.Env = append(cmd.Env, "BERTH_TEST_BOOTSTRAP="+buildBootstrap(t, ctx))
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(written)
	if readErr != nil {
		t.Fatalf("pytest gave no report (%v):\n%s", err, said)
	}
	var got report
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Cases {
		t.Run(strings.TrimPrefix(c.File, "tests.")+"/"+strings.TrimPrefix(c.Name, "test_"), func(t *testing.T) {
			for _, bad := range []*outcome{c.Failure, c.Error, c.Skipped} {
				if bad != nil {
					t.Errorf("%s\n%s", bad.Message, bad.Text)
				}
			}
		})
	}
	if len(got.Cases) < least {
		t.Errorf("pytest ran %d tests, want %d or more:\n%s", len(got.Cases), least, said)
	}
	if err != nil && !t.Failed() {
		t.Errorf("pytest = %v:\n%s", err, said)
	}
}

// buildBootstrap gives a folder with the small function as Lambda wants it.
func buildBootstrap(t *testing.T, ctx context.Context) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-o", filepath.Join(folder, "bootstrap"), "./testdata/bootstrap")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the function: %v\n%s", err, out)
	}
	return folder
}
