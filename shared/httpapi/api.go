package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/transfer"
)

// API is the handler of a set of operations.
type API struct {
	cfg        Config
	log        *slog.Logger
	mux        *http.ServeMux
	huma       huma.API
	registered []Route
	transfers  *transfer.Service
	keys       *access.Keys

	closing context.Context
	close   context.CancelFunc

	whole func() ([]byte, error) // the OpenAPI document of all routes
}

var _ http.Handler = (*API)(nil)

// New makes the handler of all routes, those of the embedded server only when
// cfg says so. Error: invalid when cfg lacks something.
func New(cfg Config) (*API, error) {
	a, err := newAPI(cfg, schemas())
	if err != nil {
		return nil, err
	}
	byID := operations()
	for _, route := range Routes {
		if !route.Embedded || cfg.Embedded {
			byID[route.ID].add(a, route)
		}
	}
	return a, nil
}

// Operation makes the handler of one route, for the function that serves it.
// Error: not_found for an id that is not in the route table.
func Operation(id string, cfg Config) (*API, error) {
	route, ok := FindRoute(id)
	if !ok || (route.Embedded && !cfg.Embedded) {
		return nil, berth.Errorf(berth.CodeNotFound, "the route table has no operation %s", id)
	}
	a, err := newAPI(cfg, unschooled{})
	if err != nil {
		return nil, err
	}
	operations()[id].add(a, route)
	return a, nil
}

// Close ends long polls, refuses no request, and waits for files that are being
// moved, until ctx ends.
func (a *API) Close(ctx context.Context) error {
	a.close()
	return a.transfers.Close(ctx)
}

// SweepTransfers clears away the transfers that nobody can use any more. Where
// blobs do not expire by themselves, somebody has to ask for it now and then.
func (a *API) SweepTransfers(ctx context.Context) error { return a.transfers.Sweep(ctx) }

func newAPI(cfg Config, registry huma.Registry) (*API, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	a := bare(cfg, registry)
	a.log = cfg.Logger
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.whole = sync.OnceValues(func() ([]byte, error) { return json.Marshal(Document()) })
	a.closing, a.close = context.WithCancel(context.Background())
	a.transfers = transfer.New(transfer.Config{
		Table: cfg.Records.Table, Blobs: cfg.Blobs, Clock: cfg.Clock, IDs: cfg.IDs,
		Provider: cfg.Plane.Provider, Sandbox: cfg.Records.FindSandbox, Notifier: cfg.Records.Notifier,
		SigningKey: cfg.SigningKey, Prefix: Prefix, Logger: a.log, Attached: !cfg.Embedded,
	})
	a.keys = &access.Keys{Records: cfg.Records, Clock: cfg.Clock, IDs: cfg.IDs, Random: cfg.Random}
	if cfg.Random == nil {
		a.keys.Random = rand.Reader
	}
	a.mux.HandleFunc("/", a.unknown)
	return a, nil
}

// bare is an API on which operations can be registered, and not yet called.
func bare(cfg Config, registry huma.Registry) *API {
	a := &API{cfg: cfg, mux: http.NewServeMux()}
	a.huma = humago.NewWithPrefix(mux{a}, Prefix, document(registry))
	return a
}

// Document is the OpenAPI 3.1 document of all routes.
func Document() *huma.OpenAPI {
	a := bare(Config{Embedded: true}, schemas())
	byID := operations()
	for _, route := range Routes {
		byID[route.ID].add(a, route)
	}
	return a.OpenAPI()
}

func (cfg Config) check() error {
	var f faults
	for name, missing := range map[string]bool{
		"Plane": cfg.Plane == nil, "Records": cfg.Records == nil, "Blobs": cfg.Blobs == nil, "Secrets": cfg.Secrets == nil,
		"Waiter": cfg.Waiter == nil, "Authenticator": cfg.Authenticator == nil, "Clock": cfg.Clock == nil, "IDs": cfg.IDs == nil,
	} {
		if missing {
			f.addf(name, "is missing in the API's configuration")
		}
	}
	if len(cfg.SigningKey) < 32 {
		f.addf("SigningKey", "must be 32 bytes or more")
	}
	return f.err()
}

// operations are all handlers by id, each resource's from its own file.
func operations() map[string]operation {
	byID := map[string]operation{}
	for _, group := range [][]operation{
		environmentOperations(), variableOperations(), secretOperations(), runOperations(), eventOperations(),
		logOperations(), sandboxOperations(), streamOperations(), fileOperations(), commandOperations(), transferOperations(),
		hostOperations(), keyOperations(), serviceOperations(),
	} {
		for _, o := range group {
			byID[o.id] = o
		}
	}
	return byID
}

// jsonFormat writes every answer of huma's through the exchange, so that it is
// sent whole or becomes an error.
func jsonFormat() huma.Format {
	return huma.Format{Marshal: func(w io.Writer, v any) error { return w.(*exchange).reply(v) }}
}
