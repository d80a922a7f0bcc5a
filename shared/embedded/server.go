package embedded

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/tokenfile"
	"github.com/berth-dev/berth/shared/tunnel"
	"github.com/berth-dev/berth/shared/version"
)

const shutdownLimit = 5 * time.Second // for the orchestrator at the end

// purgeEvery is how often expired records are removed, which reads never show, and
// the files of transfers that are over.
const purgeEvery = time.Hour

// gcPercent trades a little time for memory: the server is a guest on somebody's
// laptop, and most of what it allocates is output on its way through.
const gcPercent = 50

// Run is the embedded server: it returns nil after ctx has ended, Stop has asked for
// its end or it has been idle for long enough. Errors: conflict when another server has the
// data folder, unavailable for a folder, address or guest that cannot be used.
func Run(ctx context.Context, o Options) (err error) {
	defer func() { err = explainFullDisk(o.DataDir, err) }()
	if o.Clock == nil {
		o.Clock = berth.SystemClock{}
	}
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	p := paths{o.DataDir}
	lock, err := p.claim()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	// That of a server which was killed must not be taken for this one's: it may be
	// at the same address.
	if err := os.Remove(p.server()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusableDataDir(p.dir, err)
	}
	token, err := tokenfile.Open(p.token())
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	logger := slog.New(slog.NewJSONHandler(o.Log, nil))
	s, err := openStores(ctx, p, o)
	if err != nil {
		return err
	}
	defer s.table.Close()
	own, err := openProviders(p, o, s, logger)
	if err != nil {
		return err
	}
	defer letGo(own, logger)
	e, err := newEngine(o, s, own, logger)
	if err != nil {
		return err
	}
	l, left, err := p.openListener(o.Listen, logger)
	if err != nil {
		return err
	}
	defer l.Close()
	if e.api, err = newAPI(e, s, o, l, token, logger); err != nil {
		return err
	}
	end := &ending{token: token, live: s.records.HasLiveRuns, asked: make(chan struct{})}
	return e.run(ctx, o, p, l, left, end.asked, end.beside(prove(token, e.api)))
}

// engine drives runs and answers what the API asks of the control plane.
type engine struct {
	plane        *control.Plane
	runner       *runner.Runner
	orchestrator *asl.Interpreter
	api          *httpapi.API
	streams      *tunnel.Tickets
	agent        *agent
	stores       stores
	logger       *slog.Logger
}

