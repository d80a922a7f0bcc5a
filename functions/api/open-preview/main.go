// Command open-preview is the function of POST /api/v1/sandboxes/{id}/preview.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/gateway"
	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv))
	api := serverless.Must(httpapi.Operation("open-preview", wiring.API()))
	lambda.Start(gateway.New(api))
}
