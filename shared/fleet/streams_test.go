package fleet_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// IssueTicket says in the ticket whose agent gave it out.
func (l link) IssueTicket(_ context.Context, ref berth.SandboxRef, _ berth.StreamSpec, _ time.Duration) (berth.Ticket, error) {
	return berth.Ticket{Value: string(ref.ID), URL: "https://" + string(ref.Host)}, l.fault()
}

// ownEngine is a server's own engine that opens streams.
type ownEngine struct{ *runnertest.Provider }

var errOpened = errors.New("opened by the server's own engine")

func (ownEngine) OpenStream(context.Context, berth.SandboxRef, berth.StreamSpec) (io.ReadWriteCloser, error) {
	return nil, errOpened
}

func TestAStreamIsOpenedAtTheHostOrByTheServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	host := f.host("eu-1", 4, 8e9)
	f.engine = ownEngine{runnertest.NewProvider()}
	far, own := f.made("eu-1"), f.made("")
	spec := berth.StreamSpec{Kind: berth.StreamShell}
	if got, err := f.IssueTicket(t.Context(), far, spec, 0); err != nil || got.URL != "https://eu-1" || got.Value != string(far.ID) {
		t.Errorf("IssueTicket on a host = %+v, %v", got, err)
	}
	if got, err := f.IssueTicket(t.Context(), own, spec, 0); err != nil || got.URL != "" {
		t.Errorf("IssueTicket with the server's own engine = %+v, %v; want none", got, err)
	}
	if _, err := f.OpenStream(t.Context(), own, spec); !errors.Is(err, errOpened) {
		t.Errorf("OpenStream with the server's own engine: %v", err)
	}
	_, err := f.OpenStream(t.Context(), far, spec)
	wantCode(t, "OpenStream on a host", err, berth.CodeUnsupported)
	host.set(func(a *agent) { a.down = berth.Errorf(berth.CodeUnavailable, "nobody answers") })
	_, err = f.IssueTicket(t.Context(), far, spec, 0)
	wantCode(t, "IssueTicket on a host that is down", err, berth.CodeUnavailable, "eu-1")
	_, err = f.IssueTicket(t.Context(), berth.SandboxRef{ID: far.ID, Host: "eu-9"}, spec, 0)
	wantCode(t, "IssueTicket on a host that was removed", err, berth.CodeNotFound)
}
