package embedded

import (
	"context"
	"errors"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/githubapp"
	"github.com/berth-dev/berth/shared/gitsource"
)

// GitHub is the GitHub App with which the server reads private repositories; the
// zero value is none.
type GitHub struct {
	// AppID is the App's id, KeyFile a file with its private key, for its owner alone.
	AppID, KeyFile string
	// URL is that of a GitHub Enterprise server; https://github.com when empty.
	URL string
}

// cloner says how sandboxes fetch code. Errors: invalid for an App that cannot be
// used as it is named.
func (g GitHub) cloner(clock berth.Clock, logger *slog.Logger) (gitsource.Source, error) {
	switch {
	case g == GitHub{}:
		return gitsource.Source{}, nil
	case g.AppID == "":
		return gitsource.Source{}, berth.FieldErrorf(berth.CodeInvalid, "--github-app", "is missing: name the id of the GitHub App")
	case g.KeyFile == "":
		return gitsource.Source{}, berth.FieldErrorf(berth.CodeInvalid, "--github-app-key", "is missing: name the file with the private key of the GitHub App")
	}
	settings, err := githubapp.FromFile(g.AppID, g.KeyFile, g.URL)
	if err != nil {
		return gitsource.Source{}, atFlag(githubFlag(err), err)
	}
	return gitsource.Source{Credentials: githubapp.New(githubapp.Config{
		Settings: func(context.Context) (*githubapp.Settings, error) { return settings, nil }, Clock: clock, Logger: logger,
	})}, nil
}

// githubFlag is the flag of what is wrong with settings.
func githubFlag(err error) string {
	var e *berth.Error
	if errors.As(err, &e) {
		switch e.Field {
		case githubapp.FieldKey:
			return "--github-app-key"
		case githubapp.FieldURL:
			return "--github-url"
		}
	}
	return "--github-app"
}
