// Command provision is the function of the state machine's task Provision.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv, serverless.WithGuests(guestbin.Binary)))
	lambda.Start(serverless.Must(wiring.Task("Provision")))
}
