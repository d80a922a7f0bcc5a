package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func transferBody(t *testing.T, req berth.TransferRequest) string {
	t.Helper()
	b, err := json.Marshal(req)
	must(t, err)
	return string(b)
}

// follow turns a signed URL into a request line.
func follow(t *testing.T, method, signed string) string {
	t.Helper()
	u, err := url.Parse(signed)
	must(t, err)
	if u.Host == "" {
		t.Fatalf("the URL %q is not absolute", signed)
	}
	return method + " /" + u.Path + "?" + u.RawQuery
}

func (c caller) finished(id string) berth.Transfer {
	c.t.Helper()
	for range 20 {
		transfer := httpapitest.JSON[berth.Transfer](c.t, c.want(200, "GET /transfers/"+id+"?wait=1s", ""))
		if transfer.Status != berth.TransferMoving {
			return transfer
		}
	}
	c.t.Fatalf("transfer %s did not end", id)
	return berth.Transfer{}
}

func TestAFileIsUploadedThroughASignedURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	data := bytes.Repeat([]byte("0123456789abcdef"), 600<<10) // over the cap of an ordinary request
	resp := c.want(201, "POST /transfers", transferBody(t, berth.TransferRequest{
		Sandbox: sandboxA[:24], Path: "up.bin", Direction: berth.TransferUpload, Size: int64(len(data)), SHA256: sum(data), Mode: 0o700,
	}))
	made := httpapitest.JSON[berth.Transfer](t, resp)
	if made.Method != "PUT" || made.Status != berth.TransferWaiting || made.Sandbox != sandboxA {
		t.Fatalf("made %+v", made)
	}
	c.wantProblem(berth.CodeConflict, nil, "POST /transfers/"+made.ID+"/commit", "")
	if put := c.sendRaw(follow(t, "PUT", made.URL), data, "Authorization: "); put.Status != 204 {
		t.Fatalf("PUT of the data: %d\n%s", put.Status, put.Body)
	}
	c.want(202, "POST /transfers/"+made.ID+"/commit", "")
	done := c.finished(made.ID)
	if done.Status != berth.TransferDone || !bytes.Equal(f.plane.files["up.bin"].data, data) || f.plane.files["up.bin"].mode != 0o700 {
		t.Fatalf("done %+v, mode %o", done, f.plane.files["up.bin"].mode)
	}
	if again := httpapitest.JSON[berth.Transfer](t, c.want(202, "POST /transfers/"+made.ID+"/commit", "")); again.Status != berth.TransferDone {
		t.Errorf("committed again: %+v", again)
	}
	if _, err := f.blobs.Size(t.Context(), "transfers/"+made.ID+"/data"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("the blob of an upload that is done: %v", err)
	}
	wantProblem(t, c.sendRaw(follow(t, "PUT", made.URL), data), berth.CodeConflict, nil, "data after the end")
}

func TestBytesThatAreNotThoseAnnouncedAreRefused(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		data := []byte("the right bytes")
		made := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", transferBody(t, berth.TransferRequest{
			Sandbox: sandboxA, Path: "a", Direction: berth.TransferUpload, Size: int64(len(data)), SHA256: sum(data),
		})))
		for _, wrong := range []string{"the wrong bytes", "the right byte", "the right bytes!", ""} {
			wantProblem(t, c.sendRaw(follow(t, "PUT", made.URL), []byte(wrong)), berth.CodeInvalid, nil, wrong)
			c.wantProblem(berth.CodeConflict, nil, "POST /transfers/"+made.ID+"/commit", "")
		}
		if put := c.sendRaw(follow(t, "PUT", made.URL), data); put.Status != 204 {
			t.Errorf("the right bytes: %d\n%s", put.Status, put.Body)
		}
	})
}

func TestAFileIsDownloadedThroughASignedURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	data := bytes.Repeat([]byte{0, 1, 2, 0xff}, 700<<10)
	f.plane.files["down.bin"] = testFile{data, 0o640}
	made := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", transferBody(t, berth.TransferRequest{Sandbox: sandboxA, Path: "down.bin", Direction: berth.TransferDownload})))
	wantProblem(t, c.send(follow(t, "GET", made.URL), ""), berth.CodeConflict, nil, "data before the commit")
	c.want(202, "POST /transfers/"+made.ID+"/commit", "")
	done := c.finished(made.ID)
	if done.Status != berth.TransferDone || done.Size != int64(len(data)) || done.SHA256 != sum(data) || done.Mode != 0o640 {
		t.Fatalf("done %+v", done)
	}
	got := c.want(200, follow(t, "GET", done.URL), "", "Authorization: ")
	if !bytes.Equal(got.Body, data) || got.Header.Get("Content-Length") != fmt.Sprint(len(data)) {
		t.Errorf("%d bytes came, or others", len(got.Body))
	}
	c.want(200, follow(t, "HEAD", done.URL), "", "Authorization: ")
}

