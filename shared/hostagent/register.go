package hostagent

import (
	"maps"
	"slices"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// ErrNoSandbox is that of a sandbox which is not there.
var ErrNoSandbox = berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")

// Register holds what a provider knows of its sandboxes: one B for each. The zero
// Register is empty. It is safe for concurrent use.
type Register[B comparable] struct {
	mu  sync.Mutex // guards all
	all map[berth.SandboxID]B
}

// All is everything, in the order of ids: oldest first.
func (r *Register[B]) All() []B {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]B, 0, len(r.all))
	for _, id := range slices.Sorted(maps.Keys(r.all)) {
		all = append(all, r.all[id])
	}
	return all
}

// Find returns what there is of a sandbox. Error: ErrNoSandbox.
func (r *Register[B]) Find(id berth.SandboxID) (B, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, there := r.all[id]
	if !there {
		return b, ErrNoSandbox
	}
	return b, nil
}

// Claim returns what there is of a sandbox, and begins it with fresh when there is
// nothing.
func (r *Register[B]) Claim(id berth.SandboxID, fresh func(berth.SandboxID) B) B {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, there := r.all[id]
	if !there {
		if r.all == nil {
			r.all = map[berth.SandboxID]B{}
		}
		b = fresh(id)
		r.all[id] = b
	}
	return b
}

// Forget removes b, unless another one has taken its place.
func (r *Register[B]) Forget(id berth.SandboxID, b B) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[id] == b {
		delete(r.all, id)
	}
}

// Purge removes what over says yes to, which must not use the register.
func (r *Register[B]) Purge(over func(B) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.all, func(_ berth.SandboxID, b B) bool { return over(b) })
}
