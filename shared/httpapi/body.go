package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// bodyTime is how long a client may take to send a body that is not streamed.
const bodyTime = 30 * time.Second

// What is unread of a refused body is read on this far, for at most this long.
const (
	drainCap  = 64 << 20
	drainTime = 5 * time.Second
)

// incoming is the body of a request. It knows whether the client has sent all.
type incoming struct {
	io.ReadCloser
	begun, ended bool
}

func (b *incoming) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// limitBody gives the client d from now to send the rest of the body, or for ever
// when d is 0. It is in force after the handler too, while net/http reads what the
// handler left.
func (x *exchange) limitBody(d time.Duration) {
	var end time.Time
	if d > 0 {
		end = time.Now().Add(d)
	}
	// Not every writer has deadlines: there is none behind the gateway.
	_ = http.NewResponseController(x.w).SetReadDeadline(end)
}

// refuse prepares an error to a request whose body was not read to its end: the
// connection is not used again, and what is unread does not hold the answer back.
func (x *exchange) refuse() {
	if x.body == nil || x.body.ended || http.NewResponseController(x.w).EnableFullDuplex() != nil {
		return
	}
	x.Header().Set("Connection", "close")
	// A client that asked, by Expect, and got no reading has not begun to send.
	x.unread = x.body.begun || x.r.Header.Get("Expect") == ""
}

// drain sends the answer and reads on behind it. Many clients send all before they
// read anything, and lose the answer when the connection is closed under them.
func (x *exchange) drain() {
	if !x.unread || http.NewResponseController(x.w).Flush() != nil {
		return
	}
	x.limitBody(drainTime)
	_, _ = io.CopyN(io.Discard, x.body, drainCap) // only the client could care
}

// readBody returns the whole body of the request. Errors: too_large, timed_out,
// malformed when it breaks off.
func readBody(ctx context.Context) ([]byte, error) {
	x := exchangeOf(ctx)
	if x.body == nil {
		return nil, nil
	}
	body, err := readSized(x.r)
	if err == nil {
		x.limitBody(0) // net/http goes on to watch whether the client is there
	}
	var large *http.MaxBytesError
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &large):
		return nil, tooLarge(large.Limit)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, berth.Errorf(berth.CodeTimedOut, "the request's body did not arrive within %s", bodyTime)
	}
	return nil, &berth.Error{Code: berth.CodeMalformed, Message: "the request's body broke off", Cause: err}
}

// readSized reads a body into one allocation when its length is known.
func readSized(r *http.Request) ([]byte, error) {
	if r.ContentLength <= 0 {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// readJSON decodes the body into a pointer to a struct that holds the defaults,
// and returns its bytes. Errors: malformed, invalid with every problem, those of readBody.
func readJSON(ctx context.Context, into any) ([]byte, error) {
	body, err := readBody(ctx)
	if err != nil {
		return nil, err
	}
	return body, strict.JSON(body, into)
}

// readTree is readJSON into a tree.
func readTree(ctx context.Context) (any, []berth.Problem, error) {
	body, err := readBody(ctx)
	if err != nil {
		return nil, nil, err
	}
	return strict.Tree(body)
}

// oneOf checks that exactly one of two fields is set.
func oneOf(f *faults, first string, haveFirst bool, second string, haveSecond bool) {
	switch {
	case haveFirst && haveSecond:
		f.addf(second, "contradicts %s: send one of them", first)
	case !haveFirst && !haveSecond:
		f.addf(first, "%s", fmt.Sprintf("is missing: send %s or %s", first, second))
	}
}
