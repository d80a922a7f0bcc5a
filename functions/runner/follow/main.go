// Command follow is the function of the state machine's task Follow.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv))
	lambda.Start(serverless.Must(wiring.Task("Follow")))
}
