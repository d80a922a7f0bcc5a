package secretsmanager

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"
	"github.com/berth-dev/berth/shared/berth"
)

func isAbsent(err error) bool {
	var absent *types.ResourceNotFoundException
	return errors.As(err, &absent)
}

// isDeleted reports whether the secret is marked for deletion: of the requests
// that this package makes, nothing else is answered in this way.
func isDeleted(err error) bool {
	var invalid *types.InvalidRequestException
	return errors.As(err, &invalid)
}

// explain turns what the SDK reports into an unavailable error that says what
// to do.
func explain(doing string, err error) error {
	e := berth.Errorf(berth.CodeUnavailable, "Secrets Manager does not answer")
	e.Remediation = "Try again in a moment."
	e.Cause = err
	var api smithy.APIError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Message = "the caller did not wait for the secrets"
	case errors.As(err, &api):
		switch api.ErrorCode() {
		case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException":
			e.Message = "the secrets may not be used with these credentials"
			e.Remediation = "Give the role the permissions of berth's data stack."
		case "DecryptionFailure", "EncryptionFailure":
			e.Message = "the key of the secrets cannot be used"
			e.Remediation = "Check that the KMS key is enabled and that the role may use it."
		case "LimitExceededException", "ThrottlingException", "Throttling":
			e.Message = "Secrets Manager is too busy"
		default:
			if api.ErrorFault() != smithy.FaultServer {
				return berth.Wrap(err, doing) // a fault of ours
			}
		}
	}
	return berth.Wrap(e, doing)
}
