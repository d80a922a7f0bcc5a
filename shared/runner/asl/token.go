package asl

import (
	"encoding/json"
	"sync"
)

// tokens are the tasks of this process that wait for an answer. After a restart
// they are gone: each task is delivered again with a token of its own, and an
// answer to an old one counts as too late.
type tokens struct {
	mu      sync.Mutex // guards waiting
	waiting map[string]chan json.RawMessage
}

// expect registers a token before its task is called, so that no answer is too early.
func (t *tokens) expect(token string) <-chan json.RawMessage {
	answered := make(chan json.RawMessage, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[string]chan json.RawMessage{}
	}
	t.waiting[token] = answered
	return answered
}

func (t *tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, token)
}

func (t *tokens) answer(token string, output []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answered := t.waiting[token]; answered != nil {
		answered <- output
		delete(t.waiting, token) // the first answer is the only one
	}
}
