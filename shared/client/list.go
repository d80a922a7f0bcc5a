package client

import (
	"context"
	"iter"

	"github.com/berth-dev/berth/shared/berth"
)

// Page asks for a part of a list. The zero value is the first page of the
// server's usual size.
type Page struct {
	Limit  int    // 1 to 100
	Cursor string // Next of the page before
}

func listOf[T any](ctx context.Context, c *Client, path string, page Page) (berth.List[T], error) {
	var out berth.List[T]
	_, err := c.do(ctx, get(path).number("limit", int64(page.Limit)).param("cursor", page.Cursor), &out)
	return out, err
}

// All goes through every page of a list, such as
//
//	for run, err := range client.All(ctx, c.ListRuns) { … }
//
// After an error it ends.
func All[T any](ctx context.Context, list func(context.Context, Page) (berth.List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := Page{Limit: 100}
		for {
			part, err := list(ctx, page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range part.Items {
				if !yield(item, nil) {
					return
				}
			}
			if part.Next == nil {
				return
			}
			page.Cursor = *part.Next
		}
	}
}
