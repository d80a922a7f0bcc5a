package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// ProblemDocument is the body of every error answer (RFC 9457).
type ProblemDocument struct {
	Type        string          `json:"type" doc:"Always about:blank: code tells the kind" example:"about:blank"`
	Title       string          `json:"title" doc:"What the code means" example:"Invalid request"`
	Status      int             `json:"status" doc:"HTTP status" example:"422"`
	Detail      string          `json:"detail" doc:"What is wrong, for people" example:"must be a whole number of 1 or more and a unit, such as 512MiB or 4GB"`
	Code        berth.Code      `json:"code" enum:"malformed,invalid,unsupported,too_large,unsupported_media,unauthenticated,forbidden,not_found,conflict,stale,precondition_required,rate_limited,unavailable,timed_out,internal" doc:"Stable kind of the error" example:"invalid"`
	RequestID   string          `json:"request_id" doc:"Finds the request in the server's log" example:"01jd3v6d0x2m5p8q9r7s4t1v0w"`
	Remediation string          `json:"remediation,omitempty" doc:"What to do about it"`
	Errors      []berth.Problem `json:"errors" doc:"Every fault of the input, each at its place: the path of a body's field as it is, else path., query. or header. and the name"`

	cause error // logged, never shown
}

// internalDetail is all that a caller learns of an internal error.
const internalDetail = "berth could not do this because of an error of its own; the server's log has it under the request id"

// problemOf makes the answer for err. An error without a code is internal.
func problemOf(err error, requestID string) *ProblemDocument {
	e := berth.Shown(err, internalDetail)
	info := e.Code.Info()
	p := &ProblemDocument{
		Type: "about:blank", Title: info.Title, Status: info.HTTP, Detail: e.Message, Code: info.Code,
		RequestID: requestID, Remediation: e.Remediation, Errors: e.Problems, cause: err,
	}
	if len(p.Errors) == 0 && e.Field != "" {
		p.Errors = []berth.Problem{{Location: e.Field, Message: e.Message}}
	}
	if p.Errors == nil {
		p.Errors = []berth.Problem{}
	}
	return p
}

func (p *ProblemDocument) Error() string { return p.Detail }

// GetStatus and ContentType are what huma asks an error for.
func (p *ProblemDocument) GetStatus() int { return p.Status }

// ContentType is application/problem+json whatever was negotiated.
func (p *ProblemDocument) ContentType(string) string { return mediaProblem }

// encode writes the document as it goes out.
func (p *ProblemDocument) encode() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // strings and a number can always be written
	return b.Bytes()
}

// headers adds what HTTP wants beside the body.
func (p *ProblemDocument) headers(h http.Header) {
	switch p.Code {
	case berth.CodeUnauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case berth.CodeRateLimited, berth.CodeUnavailable:
		h.Set("Retry-After", "1")
	}
}
