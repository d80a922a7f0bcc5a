package serverless

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// Must returns v. With an error it logs that and ends the process, which is how
// a function fails to start.
func Must[T any](v T, err error) T {
	if err != nil {
		newLogger(os.Stderr).Error("the function does not start", "error", err.Error())
		os.Exit(1)
	}
	return v
}

// newLogger writes one JSON object a line, each with the invocation that it was
// written in.
func newLogger(w io.Writer) *slog.Logger {
	return slog.New(invocations{slog.NewJSONHandler(w, nil)})
}

// invocations adds to every line Lambda's request id, and the gateway's where
// there is one, by which the gateway's access log has the request.
type invocations struct{ slog.Handler }

func (i invocations) Handle(ctx context.Context, r slog.Record) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		r.AddAttrs(slog.String("invocation", lc.AwsRequestID))
	}
	if gateway, ok := core.GetAPIGatewayContextFromContext(ctx); ok {
		r.AddAttrs(slog.String("gateway_request", gateway.RequestID))
	}
	if err := i.Handler.Handle(ctx, r); err != nil {
		return fmt.Errorf("writing a log line: %w", err)
	}
	return nil
}

func (i invocations) WithAttrs(attrs []slog.Attr) slog.Handler {
	return invocations{i.Handler.WithAttrs(attrs)}
}

func (i invocations) WithGroup(name string) slog.Handler {
	return invocations{i.Handler.WithGroup(name)}
}
