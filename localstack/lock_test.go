package localstack_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/localstack"
)

func TestListsPinEverythingAndNameNoRegistry(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]byte{"requirements.txt": localstack.Requirements, "ministack.txt": localstack.Ministack} {
		packages := 0
		for requirement := range strings.SplitSeq(strings.ReplaceAll(string(list), "\\\n", " "), "\n") {
			if requirement == "" {
				continue
			}
			packages++
			if !strings.Contains(requirement, "==") || !strings.Contains(requirement, "--hash=sha256:") {
				t.Errorf("%s: %s is not pinned by version and hash", name, requirement)
			}
			if strings.Contains(requirement, "://") || strings.HasPrefix(requirement, "-") {
				t.Errorf("%s: %s names a place", name, requirement)
			}
		}
		if packages < 10 {
			t.Errorf("%s has %d packages, which cannot be all", name, packages)
		}
	}
}
