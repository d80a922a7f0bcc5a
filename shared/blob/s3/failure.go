package s3

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"github.com/berth-dev/berth/shared/berth"
)

// codeOf is what S3 calls its error; empty for one that is not S3's.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// explain gives what the SDK reports a code and words for people. What is left
// is a fault of ours and stays uncoded.
func (b *Blobs) explain(doing string, err error) error {
	e := berth.Errorf(berth.CodeUnavailable, "the bucket %s does not answer", b.bucket)
	e.Remediation = "Try again in a moment."
	e.Cause = err
	var api smithy.APIError
	switch code := codeOf(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Message = "the caller did not wait for the blob"
	case code == "NoSuchKey", code == "NotFound":
		e.Code, e.Message, e.Remediation = berth.CodeNotFound, "there is no such blob", ""
	case code == "NoSuchBucket":
		e.Message = "the bucket " + b.bucket + " is not there"
		e.Remediation = "Deploy berth's data stack in this account and region."
	case denied[code]:
		e.Message = "the bucket " + b.bucket + " may not be used with these credentials"
		e.Remediation = "Give the role the permissions of berth's data stack."
	case code == "PermanentRedirect", code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException":
		e.Message = "the bucket " + b.bucket + " is in another region"
		e.Remediation = "Deploy berth's stacks in one region."
	case throttled[code]:
		e.Message = "the bucket " + b.bucket + " is too busy"
	case errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient:
		return berth.Wrap(err, doing)
	}
	return berth.Wrap(e, doing)
}

// denied are the codes of a role that lacks a right; without one for the key
// that encrypts the bucket S3 says the same, or one of KMS's.
var denied = map[string]bool{
	"AccessDenied": true, "Forbidden": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true,
	"ExpiredToken": true, "InvalidToken": true, "AllAccessDisabled": true, "KMS.DisabledException": true,
}

// throttled are the codes of a service that wants less.
var throttled = map[string]bool{
	"SlowDown": true, "Throttling": true, "ThrottlingException": true, "RequestLimitExceeded": true,
	"ServiceUnavailable": true, "OperationAborted": true,
}

// apiError is an error of S3 that came inside of an answer.
type apiError struct{ code, message string }

var _ smithy.APIError = apiError{}

func (e apiError) Error() string                 { return e.code + ": " + e.message }
func (e apiError) ErrorCode() string             { return e.code }
func (e apiError) ErrorMessage() string          { return e.message }
func (e apiError) ErrorFault() smithy.ErrorFault { return smithy.FaultServer }
