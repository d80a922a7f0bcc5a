// Package version says which berth this is.
package version

import (
	"runtime"

	"github.com/berth-dev/berth/shared/berth"
)

// Version and Commit are set by the linker.
var (
	Version = "dev"
	Commit  = "unknown"
)

// Info returns the version of the running program; the installation is the server's.
func Info(installation berth.InstallationID) berth.Version {
	return berth.Version{
		Version: Version, Commit: Commit, Go: runtime.Version(), Installation: installation, API: "v1",
	}
}