// newEngine makes one that uses the server's own providers.
func newEngine(o Options, s stores, own []berth.Provider, logger *slog.Logger) (*engine, error) {
	agent, err := openAgent(o, s, logger)
	if err != nil {
		return nil, err
	}
	providers, err := agent.beside(own)
	if err != nil {
		return nil, err
	}
	registry := control.NewProviders(withHosts(providers, o, s, logger)...)
	cloner, err := o.GitHub.cloner(o.Clock, logger)
	if err != nil {
		return nil, err
	}
	r := &runner.Runner{
		Records: s.records, Providers: registry, Secrets: s.secrets, Clock: o.Clock,
		Installation: s.installation.ID, Logger: logger, Cloner: cloner,
	}
	definition, err := runner.Definition(nil)
	if err != nil {
		return nil, err
	}
	orchestrator, err := asl.New(asl.Config{
		Definition: definition, Tasks: r.Tasks(), Table: s.table, Clock: o.Clock, IDs: s.records.IDs, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	r.Orchestrator = orchestrator
	streams := tunnel.NewTickets(o.Clock)
	plane := &control.Plane{
		Records: s.records, Providers: registry, Secrets: s.secrets, Orchestrator: orchestrator,
		IDs: s.records.IDs, Clock: o.Clock, ServerDefault: o.Environment,
		Installation: s.installation.ID, Logger: logger, Policy: o.Docker.policy(),
		Caller: fleet.Caller{Installation: s.installation.ID, Clock: o.Clock}, LoopbackHosts: true,
		Room: func() error { return checkSpace(o.DataDir, FreeBytes) }, Tickets: streams,
	}
	return &engine{plane: plane, runner: r, orchestrator: orchestrator, agent: agent, streams: streams, stores: s, logger: logger}, nil
}

func newAPI(e *engine, s stores, o Options, l net.Listener, token string, logger *slog.Logger) (*httpapi.API, error) {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("signed URLs of transfers"))
	return httpapi.New(httpapi.Config{
		Plane: e.plane, Records: s.records, Blobs: s.records.Blobs, Secrets: s.secrets, Waiter: s.hub,
		Authenticator: httpapi.BearerTokens(access.NewAuthenticator(access.Config{
			Records: s.records, Clock: o.Clock, Token: token, Logger: logger,
		})),
		Clock: o.Clock, IDs: s.records.IDs,
		Version: version.Info(s.installation.ID), SigningKey: mac.Sum(nil), Logger: logger,
		PublicURL: urlOf(l), Embedded: true, Streams: e.streams,
	})
}

// run serves until ctx ends, stop is closed or nothing is left to do. left is as
// openListener returned it.
func (e *engine) run(ctx context.Context, o Options, p paths, l net.Listener, left string, stop <-chan struct{}, h http.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := e.orchestrator.Resume(ctx); err != nil {
		return berth.Wrap(err, "going on with the runs of an earlier server")
	}
	if err := e.runner.StartMissing(ctx); err != nil {
		return berth.Wrap(err, "starting the runs that an earlier server only recorded")
	}
	idle := newIdleWatch(o.Clock, o.Idle, e.busy)
	var upkeep sync.WaitGroup
	upkeep.Go(func() { e.agent.greet(ctx) })
	upkeep.Go(func() { e.runner.KeepSweeping(ctx) })
	upkeep.Go(func() { e.runner.KeepPools(ctx) })
	upkeep.Go(func() { e.keepPurging(ctx, o.Clock) })
	idled := make(chan struct{})
	if o.Idle > 0 {
		upkeep.Go(func() {
			if idle.wait(ctx) == nil {
				e.logger.Info("idle", "for", o.Idle.String())
				close(idled)
			}
		})
	}
	served := make(chan error, 1)
	go func() {
		served <- listen.Serve(ctx, e.api.Listener(l), idle.count(h), slog.NewLogLogger(e.logger.Handler(), slog.LevelWarn))
	}()

	file := ServerFile{URL: urlOf(l), PID: os.Getpid(), Version: version.Version, StartedAt: o.Clock.Now(), Left: left}
	err := p.writeServer(file)
	if err == nil {
		e.logger.Info("serving", "url", file.URL, "data", p.dir, "version", file.Version)
		if o.Ready != nil {
			o.Ready(file.URL)
		}
		err = await(ctx, idled, stop, served)
	}
	// Clients must not find a server that no longer takes requests.
	err = errors.Join(err, p.removeServer(file.PID))
	end, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer release()
	cancel()
	e.streams.Close()
	err = errors.Join(err, e.api.Close(end), <-served)
	upkeep.Wait()
	return errors.Join(err, e.orchestrator.Close(end))
}

// await returns when the server is to end.
func await(ctx context.Context, idled, stop <-chan struct{}, served chan error) error {
	select {
	case <-ctx.Done():
	case <-idled:
	case <-stop:
	case err := <-served:
		served <- nil
		return err
	}
	return nil
}

func (e *engine) keepPurging(ctx context.Context, clock berth.Clock) {
	for ctx.Err() == nil {
		if _, err := e.stores.table.Purge(ctx); err != nil && ctx.Err() == nil {
			e.logger.Warn("purging expired records", "error", err)
		}
		if err := e.api.SweepTransfers(ctx); err != nil && ctx.Err() == nil {
			e.logger.Warn("removing the files of old transfers", "error", err)
		}
		if clock.Sleep(ctx, purgeEvery) != nil {
			return
		}
	}
}

// busy reports what keeps the server up beside requests: live runs, and pools
// of warm sandboxes.
func (e *engine) busy(ctx context.Context) (bool, error) {
	if live, err := e.stores.records.HasLiveRuns(ctx); live || err != nil {
		return live, err
	}
	return e.runner.HasPools(ctx)
}
