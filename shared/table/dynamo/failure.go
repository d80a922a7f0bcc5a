package dynamo

import (
	"context"
	"errors"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/berth-dev/berth/shared/berth"
)

// failedCondition gives the place of the first write whose condition does not
// hold, if that is what err says.
func failedCondition(err error) (int, bool) {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for i, reason := range cancelled.CancellationReasons {
			if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
				return i, true
			}
		}
	}
	return 0, false
}

// isConflict reports whether another transaction, or too many of them, was in
// the way. The SDK does not look into the reasons of a cancelled one.
func isConflict(err error) bool {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for _, reason := range cancelled.CancellationReasons {
			switch aws.ToString(reason.Code) {
			case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
				return true
			}
		}
		return false
	}
	var conflict *types.TransactionConflictException
	var running *types.TransactionInProgressException
	return errors.As(err, &conflict) || errors.As(err, &running)
}

// explain turns what the SDK reports into an unavailable error that says what
// to do. What is left is a fault of ours and stays uncoded.
func (t *Table) explain(doing string, err error) error {
	e := berth.Errorf(berth.CodeUnavailable, "the table %s does not answer", t.name)
	e.Remediation = "Try again in a moment."
	e.Cause = err
	var api smithy.APIError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Message = "the caller did not wait for the table"
	case isConflict(err):
		e.Message = "the table is too busy with the same items"
	case errors.As(err, &api):
		switch code := api.ErrorCode(); {
		case code == "ResourceNotFoundException":
			e.Message = "the table " + t.name + " is not there"
			e.Remediation = "Deploy berth's data stack in this account and region."
		case code == "AccessDeniedException", code == "UnrecognizedClientException", code == "InvalidSignatureException", code == "ExpiredTokenException":
			e.Message = "the table " + t.name + " may not be used with these credentials"
			e.Remediation = "Give the role the permissions of berth's data stack."
		case throttled[code]:
			e.Message = "the table " + t.name + " is too busy"
		case api.ErrorFault() == smithy.FaultServer:
		default:
			return berth.Wrap(err, doing)
		}
	case errors.As(err, &network):
		e.Remediation = "Check the network's way to DynamoDB, and the region."
	}
	return berth.Wrap(e, doing)
}

// throttled are the codes of a service that wants less.
var throttled = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"RequestLimitExceeded":                   true,
	"ThrottlingException":                    true,
	"Throttling":                             true,
	"LimitExceededException":                 true,
}
