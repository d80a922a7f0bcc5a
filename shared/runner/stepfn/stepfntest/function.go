package stepfntest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// functionTimeout ends relays whose task hangs, in seconds; it is longer than
// the timeouts of the suite's machines.
const functionTimeout = 10

// program is the variable with the path of the relay, for the shell.
const program = "BERTH_TEST_RELAY"

// createFunction makes a function that is a relay and returns its ARN.
func createFunction(t *testing.T, config aws.Config, name, address string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	body, err := json.Marshal(map[string]any{
		"FunctionName": name, "Runtime": "provided.al2023", "Handler": "bootstrap", "Role": role,
		"Timeout": functionTimeout, "MemorySize": 128, "Architectures": []string{architecture},
		"Code":        map[string]any{"ZipFile": bootstrap(t)},
		"Environment": map[string]any{"Variables": map[string]string{relayTo: address, program: self}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		ARN string `json:"FunctionArn"`
	}
	if err := json.Unmarshal(post(t, config, "/2015-03-31/functions", body), &made); err != nil || made.ARN == "" {
		t.Fatalf("making function %s: it has no ARN (%v)", name, err)
	}
	return made.ARN
}

// bootstrap is a function's code: a script that becomes the test binary.
func bootstrap(t *testing.T) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Store}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err == nil {
		_, err = io.WriteString(file, "#!/bin/sh\nexec \"$"+program+"\"\n")
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// post sends a signed request to Lambda's API, which berth needs nowhere else.
func post(t *testing.T, config aws.Config, path string, body []byte) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, aws.ToString(config.BaseEndpoint)+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	keys, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(t.Context(), keys, request, hex.EncodeToString(sum[:]), "lambda", config.Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	response, err := config.HTTPClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("POST %s: %s: %s (%v)", path, response.Status, answer, err)
	}
	return answer
}
