package main

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

func (c *cli) wantEmpty(folder string) {
	c.t.Helper()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		c.t.Errorf("%s holds %v, %v; want nothing left over", folder, entries, err)
	}
}

func TestADownloadThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.files["large"] = fakeFile{data: []byte("data"), mode: 0o644}
	over := make(chan struct{})
	t.Cleanup(func() { close(over) }) // before the server's own, which waits for its requests
	var reads atomic.Int32
	f.refuse = func(method, path string) *problem {
		if strings.HasSuffix(path, "/files") && reads.Add(1) == 2 { // the first asks what it is
			c.signals <- os.Interrupt
			<-over
		}
		return nil
	}
	if r := c.run("cp", box+"large", "here"); r.status != 130 || r.stderr != "" {
		t.Errorf("berth cp = %d after Ctrl-C, want 130; stderr:\n%s", r.status, r.stderr)
	}
	c.wantEmpty(c.dir)
}

func TestAnUploadOfStandardInputThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	c.env["TMPDIR"] = t.TempDir()
	in, out := io.Pipe()
	defer out.Close()
	c.stdin = in
	go func() {
		if _, err := out.Write([]byte("begun")); err == nil { // it is being read
			c.signals <- os.Interrupt
		}
	}()
	if r := c.run("cp", "-", box+"piped"); r.status != 130 || r.stderr != "" {
		t.Errorf("berth cp = %d after Ctrl-C, want 130; stderr:\n%s", r.status, r.stderr)
	}
	c.wantEmpty(c.env["TMPDIR"])
	if len(f.files) > 0 {
		t.Errorf("the sandbox holds %v", f.files)
	}
}
