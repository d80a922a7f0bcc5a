package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
)

// authorizerMemory is in MiB: every request that is not in the cache waits for it.
const (
	authorizerMemory = middling
	authorizerCache  = time.Minute
)

// newAuthorizer makes the authorizer that says whom a key stands for.
func newAuthorizer(stack awscdk.Stack, f *functions) awsapigateway.IAuthorizer {
	return awsapigateway.NewTokenAuthorizer(stack, text("Keys"), &awsapigateway.TokenAuthorizerProps{
		AuthorizerName: text(f.config.name("keys")),
		Handler: f.make(program{
			kind: kindEvents, name: "authorizer", set: writer, timeout: 10 * time.Second, memoryMiB: authorizerMemory,
			summary: "Says whom a key stands for",
		}),
		IdentitySource:  awsapigateway.IdentitySource_Header(text("Authorization")),
		ResultsCacheTtl: lasting(authorizerCache),
	})
}

// newBootstrap makes the function that gives an installation its first key. Only
// who may invoke it by AWS's own rights can.
func newBootstrap(f *functions) {
	f.make(program{
		kind: kindEvents, name: "bootstrap", set: writer, timeout: 30 * time.Second, memoryMiB: small,
		summary: "Gives the installation its first key",
	})
}
