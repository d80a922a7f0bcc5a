package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

// Lambda takes 6 MB of answer and API Gateway 10 MB of request; an item of
// DynamoDB has 400 KB, a secret 64 KB. berth's own limits answer before them, the
// same on every wiring.
func TestOurOwnLimitsAnswerBeforeThoseOfAWS(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const environments, large = 20, 75 << 10
		for i := range environments {
			_, err := f.store.CreateEnvironment(t.Context(), berth.Environment{
				ID: berth.EnvironmentID(fmt.Sprintf("e%02d", i)), Provider: berth.ProviderDocker, Env: map[string]string{"A": strings.Repeat("x", large)},
			})
			must(t, err)
		}
		seen := 0
		for at := ""; ; {
			resp := c.want(200, "GET /environments?limit=100"+at, "")
			page := httpapitest.JSON[struct {
				Items []json.RawMessage
				Next  *string
			}](t, resp)
			if seen += len(page.Items); len(resp.Body) > httpapi.MaxBody || page.Next == nil {
				if len(resp.Body) > httpapi.MaxBody || seen < environments {
					t.Errorf("a page of %d bytes, %d environments", len(resp.Body), seen)
				}
				break
			}
			at = "&cursor=" + url.QueryEscape(*page.Next)
		}
		request := `{"command":["` + strings.Repeat("x", 10<<20) + `"]}`
		c.wantProblem(berth.CodeTooLarge, nil, "POST /runs", request)
		value := strings.Repeat("x", 100<<10)
		c.wantProblem(berth.CodeInvalid, []string{""}, "POST /environments", `{"id":"big","provider":"docker","env":{"A":"`+value+`","B":"`+value+`","C":"`+value+`","D":"`+value+`"}}`)
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /secrets/S", `{"value":"`+strings.Repeat("x", berth.MaxSecretBytes+1)+`"}`)
	})
}

func TestWhatIsTooLargeIsToldAtItsPlace(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.wantProblem(berth.CodeTooLarge, []string{"value"}, "PUT /variables/V", `{"value":"`+strings.Repeat(`\u0001`, 64<<10)+`"}`)
		c.wantProblem(berth.CodeNotFound, nil, "GET /variables/V", "")
		for field, cmd := range map[string]berth.Command{
			"script": {Script: strings.Repeat("x", berth.MaxItemBytes)}, "command": {Argv: []string{strings.Repeat("x", berth.MaxItemBytes)}},
		} {
			_, _, err := f.store.CreateCommand(t.Context(), cmd)
			var e *berth.Error
			if !errors.As(err, &e) || e.Code != berth.CodeTooLarge || e.Field != field {
				t.Errorf("CreateCommand with a large %s = %v", field, err)
			}
		}
	})
}

func TestAFileThatS3DoesNotTakeAtOnceIsRefusedOnAWS(t *testing.T) {
	t.Parallel()
	body := func(size int64) string {
		return fmt.Sprintf(`{"sandbox":"%s","path":"x","direction":"upload","size":%d,"sha256":"%064d"}`, sandboxA, size, 0)
	}
	for embedded, status := range map[bool]int{true: 201, false: 413} {
		f := newFixture(t, func(cfg *httpapi.Config) { cfg.Embedded = embedded })
		f.seedRun(runA, sandboxA)
		c := serve(t, f)
		c.want(status, "POST /transfers", body(5<<30+1))
		c.want(201, "POST /transfers", body(5<<30))
	}
}

func TestARecordOfANewerSchemaIsNotHalfUnderstood(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		_, err := f.table.Put(t.Context(), berth.Item{PK: "env", SK: "future", Body: []byte(`{"schema":99,"value":{}}`)})
		must(t, err)
		for _, line := range []string{"GET /environments/future", "GET /environments"} {
			if p := c.wantProblem(berth.CodeUnavailable, nil, line, ""); !strings.Contains(p.Detail, "update berth") {
				t.Errorf("%s: %s", line, p.Detail)
			}
		}
	})
}
