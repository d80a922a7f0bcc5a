package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAFullDiskIsToldByItsDataFolder(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("installing the guest: %w", &fs.PathError{Op: "write", Path: "/data/guests/x", Err: syscall.ENOSPC})
	err := explainFullDisk("/data", full)
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable || coded.Remediation == "" || !strings.Contains(coded.Message, "/data is full") || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk is %v", err)
	}
	other := errors.New("another")
	if err := explainFullDisk("/data", other); !errors.Is(err, other) || berth.CodeOf(err) != berth.CodeOf(other) {
		t.Errorf("another error is %v", err)
	}
	if err := explainFullDisk("/data", nil); err != nil {
		t.Errorf("none is %v", err)
	}
}
