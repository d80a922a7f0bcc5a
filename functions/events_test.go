package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/dir"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/runner/stepfn"
	"github.com/berth-dev/berth/shared/serverless"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

// variables are a whole environment of a function.
func variables(name string) (string, bool) {
	value, ok := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
		"BERTH_TABLE": "berth", "BERTH_BUCKET": "berth", "BERTH_INSTALLATION": "test",
		"BERTH_STATE_MACHINE": "arn:aws:states:eu-west-1:123456789012:stateMachine:berth-runs",
	}[name]
	return value, ok
}

// wiring is that of functions, over stores of this machine where it matters.
func wiring(t *testing.T) (*serverless.Wiring, *records.Store) {
	t.Helper()
	w, err := serverless.Open(variables)
	if err != nil {
		t.Fatal(err)
	}
	w.Logger = slog.New(slog.DiscardHandler)
	clock := berth.SystemClock{}
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), clock)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.Open(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
		if err := blobs.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, &records.Store{Table: table, Blobs: blobs, Clock: clock, IDs: ids.New(clock)}
}

func readSample(t *testing.T, kind, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kind, name, "event.json"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if kind == "api" { // the gateway's form has no other fields
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s/%s/event.json: %v", kind, name, err)
	}
}

func TestSampleEventsAreGoodRequests(t *testing.T) {
	w, store := wiring(t)
	secrets := &runnertest.Secrets{}
	for _, route := range apiRoutes() {
		t.Run(route.ID, func(t *testing.T) {
			cfg := w.API()
			cfg.Records, cfg.Blobs, cfg.Secrets, cfg.Logger = store, store.Blobs, secrets, nil
			cfg.Plane = &control.Plane{
				Records: store, Providers: control.NewProviders(), Secrets: secrets, Orchestrator: idle{},
				IDs: store.IDs, Clock: store.Clock, Installation: "test", Logger: slog.New(slog.DiscardHandler),
				Caller: fleet.Caller{Installation: "test", Clock: store.Clock},
			}
			api, err := httpapi.Operation(route.ID, cfg)
			if err != nil {
				t.Fatal(err)
			}
			var event events.APIGatewayProxyRequest
			readSample(t, "api", route.ID, &event)
			reply, err := gateway.New(api)(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			var problem httpapi.ProblemDocument
			if reply.StatusCode >= 400 {
				if err := json.Unmarshal([]byte(reply.Body), &problem); err != nil {
					t.Fatalf("the answer %d is no problem: %s", reply.StatusCode, reply.Body)
				}
			}
			switch problem.Code {
			case "", berth.CodeNotFound, berth.CodeStale: // there is nothing yet, or it changed since
			case berth.CodeUnauthenticated: // a join's token is nobody's here
				if route.Scope != berth.ScopeNone {
					t.Errorf("the sample is turned down: %s", reply.Body)
				}
			case berth.CodeInvalid: // as no provider is on in this wiring
				if len(problem.Errors) != 1 || problem.Errors[0].Location != "environment.provider" {
					t.Errorf("the sample is refused: %s", reply.Body)
				}
			default:
				t.Errorf("the sample is answered with %d: %s", reply.StatusCode, reply.Body)
			}
		})
	}
}

func TestTasksDoNothingForARunThatIsNotThere(t *testing.T) {
	w, store := wiring(t)
	for _, name := range tasks() {
		t.Run(name, func(t *testing.T) {
			r := w.Runner()
			r.Records, r.Orchestrator, r.Secrets = store, idle{}, &runnertest.Secrets{}
			var event json.RawMessage
			readSample(t, "runner", folderOf(name), &event)
			output, err := stepfn.Handler(name, r.Tasks()[name], w.Logger)(t.Context(), event)
			if err != nil || !json.Valid(output) {
				t.Errorf("%s of an unknown run = %s, %v", name, output, err)
			}
		})
	}
}

func TestTheAuthorizerTurnsItsSampleDown(t *testing.T) {
	w, store := wiring(t)
	w.Records = store
	var event events.APIGatewayCustomAuthorizerRequest
	readSample(t, "events", "authorizer", &event)
	if _, err := serverless.Authorizer(w.Keys(), w.Logger)(t.Context(), event); err == nil || err.Error() != "Unauthorized" {
		t.Errorf("the authorizer says %v, want Unauthorized", err)
	}
}

func TestTheSweeperSettlesANewInstallation(t *testing.T) {
	c := newCloud(t)
	w, err := serverless.Open(func(name string) (string, bool) { v, ok := c.variables[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	store := c.records
	var event json.RawMessage
	readSample(t, "events", "sweeper", &event)
	for range 2 {
		if _, err := w.Sweeper()(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	in, err := store.OpenInstallation(t.Context())
	if err != nil || in.ID != "test" {
		t.Errorf("the installation is %+v, %v, want the one that the functions name", in, err)
	}
	if _, err := store.FindEnvironment(t.Context(), berth.DefaultEnvironmentID); err != nil {
		t.Errorf("the default environment: %v", err)
	}
}

// idle is an orchestrator that takes everything and does nothing.
type idle struct{}

var _ berth.Orchestrator = idle{}

func (idle) Start(context.Context, berth.ExecutionID, []byte) error { return nil }

func (idle) Stop(context.Context, berth.ExecutionID, string) error { return nil }

func (idle) Describe(_ context.Context, id berth.ExecutionID) (berth.Execution, error) {
	return berth.Execution{ID: id, Status: berth.ExecutionMissing}, nil
}

func (idle) Answer(context.Context, string, []byte) error { return nil }

func TestTheBootstrapGivesOneFirstKeyUnlessForced(t *testing.T) {
	w, store := wiring(t)
	w.Records = store
	var event serverless.BootstrapRequest
	readSample(t, "events", "bootstrap", &event)
	bootstrap := w.Bootstrap()
	first, err := bootstrap(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	who, err := w.Keys().Authenticate(t.Context(), first.Value)
	if err != nil || !slices.Equal(who.Scopes, []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin}) {
		t.Errorf("the key stands for %+v, %v", who, err)
	}
	if in, err := store.OpenInstallation(t.Context()); err != nil || in.ID != "test" {
		t.Errorf("the installation is %+v, %v, want that the bootstrap settles it", in, err)
	}
	var named messages.InvokeResponse_Error
	if again, err := bootstrap(t.Context(), event); !errors.As(err, &named) || named.Type != serverless.ConflictName || again.Value != "" {
		t.Errorf("a second bootstrap = %+v, %v, want a conflict", again, err)
	}
	forced, err := bootstrap(t.Context(), serverless.BootstrapRequest{Force: true})
	if err != nil || forced.Value == first.Value {
		t.Errorf("a forced bootstrap = %v", err)
	}
	for _, id := range []berth.KeyID{first.ID, forced.ID} {
		if err := store.DeleteKey(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bootstrap(t.Context(), event); err != nil {
		t.Errorf("a bootstrap when all keys are removed = %v", err)
	}
}
