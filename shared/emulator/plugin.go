package emulator

import (
	"context"
	"os/exec"
	"testing"
)

// PluginPython gives a command that runs the Python of LocalStack's environment,
// with our plugin, on arguments. It skips or fails as Start does.
func PluginPython(t testing.TB, ctx context.Context, arguments ...string) *exec.Cmd {
	t.Helper()
	skipShort(t)
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	python, plugin, err := installer{cache: cache, progress: func(string) {}}.localStack(ctx)
	if err != nil {
		absent(t, LocalStack, err)
	}
	cmd := exec.CommandContext(ctx, python, arguments...)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+plugin, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}
