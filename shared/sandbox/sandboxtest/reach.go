package sandboxtest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

type reacher interface {
	Reach(ctx context.Context) error
}

// Reach holds a client of a provider's API to this: whatever is answered, the API is
// reached, without the credential; where nobody listens, the error is unavailable with
// the cause. connect makes a client of the API at a URL.
func Reach[C reacher](t *testing.T, connect func(url string, credential func(context.Context) (berth.SecretValue, error)) (C, error)) {
	client := func(t *testing.T, url string) C {
		c, err := connect(url, func(context.Context) (berth.SecretValue, error) {
			return berth.NewSecretValue([]byte("not to be sent")), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Run("whatever it answers it is reached and is not given the credential", func(t *testing.T) {
		t.Parallel()
		given := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			given <- r.Header.Get("Authorization")
			http.Error(w, "no", http.StatusBadGateway)
		}))
		defer server.Close()
		if err := client(t, server.URL).Reach(t.Context()); err != nil {
			t.Errorf("Reach() = %v", err)
		}
		if got := <-given; got != "" {
			t.Errorf("it was given %q", got)
		}
	})
	t.Run("a refused connection is told at once with the cause", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		err = client(t, "http://"+l.Addr().String()).Reach(t.Context())
		if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("Reach() = %v, want unavailable with the cause", err)
		}
	})
}
