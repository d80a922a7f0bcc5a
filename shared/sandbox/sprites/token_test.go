//go:build linux

package sprites_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
)

// store is one of secrets, which counts its reads.
type store struct {
	values map[string]string
	reads  int
}

func (s *store) Put(_ context.Context, name string, value berth.SecretValue) error {
	s.values[name] = string(value.Reveal())
	return nil
}

func (s *store) Delete(_ context.Context, name string) error {
	delete(s.values, name)
	return nil
}

func (s *store) Read(_ context.Context, name string) (berth.SecretValue, error) {
	s.reads++
	value, ok := s.values[name]
	if !ok {
		return berth.SecretValue{}, berth.Errorf(berth.CodeNotFound, "there is no secret %s", name)
	}
	return berth.NewSecretValue([]byte(value)), nil
}

func TestATokenInTheStoreIsReadOnceAMinute(t *testing.T) {
	t.Parallel()
	secrets, clock := &store{values: map[string]string{}}, &sandboxtest.HastyClock{}
	w := newWard(t)
	w.config.Token = sprites.Token(secrets, clock)
	p := open(t, w.config)
	if list, err := p.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("without a token, List = %+v, %v", list, err)
	}
	_, err := p.Provision(t.Context(), specOf(berth.Environment{}))
	if berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), "has no token") || len(w.Requests()) > 0 {
		t.Errorf("without a token, Provision: %v after %q", err, w.Requests())
	}
	secrets.values["provider/sprites/token"] = "old-token"
	w.SetToken("old-token")
	for range 3 {
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	secrets.values["provider/sprites/token"] = "new-token"
	w.SetToken("new-token")
	if _, err := p.List(t.Context()); berth.CodeOf(err) != berth.CodeForbidden {
		t.Errorf("with the old token: %v", err)
	}
	before := secrets.reads
	_ = clock.Sleep(t.Context(), 2*time.Minute)
	for range 3 {
		if _, err := p.List(t.Context()); err != nil {
			t.Errorf("with the new token: %v", err)
		}
	}
	if secrets.reads != before+1 {
		t.Errorf("it was read %d times more", secrets.reads-before)
	}
}
