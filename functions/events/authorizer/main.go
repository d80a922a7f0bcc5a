// Command authorizer is the function that the gateway asks whom a key stands for.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv))
	lambda.Start(serverless.Authorizer(wiring.Keys(), wiring.Logger))
}
