//go:build linux

package daemon

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent"
)

// Server answers for one sandbox over any number of connections.
type Server struct {
	name  string
	agent func() (*hostagent.Sandbox, error)
	life  Life
	ended chan struct{} // closed when the sandbox has been destroyed
	once  sync.Once
	// answering is how many requests are worked on.
	answering atomic.Int64

	mu   sync.Mutex // guards puts
	puts map[string]*put
}

// Life is what makes, stops and ends the sandbox. It is nil where the provider
// does that from outside.
type Life interface {
	Provision(ctx context.Context, p wire.Provision) (berth.SandboxState, error)
	Describe(ctx context.Context) (berth.SandboxState, error)
	Halt(ctx context.Context) error
	Resume(ctx context.Context) (berth.SandboxState, error)
	Destroy(ctx context.Context) error
}

// newName tells things apart. It is no secret, so it need not be of crypto/rand,
// which is too large for a guest.
func newName() string {
	return strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36)
}

// NewServer answers from what agent finds: the sandbox's commands and files, or
// not_found.
func NewServer(agent func() (*hostagent.Sandbox, error), life Life) *Server {
	return &Server{name: newName(), agent: agent, life: life, ended: make(chan struct{}), puts: map[string]*put{}}
}

func (s *Server) end() { s.once.Do(func() { close(s.ended) }) }

func (s *Server) doLife(ctx context.Context, m wire.Message) (any, error) {
	if s.life == nil {
		return nil, berth.Errorf(berth.CodeUnsupported, "this sandbox is made and ended from outside")
	}
	var state berth.SandboxState
	var err error
	switch m.Op {
	case wire.OpProvision:
		p, err := decode[wire.Provision](m)
		if err != nil {
			return nil, err
		}
		if state, err = s.life.Provision(ctx, p); err != nil {
			return nil, err
		}
	case wire.OpDescribe:
		state, err = s.life.Describe(ctx)
	case wire.OpResume:
		state, err = s.life.Resume(ctx)
	case wire.OpHalt:
		return nil, s.life.Halt(ctx)
	default:
		return nil, s.life.Destroy(ctx)
	}
	if err != nil {
		return nil, err
	}
	return wire.StateOf(state), nil
}
