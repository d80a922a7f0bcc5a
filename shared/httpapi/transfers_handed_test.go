package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/filemove"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

// bucket are blobs with URLs of their own, as those in S3.
type bucket struct {
	berth.Blobs
	server *httptest.Server
	mu     sync.Mutex // guards methods
	seen   []string
}

func newBucket(t *testing.T, blobs berth.Blobs) *bucket {
	b := &bucket{Blobs: blobs}
	b.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/")
		b.mu.Lock()
		b.seen = append(b.seen, r.Method)
		b.mu.Unlock()
		if r.URL.Query().Get("method") != r.Method {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPut {
			if err := blobs.Put(r.Context(), key, r.Body, r.ContentLength); err != nil {
				w.WriteHeader(http.StatusBadRequest)
			}
			return
		}
		data, err := blobs.Open(r.Context(), key, 0, -1)
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		defer data.Close()
		_, _ = io.Copy(w, data)
	}))
	t.Cleanup(b.server.Close)
	return b
}

func (b *bucket) URL(_ context.Context, method, key string, _ time.Duration) (string, error) {
	return b.server.URL + "/" + key + "?method=" + method, nil
}

// hostProvider moves files by itself, as a provider on a host does.
type hostProvider struct {
	testProvider
	plane *hostPlane
}

func (p hostProvider) Kind() berth.ProviderKind { return berth.ProviderDocker }

func (p hostProvider) StartMove(_ context.Context, ref berth.SandboxRef, move berth.Move) error {
	p.plane.mu.Lock()
	defer p.plane.mu.Unlock()
	if p.plane.err != nil {
		return p.plane.err
	}
	p.plane.started++
	return p.plane.mover.Start(p.testProvider, ref, move)
}

func (p hostProvider) DescribeMove(_ context.Context, ref berth.SandboxRef, id string) (berth.MoveState, error) {
	p.plane.mu.Lock()
	defer p.plane.mu.Unlock()
	if p.plane.err != nil {
		return berth.MoveState{}, p.plane.err
	}
	return p.plane.mover.Describe(p.testProvider.Kind(), ref.ID, id)
}

func (p testProvider) Kind() berth.ProviderKind { return berth.ProviderLocal }

// hostPlane is a plane whose sandboxes are on a host that can die.
type hostPlane struct {
	*testPlane
	mu      sync.Mutex // guards what follows
	mover   *filemove.Mover
	err     error // of the host
	started int
}

func (p *hostPlane) Provider(berth.ProviderKind) (berth.Provider, error) {
	return hostProvider{testProvider{plane: p.testPlane}, p}, nil
}

func (p *hostPlane) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// replace is what a restart of the agent does.
func (p *hostPlane) replace(t *testing.T, b *bucket) {
	m := filemove.New(filemove.Config{Client: b.server.Client()})
	t.Cleanup(m.Close)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mover = m
}

func newHostFixture(t *testing.T) (*fixture, *hostPlane, *bucket, caller) {
	t.Helper()
	p := &hostPlane{}
	var b *bucket
	f := newFixture(t, func(cfg *httpapi.Config) {
		b = newBucket(t, cfg.Blobs)
		p.testPlane = cfg.Plane.(*testPlane)
		cfg.Blobs, cfg.Plane = b, p
	})
	p.replace(t, b)
	f.seedRun(runA, sandboxA)
	return f, p, b, serve(t, f)
}

func (c caller) transfer(req berth.TransferRequest) berth.Transfer {
	c.t.Helper()
	return httpapitest.JSON[berth.Transfer](c.t, c.want(201, "POST /transfers", transferBody(c.t, req)))
}

func TestAHostMovesFilesWithoutTheServer(t *testing.T) {
	t.Parallel()
	f, p, b, c := newHostFixture(t)
	data := bytes.Repeat([]byte{0, 0xff, 'x'}, 1<<20)
	up := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "up", Direction: berth.TransferUpload, Size: int64(len(data)), SHA256: sum(data), Mode: 0o700})
	c.wantProblem(berth.CodeConflict, nil, "POST /transfers/"+up.ID+"/commit", "")
	must(t, f.blobs.Put(t.Context(), "transfers/"+up.ID+"/data", bytes.NewReader(data), int64(len(data))))
	c.want(202, "POST /transfers/"+up.ID+"/commit", "")
	if done := c.finished(up.ID); done.Status != berth.TransferDone || !bytes.Equal(p.files["up"].data, data) || p.files["up"].mode != 0o700 {
		t.Fatalf("the upload: %+v, %+v", done, done.Reason)
	}
	if _, err := f.blobs.Size(t.Context(), "transfers/"+up.ID+"/data"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("the bytes of an upload that is done: %v", err)
	}
	down := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "up", Direction: berth.TransferDownload})
	c.want(202, "POST /transfers/"+down.ID+"/commit", "")
	done := c.finished(down.ID)
	if done.Status != berth.TransferDone || done.Size != int64(len(data)) || done.SHA256 != sum(data) || done.Mode != 0o700 {
		t.Fatalf("the download: %+v, %+v", done, done.Reason)
	}
	if again := httpapitest.JSON[berth.Transfer](t, c.want(202, "POST /transfers/"+down.ID+"/commit", "")); again.Status != berth.TransferDone || p.started != 2 {
		t.Errorf("committed again: %+v, %d moves were started", again, p.started)
	}
	resp, err := b.server.Client().Get(done.URL)
	must(t, err)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the client finds %d bytes, %v", len(got), err)
	}
	if strings.Contains(f.log.String(), "method=") {
		t.Error("a signed URL is in the log")
	}
}

