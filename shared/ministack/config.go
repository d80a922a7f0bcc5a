package ministack

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Config is the SDK's configuration for the emulator at endpoint, in an account
// that is new and empty: the emulator takes a key id of 12 digits for one.
func Config(t testing.TB, endpoint string) aws.Config {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000_000_000))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(fmt.Sprintf("%012d", n), "test", ""),
		HTTPClient:   &http.Client{Transport: transport},
	}
}
