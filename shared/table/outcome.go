package table

import (
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

// NotFound is the error of a read of an absent or expired item.
func NotFound(pk, sk string) error {
	return &berth.Error{
		Code:    berth.CodeNotFound,
		Message: "there is no such item",
		Cause:   fmt.Errorf("item %q %q", pk, sk),
	}
}

// Stale is the error of a write whose condition does not hold.
func Stale(w berth.Write) error {
	message := "the item was changed or removed by somebody else"
	if w.Item.Version == 0 {
		message = "the item exists already"
	}
	return &berth.Error{
		Code:    berth.CodeStale,
		Message: message,
		Cause:   fmt.Errorf("item %q %q is not at version %d", w.Item.PK, w.Item.SK, w.Item.Version),
	}
}
