package stepfn

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"github.com/berth-dev/berth/shared/berth"
)

// is reports whether err is, or wraps, an error of type E.
func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// explain gives what the SDK reports a code and words for people; nil stays nil.
// What is left is a fault of ours and stays uncoded.
func (o *Orchestrator) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	e := berth.Errorf(berth.CodeUnavailable, "Step Functions does not answer")
	e.Remediation = "Try again in a moment."
	e.Cause = err
	var api smithy.APIError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Message = "the caller did not wait for Step Functions"
	case errors.As(err, &api):
		switch code := api.ErrorCode(); {
		case code == "StateMachineDoesNotExist", code == "StateMachineDeleting":
			e.Message = "the state machine " + o.machine + " is not there"
			e.Remediation = "Deploy berth's runner stack in this account and region."
		case denied[code]:
			e.Message = "the state machine " + o.machine + " may not be used with these credentials"
			e.Remediation = "Give the role the permissions of berth's runner stack."
		case throttled[code]:
			e.Message = "Step Functions is too busy"
		case api.ErrorFault() == smithy.FaultServer:
		default:
			return berth.Wrap(err, doing)
		}
	}
	return berth.Wrap(e, doing)
}

var denied = map[string]bool{
	"AccessDeniedException": true, "UnrecognizedClientException": true, "InvalidSignatureException": true,
	"ExpiredTokenException": true, "KmsAccessDeniedException": true, "KmsInvalidStateException": true,
}

var throttled = map[string]bool{
	"ExecutionLimitExceeded": true, "ThrottlingException": true, "Throttling": true, "KmsThrottlingException": true,
}
