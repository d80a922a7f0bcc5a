package records

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Pooled is a sandbox that was made ahead of the run that will take it. Its mark
// is the right to it: whoever removes the mark has the sandbox.
type Pooled struct {
	Environment berth.EnvironmentID `json:"environment"`
	Sandbox     berth.SandboxID     `json:"sandbox"`
	Recipe      string              `json:"recipe"`
	Ready       bool                `json:"ready"`
	// FailedAt is when it could not be made. It holds its place for a while, so
	// that an image that is missing is not asked for all the time.
	FailedAt *time.Time `json:"failed_at,omitempty"`

	version int64
}

const pkPool = "pool"

func skPool(environment berth.EnvironmentID, sandbox berth.SandboxID) string {
	return string(environment) + "#" + string(sandbox)
}

func (p Pooled) item() (berth.Item, error) {
	body, err := encode(p)
	return berth.Item{PK: pkPool, SK: skPool(p.Environment, p.Sandbox), Version: p.version, Body: body}, err
}

// CreatePooled records the intent of a pooled sandbox before a provider is called.
func (s *Store) CreatePooled(ctx context.Context, p Pooled, sb berth.Sandbox) error {
	sb.CreatedAt = s.Clock.Now()
	sb.UpdatedAt = sb.CreatedAt
	return s.putPooled(ctx, p, sb, 0)
}

// ReadyPooled lets runs take a sandbox, whose record is written with it.
func (s *Store) ReadyPooled(ctx context.Context, p Pooled, state berth.SandboxState) error {
	var sb berth.Sandbox
	version, err := s.find(ctx, pkSandbox, string(p.Sandbox), &sb)
	if err != nil {
		return rename(err, berth.CodeNotFound, noSandbox(p.Sandbox))
	}
	sb.Status, sb.Ref, sb.Workspace, sb.Hint, sb.UpdatedAt = berth.SandboxReady, state.Ref, state.Workspace, state.Hint, s.Clock.Now()
	p.Ready = true
	return s.putPooled(ctx, p, sb, version)
}

// FailPooled notes that a sandbox could not be made.
func (s *Store) FailPooled(ctx context.Context, p Pooled) error {
	now := s.Clock.Now()
	p.FailedAt = &now
	mark, err := p.item()
	if err != nil {
		return err
	}
	_, err = s.Table.Put(ctx, mark)
	return berth.Wrap(err, "recording pooled sandbox "+string(p.Sandbox))
}

func (s *Store) putPooled(ctx context.Context, p Pooled, sb berth.Sandbox, version int64) error {
	mark, err := p.item()
	if err != nil {
		return err
	}
	item, err := sandboxItem(sb, version)
	if err != nil {
		return err
	}
	return berth.Wrap(s.Table.Transact(ctx, []berth.Write{{Item: mark}, {Item: item}}), "recording pooled sandbox "+string(sb.ID))
}

// RetirePooled takes a sandbox out of its pool, for its destruction: the record
// says destroyed from here on, so that the sweeper finishes what is cut short.
// retired is false when a run was faster.
func (s *Store) RetirePooled(ctx context.Context, p Pooled) (retired bool, err error) {
	var sb berth.Sandbox
	version, err := s.find(ctx, pkSandbox, string(p.Sandbox), &sb)
	if err != nil {
		return false, rename(err, berth.CodeNotFound, noSandbox(p.Sandbox))
	}
	sb.Status, sb.UpdatedAt = berth.SandboxDestroyed, s.Clock.Now()
	item, err := sandboxItem(sb, version)
	if err != nil {
		return false, err
	}
	mark := berth.Item{PK: pkPool, SK: skPool(p.Environment, p.Sandbox), Version: p.version}
	err = s.Table.Transact(ctx, []berth.Write{{Item: mark, Delete: true}, {Item: item}})
	if isStale(err) {
		return false, nil
	}
	return err == nil, berth.Wrap(err, "retiring pooled sandbox "+string(p.Sandbox))
}

// ListPooled returns the sandboxes that no run has taken, those of one
// environment when it is not empty.
func (s *Store) ListPooled(ctx context.Context, environment berth.EnvironmentID) ([]Pooled, error) {
	q := berth.Query{PK: pkPool}
	if environment != "" {
		q.Prefix = skPool(environment, "")
	}
	pooled := []Pooled{}
	err := s.walk(ctx, q, func(item berth.Item) (bool, error) {
		p := Pooled{}
		err := decode(item, &p)
		p.version = item.Version
		pooled = append(pooled, p)
		return true, err
	})
	return pooled, err
}

// ClaimPooled gives the run a ready sandbox of its environment and recipe in
// place of the one it was going to make, or says that there is none.
func (c *Change) ClaimPooled(ctx context.Context, recipe string) (claimed bool, err error) {
	pooled, err := c.store.ListPooled(ctx, c.Head.Environment)
	if err != nil {
		return false, err
	}
	for _, p := range pooled {
		if !p.Ready || p.Recipe != recipe {
			continue
		}
		unused, err := c.store.Table.Get(ctx, pkSandbox, string(c.Head.Sandbox))
		if err != nil {
			return false, rename(err, berth.CodeNotFound, noSandbox(c.Head.Sandbox))
		}
		var planned berth.Sandbox
		if err := decode(unused, &planned); err != nil {
			return false, err
		}
		c.Head.Sandbox = p.Sandbox
		sb, err := c.Sandbox(ctx)
		if err != nil {
			return false, err
		}
		sb.Run, sb.UpdatedAt, sb.KeptAfterRun = c.Head.ID, c.store.Clock.Now(), planned.KeptAfterRun
		c.Write(berth.Write{Item: berth.Item{PK: pkPool, SK: skPool(p.Environment, p.Sandbox), Version: p.version}, Delete: true})
		c.Write(berth.Write{Item: berth.Item{PK: unused.PK, SK: unused.SK, Version: unused.Version}, Delete: true})
		return true, nil
	}
	return false, nil
}
