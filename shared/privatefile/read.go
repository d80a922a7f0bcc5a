package privatefile

import (
	"fmt"
	"io"
	"os"

	"github.com/berth-dev/berth/shared/berth"
)

// Read returns a file's bytes. One that others may read is refused (invalid); one
// that is not there stays fs.ErrNotExist.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if readableByOthers(info) {
		return nil, berth.Errorf(berth.CodeInvalid, "others may read %s: run `chmod 600 %s`, and replace what is in it if somebody may have", path, path)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, nil
}
