package berth

import "context"

// Placement is where a sandbox is to be made.
type Placement struct {
	// Host is empty for the server's own provider.
	Host HostID
	// Wait says why nobody can take the sandbox now; empty when somebody can.
	Wait string
}

// Placer is the optional power of a provider whose sandboxes are on hosts.
type Placer interface {
	// Place keeps a place for the sandbox on a host that has room for what e
	// demands, or says why there is none. The same sandbox has one place. Destroy
	// gives it back, Stop what it takes, and Start takes that again.
	Place(ctx context.Context, sandbox SandboxID, e Environment) (Placement, error)
	// Admits refuses an environment whose labels choose hosts of which there is none,
	// joined or still to join: no run of it need begin to wait. Error: unsupported.
	Admits(ctx context.Context, e Environment) error
	// Survey is Place without keeping anything. Errors: unavailable when nobody will
	// take such a sandbox as things are, with why; those of Admits.
	Survey(ctx context.Context, e Environment) (wait string, err error)
	// HostLost says why a host, and all that is on it, is not to be waited for any
	// more; empty when it is.
	HostLost(ctx context.Context, host HostID) (why string, err error)
	// HealPlaces gives back the places of sandboxes that are gone.
	HealPlaces(ctx context.Context) error
}
