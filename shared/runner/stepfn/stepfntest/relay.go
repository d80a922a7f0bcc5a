package stepfntest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/berth-dev/berth/shared/emulator"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/stepfn"
)

// relayTo is the address that a relay hands its events to.
const relayTo = "BERTH_TEST_RELAY_TO"

// Main is a TestMain: started as a function it is a relay, else it runs tests and
// keeps emulators for all of them.
func Main(m *testing.M) {
	address := os.Getenv(relayTo)
	if address == "" {
		emulator.Main(m)
	}
	lambda.Start(func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		return relay(ctx, address, event)
	})
}

// failed is the status of an answer that is a function's error.
const failed = http.StatusTeapot

func relay(ctx context.Context, address string, event json.RawMessage) (json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == failed:
		var failure messages.InvokeResponse_Error
		if err := json.Unmarshal(body, &failure); err != nil {
			return nil, err
		}
		return nil, failure
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the test answers %s: %s", response.Status, body)
	}
	return body, nil
}

// play answers relays with the tasks, each under its name, through the handler
// that functions have.
func play(t *testing.T, tasks map[string]asl.Task) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		event, err := io.ReadAll(r.Body)
		if err != nil || tasks[name] == nil {
			http.Error(w, fmt.Sprintf("task %s: %v", name, err), http.StatusBadRequest)
			return
		}
		output, err := stepfn.Handler(name, tasks[name], quiet)(r.Context(), event)
		var failure messages.InvokeResponse_Error
		switch {
		case errors.As(err, &failure):
			output, err = json.Marshal(failure)
			w.WriteHeader(failed)
		case err != nil:
			t.Errorf("the handler of task %s gives the error %v, which has no name", name, err)
		}
		if err == nil {
			_, _ = w.Write(output) // a relay that timed out is not there any more
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}
