package sandboxtest

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// heir removes folders when this process has ended, however it did: guests outlive
// their server, and end when their folder is gone. A run that is out of time does
// not clean up after itself.
var heir = sync.OnceValues(func() (io.Writer, error) {
	// Guests write while their folder is removed, so it is removed again.
	cmd := exec.Command("/bin/sh", "-c", `dirs=$(cat); for again in 1 2 3; do
printf '%s\n' "$dirs" | while IFS= read -r d; do rm -rf --one-file-system -- "$d"; done; sleep 1; done`)
	// Its own session: what interrupts the tests is not for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return in, cmd.Start()
})

// Bequeath has dir removed when the tests' process has ended, if it is still there.
func Bequeath(t testing.TB, dir string) {
	t.Helper()
	in, err := heir()
	if err == nil {
		_, err = fmt.Fprintln(in, dir)
	}
	if err != nil {
		t.Fatalf("nobody will remove %s: %v", dir, err)
	}
}

// bequeathTemp is Bequeath of the folder that holds the temporary ones of t.
func bequeathTemp(t testing.TB) {
	t.Helper()
	Bequeath(t, filepath.Dir(t.TempDir()))
}
