package main

import (
	"context"
	"sort"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

// shortID is the least of an id that people are shown.
const shortID = 12

// shortRun is the shortest prefix of a run's id that names it alone, in steps.
func (a *app) shortRun(ctx context.Context, c *client.Client, id berth.RunID) string {
	return shortest(string(id), func(prefix string) bool {
		run, err := c.FindRun(ctx, berth.RunID(prefix))
		return err == nil && run.ID == id
	})
}

func shortest(id string, alone func(prefix string) bool) string {
	for n := shortID; n < len(id); n += 4 {
		if alone(id[:n]) {
			return id[:n]
		}
	}
	return id
}

// shortIDs shortens the ids of a list to the shortest prefixes that tell them apart.
func shortIDs(ids []string) map[string]string {
	sorted := append([]string(nil), ids...)
	sort.Strings(sorted)
	out := make(map[string]string, len(ids))
	for i, id := range sorted {
		n := shortID
		if i > 0 {
			n = max(n, common(id, sorted[i-1])+1)
		}
		if i+1 < len(sorted) {
			n = max(n, common(id, sorted[i+1])+1)
		}
		out[id] = id[:min(n, len(id))]
	}
	return out
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
