package daytonaapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

func credential(context.Context) (berth.SecretValue, error) {
	return berth.NewSecretValue([]byte("not to be sent")), nil
}

func TestDaytonaIsReachedWhenItAnswersAnythingAndIsNotGivenTheKey(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		http.Error(w, "no", http.StatusBadGateway)
	}))
	defer server.Close()
	c, err := daytonaapi.New(daytonaapi.Config{URL: server.URL, Key: credential})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reach(t.Context()); err != nil {
		t.Errorf("Reach() = %v", err)
	}
	if key := <-keys; key != "" {
		t.Errorf("it was given %q", key)
	}
}

func TestDaytonaThatRefusesConnectionsIsToldAtOnceWithTheCause(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c, err := daytonaapi.New(daytonaapi.Config{URL: "http://" + l.Addr().String(), Key: credential})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Reach(t.Context())
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Reach() = %v, want unavailable with the cause", err)
	}
}
