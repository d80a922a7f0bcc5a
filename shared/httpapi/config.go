package httpapi

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/tunnel"
)

// Config is what the API is made of. All fields are required but those that say
// otherwise.
type Config struct {
	Plane         Plane
	Records       *records.Store
	Blobs         berth.Blobs
	Secrets       berth.Secrets
	Waiter        berth.Waiter
	Authenticator Authenticator
	Clock         berth.Clock
	IDs           berth.IDs
	Version       berth.Version
	// SigningKey signs the URLs of transfers: 32 bytes or more. URLs outlast a
	// restart when it does.
	SigningKey []byte
	// Random is what new keys are made of; the system's when nil.
	Random io.Reader
	// Logger takes one line a request and the text of internal errors; none when nil.
	Logger *slog.Logger
	// Metrics counts requests that fail by no fault of their sender's; nil where
	// nobody does.
	Metrics *metric.Recorder
	// PublicURL is the server's address as agents and clients see it; when empty,
	// that of the request.
	PublicURL string
	// Hosts are names that a Host header may have on a loopback listener, beside
	// localhost and addresses.
	Hosts []string
	// Streams carries streams into sandboxes that the server itself reaches; nil
	// where it carries none.
	Streams *tunnel.Tickets
	// Embedded turns on what the route table marks so: the routes of the embedded
	// server, and server-sent events.
	Embedded bool
}

// Plane is what the API asks of the control plane.
type Plane interface {
	runPlane
	environmentPlane
	sandboxPlane
	commandPlane
	hostPlane
}

type runPlane interface {
	CreateRun(ctx context.Context, id berth.RunID, req berth.RunRequest, createdBy string) (berth.RunID, error)
	Preflight(ctx context.Context, req berth.RunRequest, mayRun bool) (berth.Preflight, error)
	CancelRun(ctx context.Context, id berth.RunID) error
	DeleteRun(ctx context.Context, id berth.RunID) error
}

// environmentPlane adds the synthetic `local` to what is stored.
type environmentPlane interface {
	FindEnvironment(ctx context.Context, id berth.EnvironmentID) (records.StoredEnvironment, error)
	ListEnvironments(ctx context.Context, limit int, cursor string) ([]records.StoredEnvironment, string, error)
	CreateEnvironment(ctx context.Context, e berth.Environment) (records.StoredEnvironment, error)
	ReplaceEnvironment(ctx context.Context, e berth.Environment, version int64) (records.StoredEnvironment, error)
	DeleteEnvironment(ctx context.Context, id berth.EnvironmentID, version int64) error
	CheckEnvironment(ctx context.Context, id berth.EnvironmentID) (berth.Preflight, error)
}

type sandboxPlane interface {
	StopSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error)
	StartSandbox(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error)
	DestroySandbox(ctx context.Context, id berth.SandboxID) error
	ForgetSandbox(ctx context.Context, id berth.SandboxID) error
	OpenShell(ctx context.Context, sb berth.Sandbox, req berth.ShellRequest) (berth.ShellAccess, error)
	OpenPreview(ctx context.Context, sb berth.Sandbox, req berth.PreviewRequest) (berth.PreviewAccess, error)
	// Provider serves the file routes.
	Provider(kind berth.ProviderKind) (berth.Provider, error)
}

type hostPlane interface {
	AddHost(ctx context.Context, made string, req berth.HostRequest, by string) (berth.JoinToken, error)
	JoinHost(ctx context.Context, join berth.HostJoin) (berth.JoinedHost, error)
	BeatHost(ctx context.Context, id berth.HostID, beat berth.Heartbeat) error
	NudgeHost(ctx context.Context, id berth.HostID, nudge berth.Nudge) error
	DrainHost(ctx context.Context, id berth.HostID, draining bool) (berth.Host, error)
	RemoveHost(ctx context.Context, id berth.HostID, force bool) error
}

type commandPlane interface {
	StartCommand(ctx context.Context, sb berth.Sandbox, req berth.CommandRequest) (berth.Command, error)
	DescribeCommand(ctx context.Context, sb berth.Sandbox, id berth.CommandID) (berth.Command, error)
	CommandOutput(ctx context.Context, sb berth.Sandbox, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.OutputReply, error)
	WriteInput(ctx context.Context, sb berth.Sandbox, id berth.CommandID, req berth.StdinRequest) (berth.StdinReply, error)
	SignalCommand(ctx context.Context, sb berth.Sandbox, id berth.CommandID, signal string) error
}
