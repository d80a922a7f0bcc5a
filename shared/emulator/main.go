package emulator

import (
	"os"
	"testing"
)

// Main is a TestMain that lets emulators run from the first test that uses one to
// the end of all tests. Without it they end with the last test that uses them at
// the time.
func Main(m *testing.M) {
	shared.mu.Lock()
	shared.kept = true
	shared.mu.Unlock()
	status := m.Run()
	shared.mu.Lock()
	defer os.Exit(status)
	defer shared.mu.Unlock()
	for _, u := range shared.kinds {
		if u.running != nil {
			discard(u.running)
		}
	}
}
