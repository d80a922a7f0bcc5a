package daytona

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
)

// DefaultSnapshot is Daytona's own, of 2 cores, 4 GB and 8 GB of disk.
const DefaultSnapshot = "daytona-medium"

// Our labels. A sandbox without the first two is not ours, whatever its name.
// labelWorkspace and labelGuest come last, when the sandbox is ready for commands.
const (
	labelInstallation = "dev.berth.installation"
	labelSandbox      = "dev.berth.sandbox"
	labelRun          = "dev.berth.run"
	labelEphemeral    = "dev.berth.ephemeral"
	labelWorkspace    = "dev.berth.workspace"
	labelGuest        = "dev.berth.guest"
)

// maxNames is how many names are tried for a sandbox: others may have taken one.
const maxNames = 3

// sandboxName is the name of a sandbox, by its id, so that whoever asks for it
// finds it: in the dashboard, and after an answer that was lost.
func sandboxName(id berth.SandboxID, try int) string {
	name := "berth-" + string(id)
	if try > 0 {
		name += "-" + strconv.Itoa(try+1)
	}
	return name
}

// build is what a snapshot is built from.
type build struct {
	dockerfile        string
	cpu, memory, disk int // whole cores and GB; 0 is Daytona's default
	target            string
}

// snapshotPrefix begins the names of what this installation builds.
func snapshotPrefix(installation berth.InstallationID) string {
	return "berth-" + string(installation) + "-"
}

// snapshotName is the same for the same Dockerfile, size and region. It is keyed
// with a secret of the installation's own, and not with the API key: names do not
// give away Dockerfiles, two tenants of one organization never share a build, and
// a rotated key orphans nothing.
func snapshotName(installation berth.InstallationID, scope []byte, b build) string {
	mac := hmac.New(sha256.New, scope)
	fmt.Fprintf(mac, "snapshot 1\n%s\n%d %d %d\n%s\n%d\n%s", installation, b.cpu, b.memory, b.disk, b.target, len(b.dockerfile), b.dockerfile)
	return snapshotPrefix(installation) + hex.EncodeToString(mac.Sum(nil)[:16])
}

var snapshotHash = regexp.MustCompile(`^[0-9a-f]{32}$`)

// isOurSnapshot reports whether this installation gave that name.
func isOurSnapshot(installation berth.InstallationID, name string) bool {
	prefix := snapshotPrefix(installation)
	return len(name) > len(prefix) && name[:len(prefix)] == prefix && snapshotHash.MatchString(name[len(prefix):])
}
