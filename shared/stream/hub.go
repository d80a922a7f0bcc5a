// Package stream wakes readers that wait for something to change: in one
// process by a hub, elsewhere by polling.
package stream

import (
	"context"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// Hub joins notifiers and waiters of one process. The zero value is ready.
type Hub struct {
	mu      sync.Mutex // guards watches
	watches map[string]map[*watch]struct{}
}

var (
	_ berth.Waiter   = (*Hub)(nil)
	_ berth.Notifier = (*Hub)(nil)
)

// Watch registers interest in a topic; Close gives it up.
func (h *Hub) Watch(topic string) berth.Watch {
	w := &watch{hub: h, topic: topic, changed: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches == nil {
		h.watches = map[string]map[*watch]struct{}{}
	}
	if h.watches[topic] == nil {
		h.watches[topic] = map[*watch]struct{}{}
	}
	h.watches[topic][w] = struct{}{}
	return w
}

// Notify wakes everybody who watches topic. It never blocks: a reader that has
// not looked since the last notice needs no second one.
func (h *Hub) Notify(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches[topic] {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

type watch struct {
	hub     *Hub
	topic   string
	changed chan struct{}
}

// Wait returns after a notice since the last Wait, or at the end of ctx.
func (w *watch) Wait(ctx context.Context) {
	select {
	case <-w.changed:
	case <-ctx.Done():
	}
}

func (w *watch) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watches[w.topic], w)
	if len(w.hub.watches[w.topic]) == 0 {
		delete(w.hub.watches, w.topic)
	}
}
