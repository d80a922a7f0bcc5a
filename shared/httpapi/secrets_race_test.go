package httpapi_test

import (
	"context"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// crowdedSecrets lets another client in once, before a value is written or after
// one was deleted.
type crowdedSecrets struct {
	berth.Secrets
	beforePut, afterDelete func()
}

func (s *crowdedSecrets) once(f *func()) {
	if then := *f; then != nil {
		*f = nil
		then()
	}
}

func (s *crowdedSecrets) Put(ctx context.Context, name string, value berth.SecretValue) error {
	s.once(&s.beforePut)
	return s.Secrets.Put(ctx, name, value)
}

func (s *crowdedSecrets) Delete(ctx context.Context, name string) error {
	err := s.Secrets.Delete(ctx, name)
	s.once(&s.afterDelete)
	return err
}

func TestNoValueOutlivesASecretThatIsSetWhileItIsDeleted(t *testing.T) {
	t.Parallel()
	crowd := &crowdedSecrets{}
	f := newFixture(t, func(cfg *httpapi.Config) { crowd.Secrets, cfg.Secrets = cfg.Secrets, crowd })
	c := serve(t, f)
	gone := func(when string) {
		t.Helper()
		c.want(404, "GET /secrets/S", "")
		if _, err := f.secrets.Read(t.Context(), berth.UserSecret("S")); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("%s: the value is still there: %v", when, err)
		}
	}
	c.want(201, "PUT /secrets/S", `{"value":"the first"}`)
	crowd.afterDelete = func() { c.want(200, "PUT /secrets/S", `{"value":"the second"}`) }
	c.want(204, "DELETE /secrets/S", "")
	gone("replaced")

	crowd.beforePut = func() { c.want(204, "DELETE /secrets/S", "") }
	c.want(201, "PUT /secrets/S", `{"value":"the third"}`, "If-None-Match: *")
	gone("created")
}
