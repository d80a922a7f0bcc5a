package main

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/embedded"
)

// githubFlags name the GitHub App. The variables are for servers in the background.
func githubFlags(flags *pflag.FlagSet, f *embedded.GitHub) {
	flags.StringVar(&f.AppID, "github-app", "", "`id` of the GitHub App that reads private repositories (instead of BERTH_GITHUB_APP)")
	flags.StringVar(&f.KeyFile, "github-app-key", "", "`file` with a private key of the App, for its owner alone (instead of BERTH_GITHUB_APP_KEY)")
	flags.StringVar(&f.URL, "github-url", "", "`URL` of a GitHub Enterprise server, such as https://github.example.com (instead of BERTH_GITHUB_URL)")
}

// github is the App that the flags, or else the variables, name.
func (a *app) github(f embedded.GitHub) embedded.GitHub {
	g := embedded.GitHub{
		AppID:   cmp.Or(f.AppID, a.env["BERTH_GITHUB_APP"]),
		KeyFile: cmp.Or(f.KeyFile, a.env["BERTH_GITHUB_APP_KEY"]),
		URL:     cmp.Or(f.URL, a.env["BERTH_GITHUB_URL"]),
	}
	if g.KeyFile != "" && !filepath.IsAbs(g.KeyFile) {
		g.KeyFile = filepath.Join(a.dir, g.KeyFile)
	}
	return g
}
