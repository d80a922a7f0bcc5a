package spritesapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

func credential(context.Context) (berth.SecretValue, error) {
	return berth.NewSecretValue([]byte("not to be sent")), nil
}

func TestSpritesAreReachedWhenTheyAnswerAnythingAndAreNotGivenTheToken(t *testing.T) {
	t.Parallel()
	tokens := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens <- r.Header.Get("Authorization")
		http.Error(w, "no", http.StatusBadGateway)
	}))
	defer server.Close()
	c, err := spritesapi.New(spritesapi.Config{URL: server.URL, Token: credential})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reach(t.Context()); err != nil {
		t.Errorf("Reach() = %v", err)
	}
	if got := <-tokens; got != "" {
		t.Errorf("they were given %q", got)
	}
}

func TestSpritesThatRefuseConnectionsAreToldAtOnceWithTheCause(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c, err := spritesapi.New(spritesapi.Config{URL: "http://" + l.Addr().String(), Token: credential})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Reach(t.Context())
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Reach() = %v, want unavailable with the cause", err)
	}
}
