package strict_test

import (
	"testing"

	"github.com/berth-dev/berth/shared/strict"
)

func TestNearestFindsWhatWasMeant(t *testing.T) {
	t.Parallel()
	known := []string{"provider", "image", "resources", "network", "lifecycle", "labels", "env", "cpu", "memory", "disk", "auto_stop", "stop_on_terminal", "_version"}
	for key, want := range map[string]string{
		"memroy": "memory", "mem": "", "Provider": "provider", "PROVIDER": "provider", "provder": "provider", "resource": "resources",
		"autostop": "auto_stop", "auto-stop": "auto_stop", "cpus": "cpu", "cup": "cpu", "envs": "env", "lable": "labels", "xyz": "",
		"": "", "stop_on_terminate": "stop_on_terminal", "version": "_version", "zzzzzz": "",
	} {
		if got := strict.Nearest(key, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestNearestDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	if a, b := strict.Nearest("ab", []string{"ac", "aa"}), strict.Nearest("ab", []string{"aa", "ac"}); a != "aa" || b != "aa" {
		t.Errorf("Nearest gives %q and %q, want aa", a, b)
	}
	if got := strict.Nearest("x", nil); got != "" {
		t.Errorf("Nearest of nothing = %q", got)
	}
}
