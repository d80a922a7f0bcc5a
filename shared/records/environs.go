package records

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// SandboxEnvironment is a recorded sandbox with the environment of its run.
type SandboxEnvironment struct {
	Sandbox     berth.Sandbox
	Environment berth.Environment
}

const (
	sandboxPage = 200
	// destroyedFor is how long a sandbox that was destroyed is listed all the same:
	// somebody may have made it anew meanwhile who did not know.
	destroyedFor = 24 * time.Hour
)

// ListSandboxEnvironments returns the sandboxes of a provider that are there, or
// were until not long ago, oldest first. Those whose run has been deleted have no
// environment and are left out.
func (s *Store) ListSandboxEnvironments(ctx context.Context, kind berth.ProviderKind) ([]SandboxEnvironment, error) {
	var all []SandboxEnvironment
	for cursor := ""; ; {
		page, next, err := s.ListSandboxes(ctx, sandboxPage, cursor)
		if err != nil {
			return nil, err
		}
		for _, sb := range page {
			over := sb.Status == berth.SandboxDestroyed && s.Clock.Now().Sub(sb.UpdatedAt) > destroyedFor
			if sb.Provider != kind || sb.Run == "" || over {
				continue
			}
			def, err := s.FindDefinition(ctx, sb.Run)
			if berth.CodeOf(err) == berth.CodeNotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, SandboxEnvironment{sb, def.Environment})
		}
		if cursor = next; cursor == "" {
			return all, nil
		}
	}
}
