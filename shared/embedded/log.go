package embedded

import (
	"os"

	"github.com/berth-dev/berth/shared/rotate"
)

// OpenLog opens the log of a background server in its data folder.
func OpenLog(dataDir string) (*rotate.File, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, unusableDataDir(dataDir, err)
	}
	return rotate.Open(paths{dataDir}.log(), rotate.DefaultLimit)
}
