//go:build linux

package hostagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
)

// ErrTorn is a record that a machine without power did not write to its end.
var ErrTorn = errors.New("the record is torn")

const recordName = "meta.json"

// ReadRecord reads what is recorded about the sandbox of a folder. Errors:
// fs.ErrNotExist, and ErrTorn for what is no JSON. A record of another form is whole:
// a later version may have written it, whose sandbox must not be taken for lost.
func ReadRecord(dir string, record any) error {
	b, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return err
	}
	if !json.Valid(b) {
		return fmt.Errorf("reading the record of sandbox %s: %w", filepath.Base(dir), ErrTorn)
	}
	if err := json.Unmarshal(b, record); err != nil {
		return fmt.Errorf("reading the record of sandbox %s: %w", filepath.Base(dir), err)
	}
	return nil
}

// WriteRecord replaces the record as a whole, on the disk: a sandbox that is kept
// outlives a power cut. Error: unavailable when the disk is full.
func WriteRecord(dir string, record any) error {
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return DiskError("recording a sandbox", privatefile.Write(filepath.Join(dir, recordName), b))
}

// DiskError gives a full disk its code.
func DiskError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &berth.Error{Code: berth.CodeUnavailable, Message: "no space is left on the device", Cause: err}
	}
	return berth.Wrap(err, doing)
}

// BootID tells this start of the machine from every other.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the machine's boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
