// Command sweeper is the function that puts right what died half-way: every few
// minutes, and when an execution ended in another way than by itself.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv))
	lambda.Start(wiring.Sweeper())
}
