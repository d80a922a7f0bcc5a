package serverless

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/berth-dev/berth/shared/metric"
)

// countThrottles counts the attempts of requests that a service of AWS turns
// down for it is asked too much. The SDK tries them again by itself, so that
// nothing else shows them.
func countThrottles(r *metric.Recorder) func(*middleware.Stack) error {
	count := middleware.FinalizeMiddlewareFunc("CountThrottles", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleFinalize(ctx, in)
		if throttled(err) {
			r.Throttled(ctx, awsmiddleware.GetServiceID(ctx))
		}
		return out, metadata, err
	})
	return func(stack *middleware.Stack) error {
		if _, sends := stack.Finalize.Get("Retry"); !sends { // it signs a URL
			return nil
		}
		if err := stack.Finalize.Insert(count, "Retry", middleware.After); err != nil { // once an attempt
			return fmt.Errorf("counting throttled requests: %w", err)
		}
		return nil
	}
}

// throttled reports whether an attempt failed for its service is asked too much.
// Of a DynamoDB transaction that is told by the reasons of its cancellation.
func throttled(err error) bool {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for _, reason := range cancelled.CancellationReasons {
			switch aws.ToString(reason.Code) {
			case "ThrottlingError", "ProvisionedThroughputExceeded":
				return true
			}
		}
		return false
	}
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() == "TransactionInProgressException" {
		return false // the latter is a request's own repetition
	}
	_, known := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	return known
}
