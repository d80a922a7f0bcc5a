package agentapi

import (
	"encoding/json"

	"github.com/berth-dev/berth/shared/berth"
)

// Problem is the body of every error answer (RFC 9457).
type Problem struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Status      int             `json:"status"`
	Detail      string          `json:"detail"`
	Code        berth.Code      `json:"code"`
	Field       string          `json:"field,omitempty"`
	Remediation string          `json:"remediation,omitempty"`
	RequestID   string          `json:"request_id"`
	Errors      []berth.Problem `json:"errors,omitempty"`
}

const internalDetail = "the host agent could not do this because of an error of its own; its log has it under the request id"

// problemOf makes the answer for err. Causes, and errors without a code, stay in
// the log.
func problemOf(err error, requestID string) Problem {
	e := berth.Shown(err, internalDetail)
	info := e.Code.Info()
	return Problem{
		Type: "about:blank", Title: info.Title, Status: info.HTTP, Detail: e.Message, Code: info.Code, Field: e.Field,
		Remediation: e.Remediation, RequestID: requestID, Errors: e.Problems,
	}
}

// ReadProblem is the inverse for clients. It reports false for what no agent has
// written.
func ReadProblem(body []byte) (Problem, bool) {
	var p Problem
	err := json.Unmarshal(body, &p)
	return p, err == nil && p.Code != "" && p.Code.Info().Code == p.Code
}

// Err is the error that the agent had.
func (p Problem) Err() *berth.Error {
	e := &berth.Error{Code: p.Code, Message: p.Detail, Field: p.Field, Remediation: p.Remediation, Problems: p.Errors}
	if p.Code == berth.CodeInternal && p.RequestID != "" {
		e.Message += " (request " + p.RequestID + ")"
	}
	return e
}
