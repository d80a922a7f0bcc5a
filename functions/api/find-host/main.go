// Command find-host is the function of GET /api/v1/hosts/{id}.
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
	api := serverless.Must(httpapi.Operation("find-host", wiring.API()))
	lambda.Start(gateway.New(api))
}
