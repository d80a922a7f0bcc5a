// Command start-sandbox is the function of POST /api/v1/sandboxes/{id}/start.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv, serverless.WithGuests(guestbin.Binary)))
	api := serverless.Must(httpapi.Operation("start-sandbox", wiring.API()))
	lambda.Start(gateway.New(api))
}