func TestATransferIsCommittedAndFoundWhenItIsDone(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		f.plane.files["a"] = testFile{[]byte("here"), 0o644}
		made := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", transferBody(t, berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})))
		c.want(202, "POST /transfers/"+made.ID+"/commit", "")
		done := httpapitest.JSON[berth.Transfer](t, c.want(200, "GET /transfers/"+made.ID+"?wait=20s", ""))
		if got := c.want(200, follow(t, "GET", done.URL), "", "Authorization: "); done.Status != berth.TransferDone || string(got.Body) != "here" {
			t.Errorf("found %+v with %q", done, got.Body)
		}
	})
}

func TestATransferThatFailsSaysWhyAndCanBeCommittedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	made := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", transferBody(t, berth.TransferRequest{Sandbox: sandboxA, Path: "late", Direction: berth.TransferDownload})))
	c.want(202, "POST /transfers/"+made.ID+"/commit", "")
	failed := c.finished(made.ID)
	if failed.Status != berth.TransferFailed || failed.Reason == nil || failed.Reason.Code != "not_found" || failed.Reason.Remediation == "" {
		t.Fatalf("failed %+v", failed)
	}
	f.plane.mu.Lock()
	f.plane.files["late"] = testFile{[]byte("here"), 0o644}
	f.plane.mu.Unlock()
	c.want(202, "POST /transfers/"+made.ID+"/commit", "")
	if done := c.finished(made.ID); done.Status != berth.TransferDone || done.Reason != nil {
		t.Errorf("after the second commit %+v", done)
	}
}

func TestOnlyAURLThatWasSignedAndHasNotExpiredIsServed(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		data := []byte("bytes")
		upload := transferBody(t, berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferUpload, Size: 5, SHA256: sum(data)})
		made := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", upload))
		other := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", upload))
		line := follow(t, "PUT", made.URL)
		for name, bad := range ordered(map[string]string{
			"without a signature":         strings.Split(line, "?")[0],
			"for another transfer":        strings.Replace(line, made.ID, other.ID, 1),
			"for another method":          strings.Replace(line, "PUT", "GET", 1),
			"with another expiry":         strings.Replace(line, "expires=1", "expires=2", 1),
			"with a digit of it changed":  line[:len(line)-1] + string("01"[(line[len(line)-1]+1)%2]),
			"with a signature cut short":  line[:len(line)-2],
			"with a signature of nothing": line[:strings.Index(line, "signature=")] + "signature=",
		}) {
			wantProblem(t, c.sendRaw(bad, data), berth.CodeUnauthenticated, nil, name)
		}
		f.clock.advance(59 * time.Minute)
		if put := c.sendRaw(line, data); put.Status != 204 {
			t.Errorf("within the hour: %d\n%s", put.Status, put.Body)
		}
		f.clock.advance(time.Minute)
		wantProblem(t, c.sendRaw(line, data), berth.CodeUnauthenticated, nil, "after an hour")
	})
}

func TestBadTransfers(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		c.wantProblem(berth.CodeInvalid, []string{"path", "sandbox", "direction"}, "POST /transfers", `{}`)
		c.wantProblem(berth.CodeInvalid, []string{"size", "sha256", "mode"}, "POST /transfers",
			`{"sandbox":"`+string(sandboxA)+`","path":"a","direction":"upload","size":-1,"mode":4095}`)
		c.wantProblem(berth.CodeInvalid, []string{"direction"}, "POST /transfers", `{"sandbox":"`+string(sandboxA)+`","path":"a","direction":"sideways"}`)
		c.wantProblem(berth.CodeNotFound, []string{"sandbox"}, "POST /transfers", `{"sandbox":"`+string(sandboxB)+`","path":"a","direction":"download"}`)
		c.wantProblem(berth.CodeNotFound, nil, "GET /transfers/"+string(runA), "")
		c.wantProblem(berth.CodeNotFound, nil, "POST /transfers/"+string(runA)+"/commit", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.wait"}, "GET /transfers/"+string(runA)+"?wait=1h", "")
	})
}

func TestATransferMadeTwiceWithOneKeyIsOne(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		body := transferBody(t, berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})
		first := c.want(201, "POST /transfers", body, "Idempotency-Key: k")
		again := c.want(201, "POST /transfers", body, "Idempotency-Key: k")
		if string(first.Body) != string(again.Body) {
			t.Errorf("%s and %s", first.Body, again.Body)
		}
	})
}

func TestOldTransfersAreClearedAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	f.plane.files["a"] = testFile{[]byte("x"), 0o644}
	body := transferBody(t, berth.TransferRequest{Sandbox: sandboxA, Path: "a", Direction: berth.TransferDownload})
	old := httpapitest.JSON[berth.Transfer](t, c.want(201, "POST /transfers", body))
	c.want(202, "POST /transfers/"+old.ID+"/commit", "")
	c.finished(old.ID)
	f.clock.advance(3 * time.Hour)
	c.want(201, "POST /transfers", body)
	c.wantProblem(berth.CodeNotFound, nil, "GET /transfers/"+old.ID, "")
	if _, err := f.blobs.Size(t.Context(), "transfers/"+old.ID+"/data"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("the old blob: %v", err)
	}
}

func TestOldTransfersAreSweptWithoutANewOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	old := make([]berth.Transfer, 45) // over more than two pages of a sweep
	for i := range old {
		old[i] = c.uploaded([]byte("bytes"))
	}
	f.clock.advance(90 * time.Minute)
	young := c.uploaded([]byte("bytes"))
	must(t, f.api.SweepTransfers(t.Context()))
	c.want(200, "GET /transfers/"+old[0].ID, "") // it may still be asked for
	f.clock.advance(time.Hour)
	must(t, f.api.SweepTransfers(t.Context()))
	for _, transfer := range old {
		c.wantProblem(berth.CodeNotFound, nil, "GET /transfers/"+transfer.ID, "")
		if _, err := f.blobs.Size(t.Context(), "transfers/"+transfer.ID+"/data"); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("the old blob: %v", err)
		}
	}
	c.want(200, "GET /transfers/"+young.ID, "")
}

// uploaded makes an upload whose bytes have arrived.
func (c caller) uploaded(data []byte) berth.Transfer {
	c.t.Helper()
	made := httpapitest.JSON[berth.Transfer](c.t, c.want(201, "POST /transfers", transferBody(c.t, berth.TransferRequest{
		Sandbox: sandboxA, Path: "up", Direction: berth.TransferUpload, Size: int64(len(data)), SHA256: sum(data),
	})))
	if put := c.sendRaw(follow(c.t, "PUT", made.URL), data); put.Status != 204 {
		c.t.Fatalf("PUT of the data: %d\n%s", put.Status, put.Body)
	}
	return made
}

func TestAMoveThatDiedWithItsServerFailsAndCanBeCommittedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	gate := make(chan struct{})
	f.plane.gate = gate
	made := c.uploaded([]byte("bytes"))
	c.want(202, "POST /transfers/"+made.ID+"/commit", "")
	if moving := httpapitest.JSON[berth.Transfer](t, c.want(200, "GET /transfers/"+made.ID+"?wait=10ms", "")); moving.Status != berth.TransferMoving {
		t.Fatalf("a move that stands still: %+v", moving)
	}
	wantProblem(t, c.sendRaw(follow(t, "PUT", made.URL), []byte("bytes")), berth.CodeConflict, nil, "data during the move")
	f.clock.advance(2 * time.Minute)
	lost := httpapitest.JSON[berth.Transfer](t, c.want(200, "GET /transfers/"+made.ID+"?wait=20s", ""))
	if lost.Status != berth.TransferFailed || lost.Reason.Code != berth.ReasonLost {
		t.Fatalf("after its lease: %+v", lost)
	}
	f.plane.mu.Lock()
	f.plane.gate = nil
	f.plane.mu.Unlock()
	c.want(202, "POST /transfers/"+made.ID+"/commit", "")
	if done := c.finished(made.ID); done.Status != berth.TransferDone || string(f.plane.files["up"].data) != "bytes" {
		t.Errorf("committed again: %+v", done)
	}
	close(gate) // the first move comes too late to change what was recorded
}

func TestClosingTheServerWaitsForFilesOnTheMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	gate := make(chan struct{})
	f.plane.gate = gate
	made := c.uploaded([]byte("bytes"))
	var wg sync.WaitGroup
	for range 4 { // commits at once are one move
		wg.Go(func() {
			if resp := c.send("POST /transfers/"+made.ID+"/commit", ""); resp.Status != 202 {
				t.Errorf("commit: status %d\n%s", resp.Status, resp.Body)
			}
		})
	}
	wg.Wait()
	closed := make(chan error, 1)
	go func() { closed <- f.api.Close(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-closed:
		t.Fatalf("closed during the move: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(gate)
	must(t, <-closed)
	if string(f.plane.files["up"].data) != "bytes" {
		t.Error("the file did not arrive")
	}
}
