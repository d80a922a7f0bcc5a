package main

import (
	"context"
	"os"
	"testing"
)

func TestABenchThatIsEndedEarlyLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, plan{berth: "/bin/true", only: "none"}); err == nil {
		t.Error("a bench that was ended gives no error")
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
