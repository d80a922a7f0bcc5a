// Command hello is the least that a Go function behind the gateway can be: the
// anchor of the rows about functions. It leaves a line for each request, as berth's
// do: emulators wait for what a function may still write.
package main

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		slog.Info("request")
		return events.APIGatewayProxyResponse{StatusCode: 200, Body: `{"hello":"world"}`}, nil
	})
}
