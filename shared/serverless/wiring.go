package serverless

import (
	"crypto/rand"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	s3sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	secretssdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/s3"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/githubapp"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/stepfn"
	"github.com/berth-dev/berth/shared/secret/secretsmanager"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/dynamo"
	"github.com/berth-dev/berth/shared/version"
)

// How long a Follow stays with a command: a quiet one holds no function. A record
// of output costs a transaction and perhaps a blob, so that there is one a second.
const (
	followQuiet = 5 * time.Second
	followTotal = 50 * time.Second
	followFlush = time.Second
)

// Wiring is what functions are made of. Opening it makes no request, so that a
// function is billed for what it uses alone.
type Wiring struct {
	Variables Variables
	Records   *records.Store
	Logger    *slog.Logger

	metrics      *metric.Recorder
	blobs        berth.Blobs
	secrets      berth.Secrets
	orchestrator berth.Orchestrator
	providers    control.Providers
	cloner       gitsource.Source
	guests       Guests
	clock        berth.Clock
	ids          berth.IDs
}

// Open reads the environment and makes the clients. Error: invalid, with every
// variable that is missing or wrong by its name.
func Open(lookup Lookup, options ...Option) (*Wiring, error) {
	v, err := ReadVariables(lookup)
	if err != nil {
		return nil, err
	}
	// The SDK's own loading of configurations knows profiles, single sign-on and
	// instance metadata, none of which a function has; without it functions are
	// smaller and start sooner.
	config := aws.Config{
		Region:      v.Region,
		Credentials: credentials.NewStaticCredentialsProvider(v.AccessKeyID, v.SecretKey, v.SessionToken),
	}
	if v.Endpoint != "" {
		config.BaseEndpoint = aws.String(v.Endpoint)
	}
	clock := berth.SystemClock{}
	w := &Wiring{Variables: v, Logger: newLogger(os.Stderr), clock: clock, ids: ids.New(clock), guests: noGuests}
	for _, option := range options {
		option(w)
	}
	w.metrics = metric.New(metric.NewEMF(os.Stdout, v.Installation, clock))
	config.APIOptions = append(config.APIOptions, countThrottles(w.metrics))
	if w.orchestrator, err = stepfn.New(sfn.NewFromConfig(config), v.StateMachine); err != nil {
		return nil, berth.Wrap(err, "BERTH_STATE_MACHINE")
	}
	w.blobs = s3.NewPresigned(s3sdk.NewFromConfig(config, func(o *s3sdk.Options) { o.UsePathStyle = v.Endpoint != "" }), v.Bucket)
	w.secrets = secretsmanager.New(secretssdk.NewFromConfig(config), v.Installation, clock)
	w.cloner.Credentials = githubapp.New(githubapp.Config{Settings: githubapp.FromSecret(w.secrets), Clock: clock, Logger: w.Logger})
	w.Records = &records.Store{
		Table: dynamo.New(dynamodb.NewFromConfig(config), v.Table, clock), Blobs: w.blobs, Clock: clock, IDs: w.ids,
	}
	w.providers, err = w.openProviders()
	return w, err
}

// openProviders are the providers that functions reach: docker is on once a host
// has joined.
func (w *Wiring) openProviders() (control.Providers, error) {
	cloud, err := w.openDaytona()
	if err != nil {
		return nil, err
	}
	sprite, err := w.openSprites()
	if err != nil {
		return nil, err
	}
	return control.NewProviders(
		control.Off(berth.ProviderLocal, "it runs commands on the server itself, and a server on AWS is functions that end in a moment"),
		w.openHosts(fleet.LendFrom(w.secrets)),
		cloud,
		sprite,
		w.openSSH(),
		w.openExe(),
	), nil
}

// Runner has the tasks of the state machine.
func (w *Wiring) Runner() *runner.Runner {
	return &runner.Runner{
		Records: w.Records, Providers: w.providers, Secrets: w.secrets, Orchestrator: w.orchestrator, Clock: w.clock,
		Installation: w.Variables.Installation, Logger: w.Logger, Metrics: w.metrics, MaxLiveRuns: w.Variables.MaxLiveRuns,
		FollowQuiet: followQuiet, FollowTotal: followTotal, FlushEvery: followFlush, Cloner: w.cloner,
	}
}

// Keys says whom a key stands for.
func (w *Wiring) Keys() *access.Authenticator {
	return access.NewAuthenticator(access.Config{Records: w.Records, Clock: w.clock, Logger: w.Logger})
}

// API is the configuration of every operation.
func (w *Wiring) API() httpapi.Config {
	plane := &control.Plane{
		Records: w.Records, Providers: w.providers, Secrets: w.secrets, Orchestrator: w.orchestrator, IDs: w.ids, Clock: w.clock,
		ServerDefault: w.Variables.DefaultEnvironment, Installation: w.Variables.Installation, Logger: w.Logger, Metrics: w.metrics,
		// Functions reach a host on their own machine in an emulator alone.
		Caller: fleet.Caller{Installation: w.Variables.Installation, Clock: w.clock}, LoopbackHosts: w.Variables.Endpoint != "",
	}
	// The routes whose URLs it signs are the embedded server's; blobs in S3 have
	// URLs of their own.
	unused := make([]byte, 32)
	_, _ = rand.Read(unused) // it never fails
	return httpapi.Config{
		Plane: plane, Records: w.Records, Blobs: w.blobs, Secrets: w.secrets, Waiter: stream.Poll{Clock: w.clock},
		Authenticator: gatewayAuthenticator{httpapi.BearerTokens(w.Keys())}, Clock: w.clock, IDs: w.ids,
		Version: version.Info(w.Variables.Installation), SigningKey: unused, Logger: w.Logger, Metrics: w.metrics,
		PublicURL: w.Variables.PublicURL,
	}
}
