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

// readBody returns the whole body of the request. Errors: too_large, timed_out,
// malformed when it breaks off.
func readBody(ctx context.Context) ([]byte, error) {
	x := exchangeOf(ctx)
	if x.r.Body == nil || x.r.Body == http.NoBody {
		return nil, nil
	}
	control := http.NewResponseController(x.w)
	// Not every writer has deadlines: there is none behind the gateway.
	limited := control.SetReadDeadline(time.Now().Add(bodyTime)) == nil
	body, err := readSized(x.r)
	if limited {
		_ = control.SetReadDeadline(time.Time{})
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
