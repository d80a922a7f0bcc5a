package httpapi

import (
	"context"
	"encoding/json"

	"github.com/berth-dev/berth/shared/berth"
)

// replyRoom is how much of an answer the items of a list may take.
const replyRoom = MaxBody - 64<<10

// listPage answers a page of a list. Items can be so large that a page as long as
// was asked for is over the cap of an answer; then it is shorter.
func listPage[T any](ctx context.Context, in PageParams, list func(ctx context.Context, limit int, cursor string) ([]T, string, error)) (*body[berth.List[T]], error) {
	limit, err := in.limit()
	if err != nil {
		return nil, err
	}
	for {
		items, next, err := list(ctx, limit, in.Cursor)
		if err != nil {
			return nil, cursorError(err)
		}
		if limit > 1 && len(items) > 1 && tooMuch(items) {
			limit = max(1, len(items)/2)
			continue
		}
		out := &body[berth.List[T]]{}
		out.Body.Items = items
		if out.Body.Items == nil {
			out.Body.Items = []T{}
		}
		if next != "" {
			out.Body.Next = &next
		}
		return out, nil
	}
}

// tooMuch reports whether items do not fit into an answer. Short lists cannot
// fail to: no item is over the table's cap.
func tooMuch[T any](items []T) bool {
	if len(items)*berth.MaxItemBytes < replyRoom {
		return false
	}
	b, err := json.Marshal(items)
	return err == nil && len(b) > replyRoom
}

// cursorError names the parameter that a bad cursor came in.
func cursorError(err error) error {
	if berth.CodeOf(err) == berth.CodeMalformed {
		return berth.FieldErrorf(berth.CodeMalformed, "query.cursor", "is not one that this list gave")
	}
	return err
}
