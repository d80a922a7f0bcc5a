package githubapp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// token is an installation token for one repository.
type token struct {
	value berth.SecretValue
	made  time.Time
	until time.Time // by this machine's clock
}

// installation is where an App is installed: an organisation or a user.
type installation struct {
	ID          int64             `json:"id"`
	URL         string            `json:"html_url"`
	Permissions map[string]string `json:"permissions"`
	SuspendedAt *time.Time        `json:"suspended_at"`
	// repository is the id of the repository that was asked about, if it has been
	// renamed since.
	repository int64
}

// mint makes a token that may read the repository's contents, and no more.
func (g github) mint(ctx context.Context, r repository) (*token, error) {
	at, err := g.findInstallation(ctx, r)
	if err != nil {
		return nil, err
	}
	body := struct {
		Names       []string          `json:"repositories,omitempty"`
		IDs         []int64           `json:"repository_ids,omitempty"`
		Permissions map[string]string `json:"permissions"`
	}{Names: []string{r.name}, Permissions: map[string]string{"contents": "read"}}
	if at.repository != 0 {
		body.Names, body.IDs = nil, []int64{at.repository}
	}
	asked := g.Clock.Now()
	got, err := g.call(ctx, http.MethodPost, "/app/installations/"+strconv.FormatInt(at.ID, 10)+"/access_tokens", body)
	if err != nil {
		return nil, berth.Wrap(err, "asking GitHub for a token for "+r.String())
	}
	if got.status != http.StatusCreated {
		return nil, g.refused(ctx, got, r, at.URL)
	}
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if json.Unmarshal(got.body, &made) != nil || made.Token == "" || made.ExpiresAt.IsZero() {
		return nil, berth.Errorf(berth.CodeUnavailable, "%s answers to a request for a token with something else", g.host)
	}
	// How long it lives is counted by GitHub's clock, and measured with this one.
	t := &token{value: berth.NewSecretValue([]byte(made.Token)), made: g.Clock.Now(), until: asked.Add(made.ExpiresAt.Sub(got.date(asked)))}
	g.Logger.InfoContext(ctx, "minted a GitHub token", "repository", r.String(), "installation", at.ID, "expires", t.until)
	return t, nil
}

func (g github) findInstallation(ctx context.Context, r repository) (*installation, error) {
	got, err := g.call(ctx, http.MethodGet, "/repos/"+r.String()+"/installation", nil)
	if err != nil {
		return nil, berth.Wrap(err, "asking GitHub about "+r.String())
	}
	if got.status != http.StatusOK {
		return nil, g.refused(ctx, got, r, "")
	}
	var at installation
	if json.Unmarshal(got.body, &at) != nil || at.ID == 0 {
		return nil, berth.Errorf(berth.CodeUnavailable, "%s answers to a question for an installation with something else", g.host)
	}
	// A renamed repository is answered from where its id is: /repositories/ID/…
	if _, rest, ok := strings.Cut(got.path, "/repositories/"); ok {
		id, _, _ := strings.Cut(rest, "/")
		at.repository, _ = strconv.ParseInt(id, 10, 64)
	}
	switch {
	case at.SuspendedAt != nil:
		return nil, &berth.Error{Code: berth.CodeForbidden, Message: fmt.Sprintf("the installation of the GitHub App on %s is suspended", r), Remediation: "Unsuspend it: " + at.URL}
	case at.Permissions["contents"] == "":
		return nil, &berth.Error{
			Code: berth.CodeForbidden, Message: fmt.Sprintf("the GitHub App may not read the contents of %s", r),
			Remediation: "Give the App the repository permission Contents: read-only on its settings page, and accept the change: " + at.URL,
		}
	}
	return &at, nil
}

// refused explains an answer that is no success. page is that of the installation.
func (g github) refused(ctx context.Context, got *reply, r repository, page string) error {
	switch got.status {
	case http.StatusUnauthorized:
		return g.unauthenticated(got)
	case http.StatusNotFound:
		return &berth.Error{
			Code: berth.CodeNotFound, Message: fmt.Sprintf("the GitHub App is not installed on %s, or there is no such repository", r),
			Remediation: fmt.Sprintf("Install the App on %s: %s", r, g.installPage(ctx)),
		}
	case http.StatusForbidden, http.StatusUnprocessableEntity:
		if page == "" {
			page = g.installPage(ctx)
		}
		return &berth.Error{
			Code: berth.CodeForbidden, Message: fmt.Sprintf("GitHub gives the App no token to read %s: %s", r, got.message),
			Remediation: fmt.Sprintf("See that the App has Contents: read-only, and that %s is among its repositories: %s", r, page),
		}
	}
	return berth.Errorf(berth.CodeUnavailable, "%s answers about %s with status %d: %s", g.host, r, got.status, got.message)
}

// clockOff is by how much clocks may differ without a word.
const clockOff = 30 * time.Second

// unauthenticated tells a clock that is wrong from a key that is wrong.
func (g github) unauthenticated(got *reply) error {
	e := &berth.Error{
		Code: berth.CodeUnauthenticated, Message: "GitHub refuses the App " + g.id + ": " + got.message,
		Remediation: "Check the App's id, and that the private key is one of this App's and was not deleted there.",
	}
	now := g.Clock.Now()
	if off := now.Sub(got.date(now)).Round(time.Second); off.Abs() > clockOff {
		side := "ahead of"
		if off < 0 {
			side = "behind"
		}
		e.Message += fmt.Sprintf("; the server's clock is %s %s GitHub's", off.Abs(), side)
		e.Remediation = "Set the server's clock."
	}
	return e
}

// installPage is where the App is installed on further repositories.
func (g github) installPage(ctx context.Context) string {
	var app struct {
		URL string `json:"html_url"`
	}
	got, err := g.call(ctx, http.MethodGet, "/app", nil)
	if err != nil || got.status != http.StatusOK || json.Unmarshal(got.body, &app) != nil || app.URL == "" {
		return g.web + "/settings/installations"
	}
	return app.URL + "/installations/new"
}