func TestAMoveThatFailsOnItsHostSaysWhyAndCanBeCommittedAgain(t *testing.T) {
	t.Parallel()
	_, p, _, c := newHostFixture(t)
	down := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "late", Direction: berth.TransferDownload})
	c.want(202, "POST /transfers/"+down.ID+"/commit", "")
	if failed := c.finished(down.ID); failed.Status != berth.TransferFailed || failed.Reason == nil || failed.Reason.Code != "not_found" {
		t.Fatalf("%+v, %+v", failed, failed.Reason)
	}
	p.testPlane.mu.Lock()
	p.files["late"] = testFile{[]byte("here"), 0o644}
	p.testPlane.mu.Unlock()
	c.want(202, "POST /transfers/"+down.ID+"/commit", "")
	if done := c.finished(down.ID); done.Status != berth.TransferDone || done.Reason != nil {
		t.Errorf("committed again: %+v, %+v", done, done.Reason)
	}
}

func TestAMoveIsLostWithItsHostAgentAndCanBeCommittedAgain(t *testing.T) {
	t.Parallel()
	f, p, b, c := newHostFixture(t)
	p.files["a"] = testFile{[]byte("bytes"), 0o644}
	gate := make(chan struct{})
	b.server.Config.Handler = gated(gate, b.server.Config.Handler)
	down := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})
	moving := httpapitest.JSON[berth.Transfer](t, c.want(202, "POST /transfers/"+down.ID+"/commit", ""))
	if moving.Status != berth.TransferMoving {
		t.Fatalf("%+v", moving)
	}
	p.fail(berth.Errorf(berth.CodeUnavailable, "the host cannot be reached"))
	if still := c.look(down.ID); still.Status != berth.TransferMoving {
		t.Errorf("while the host does not answer: %+v", still)
	}
	f.clock.advance(2 * time.Minute)
	if lost := c.look(down.ID); lost.Status != berth.TransferFailed || lost.Reason.Code != berth.ReasonLost || !strings.Contains(lost.Reason.Message, "cannot be reached") {
		t.Errorf("when it has not for long: %+v, %+v", lost, lost.Reason)
	}
	p.fail(nil)
	c.want(202, "POST /transfers/"+down.ID+"/commit", "") // which still moves
	p.replace(t, b)
	if lost := c.look(down.ID); lost.Status != berth.TransferFailed || lost.Reason.Code != berth.ReasonLost {
		t.Errorf("after a restart of the agent: %+v, %+v", lost, lost.Reason)
	}
	close(gate)
	c.want(202, "POST /transfers/"+down.ID+"/commit", "")
	if done := c.finished(down.ID); done.Status != berth.TransferDone {
		t.Errorf("committed again: %+v, %+v", done, done.Reason)
	}
}

func gated(gate chan struct{}, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-gate
		h.ServeHTTP(w, r)
	})
}

// look looks once.
func (c caller) look(id string) berth.Transfer {
	c.t.Helper()
	return httpapitest.JSON[berth.Transfer](c.t, c.want(200, "GET /transfers/"+id, ""))
}

func TestAMoveIsRenewedWhileItGoesOn(t *testing.T) {
	t.Parallel()
	f, p, b, c := newHostFixture(t)
	p.files["a"] = testFile{[]byte("bytes"), 0o644}
	gate := make(chan struct{})
	b.server.Config.Handler = gated(gate, b.server.Config.Handler)
	down := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})
	c.want(202, "POST /transfers/"+down.ID+"/commit", "")
	for range 4 {
		f.clock.advance(50 * time.Second)
		if moving := c.look(down.ID); moving.Status != berth.TransferMoving {
			t.Fatalf("%+v, %+v", moving, moving.Reason)
		}
	}
	close(gate)
	if done := c.finished(down.ID); done.Status != berth.TransferDone {
		t.Errorf("%+v, %+v", done, done.Reason)
	}
}

func TestAnAgentThatMovesNoFilesLeavesItToTheServer(t *testing.T) {
	t.Parallel()
	_, p, b, c := newHostFixture(t)
	p.files["a"] = testFile{[]byte("bytes"), 0o644}
	p.fail(berth.Errorf(berth.CodeUnsupported, "the host agent's API has no such path"))
	down := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})
	c.want(202, "POST /transfers/"+down.ID+"/commit", "")
	if done := c.finished(down.ID); done.Status != berth.TransferDone || len(b.seen) != 0 {
		t.Errorf("%+v, %+v; requests to the bucket: %v", done, done.Reason, b.seen)
	}
	p.fail(berth.Errorf(berth.CodeUnavailable, "the host cannot be reached"))
	other := c.transfer(berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})
	c.wantProblem(berth.CodeUnavailable, nil, "POST /transfers/"+other.ID+"/commit", "")
	if waits := c.look(other.ID); waits.Status != berth.TransferWaiting {
		t.Errorf("a transfer whose host was not reached: %+v", waits)
	}
}
