//go:build linux

package guest

import (
	"context"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// looks are the commands whose spools have grown since the agent was told last.
// To add one never waits, whatever the agent does.
type looks struct {
	added chan struct{}

	mu  sync.Mutex // guards ids
	ids map[berth.CommandID]bool
}

func newLooks() *looks {
	return &looks{added: make(chan struct{}, 1), ids: map[berth.CommandID]bool{}}
}

func (l *looks) add(id berth.CommandID) {
	l.mu.Lock()
	l.ids[id] = true
	l.mu.Unlock()
	select {
	case l.added <- struct{}{}:
	default:
	}
}

// next waits for commands to look at; none when ctx has ended.
func (l *looks) next(ctx context.Context) []berth.CommandID {
	for {
		l.mu.Lock()
		var ids []berth.CommandID
		for id := range l.ids {
			ids = append(ids, id)
		}
		clear(l.ids)
		l.mu.Unlock()
		if len(ids) > 0 {
			return ids
		}
		select {
		case <-l.added:
		case <-ctx.Done():
			return nil
		}
	}
}
