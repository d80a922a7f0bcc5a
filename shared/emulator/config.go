package emulator

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Account is the one of the credentials test and test, which deployments use.
const Account = "000000000000"

// Config is the SDK's configuration for the emulator, in an account that is new
// and empty: emulators take a key id of 12 digits for one. Clients of S3 have to
// ask for path style.
func (e *Emulator) Config(t testing.TB) aws.Config {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000_000_000))
	if err != nil {
		t.Fatal(err)
	}
	return e.ConfigOf(t, fmt.Sprintf("%012d", n))
}

// ConfigOf is the SDK's configuration for an account of the emulator.
func (e *Emulator) ConfigOf(t testing.TB, account string) aws.Config {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(e.Endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(account, "test", ""),
		HTTPClient:   &http.Client{Transport: transport},
	}
}
