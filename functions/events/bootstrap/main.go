// Command bootstrap is the function that gives an installation its first key.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/berth-dev/berth/shared/serverless"
)

func main() {
	wiring := serverless.Must(serverless.Open(os.LookupEnv))
	lambda.Start(wiring.Bootstrap())
}
