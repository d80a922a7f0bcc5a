package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// Failure is an error that a server answered. It unwraps to a *berth.Error with
// the code and the problems that the server named.
type Failure struct {
	Err       *berth.Error
	Status    int    // HTTP status
	RequestID string // finds the request in the server's log; may be empty
	foreign   bool   // the answer was not berth's
}

func (f *Failure) Error() string {
	if f.RequestID != "" && f.Err.Code == berth.CodeInternal {
		return fmt.Sprintf("%s (request %s)", f.Err.Error(), f.RequestID)
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// RequestID returns the id of the request that err came from, or "".
func RequestID(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.RequestID
	}
	return ""
}

// problemDocument is the body of every error answer (RFC 9457).
type problemDocument struct {
	Status      int             `json:"status"`
	Detail      string          `json:"detail"`
	Code        berth.Code      `json:"code"`
	RequestID   string          `json:"request_id"`
	Remediation string          `json:"remediation"`
	Errors      []berth.Problem `json:"errors"`
}

const maxProblemBytes = 1 << 20

// failureOf makes the error of an answer outside 2xx; it reads the body.
func failureOf(resp *http.Response, url string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes))
	f := &Failure{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	var doc problemDocument
	if mediaType(resp) != "application/problem+json" || json.Unmarshal(body, &doc) != nil || doc.Code == "" {
		f.foreign = true
		f.Err = berth.Errorf(berth.CodeForHTTP(resp.StatusCode),
			"%s answered %d %s, and not as a berth server: check the server's URL", url, resp.StatusCode, http.StatusText(resp.StatusCode))
		return f
	}
	if doc.RequestID != "" {
		f.RequestID = doc.RequestID
	}
	f.Err = &berth.Error{Code: doc.Code, Message: doc.Detail, Remediation: doc.Remediation, Problems: doc.Errors}
	if len(doc.Errors) == 1 && doc.Errors[0].Message == doc.Detail {
		f.Err.Field = doc.Errors[0].Location
	}
	return f
}

// foreignAnswer is the error of a 2xx that berth cannot have given.
func foreignAnswer(resp *http.Response, url, what string) error {
	return &Failure{
		Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id"), foreign: true,
		Err: berth.Errorf(berth.CodeUnavailable, "%s answered %d with %s, which no berth server does: check the server's URL", url, resp.StatusCode, what),
	}
}

func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
