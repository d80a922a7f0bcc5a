// Package transfer moves files of any size between clients and sandboxes: over a
// signed URL between client and blobs, and from there on in the background.
package transfer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Config is what a Service needs; Notifier may be nil.
type Config struct {
	Table    berth.Table
	Blobs    berth.Blobs
	Clock    berth.Clock
	IDs      berth.IDs
	Notifier berth.Notifier
	Logger   *slog.Logger
	Provider func(kind berth.ProviderKind) (berth.Provider, error)
	Sandbox  func(ctx context.Context, id berth.SandboxID) (berth.Sandbox, error)
	// SigningKey signs URLs.
	SigningKey []byte
	// Prefix is in front of the API's paths.
	Prefix string
	// Attached lets Commit return when the file has moved, for where nothing runs
	// on behind an answer.
	Attached bool
}

// Presigner is the optional power of blobs to be read and written by whoever has
// a signed URL, without the server.
type Presigner interface {
	URL(ctx context.Context, method, key string, validity time.Duration) (string, error)
}

// Service keeps transfers and moves their files.
type Service struct {
	cfg Config

	moves sync.WaitGroup
	base  context.Context // of moves
	stop  context.CancelFunc
}

// New makes a service. Close it.
func New(cfg Config) *Service {
	s := &Service{cfg: cfg}
	s.base, s.stop = context.WithCancel(context.Background())
	return s
}

// Close waits for files on the move; when ctx ends before, it breaks them off.
// They can be committed again.
func (s *Service) Close(ctx context.Context) error {
	defer s.stop()
	defer context.AfterFunc(ctx, s.stop)()
	s.moves.Wait()
	return ctx.Err()
}

// validity is how long a URL can be used after the transfer was made or moved.
const validity = time.Hour

// Create records a transfer that waits for its bytes or its commit.
func (s *Service) Create(ctx context.Context, sb berth.Sandbox, req berth.TransferRequest) (berth.Transfer, error) {
	_, _ = s.sweep(ctx, berth.Query{PK: partition, Limit: swept}) // the oldest; else the next one does
	t := berth.Transfer{
		ID: s.cfg.IDs.NewID(), Sandbox: sb.ID, Path: req.Path, Direction: req.Direction, Status: berth.TransferWaiting,
		Size: req.Size, SHA256: req.SHA256, Mode: req.Mode, Method: "GET", ExpiresAt: s.cfg.Clock.Now().Add(validity),
	}
	if t.Direction == berth.TransferUpload {
		t.Method = "PUT"
		if t.Mode == 0 {
			t.Mode = 0o644
		}
	}
	_, err := s.put(ctx, record{Transfer: t}, 0)
	return t, err
}

// Find returns not_found. A move whose server died shows as failed.
func (s *Service) Find(ctx context.Context, id string) (berth.Transfer, error) {
	rec, version, err := s.find(ctx, id)
	if err == nil && rec.Handed && rec.Status == berth.TransferMoving {
		return s.look(ctx, rec, version)
	}
	if err == nil && rec.abandoned(s.cfg.Clock.Now()) {
		rec.fail(berth.ReasonLost, "the server ended while it moved the file", "Commit the transfer again.")
	}
	return rec.Transfer, err
}

// Topic is what readers of a transfer wait on.
func Topic(id string) string { return "transfer/" + id }

func (s *Service) notify(id string) {
	if s.cfg.Notifier != nil {
		s.cfg.Notifier.Notify(Topic(id))
	}
}
