package main

import (
	"cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

// daytona is the account that the environment names, by the variables that
// Daytona's own tools read. A key is no flag: those are seen by everybody.
func (a *app) daytona() embedded.Daytona {
	return embedded.Daytona{
		Key: berth.NewSecretValue([]byte(a.env["DAYTONA_API_KEY"])),
		URL: cmp.Or(a.env["DAYTONA_API_URL"], a.env["DAYTONA_SERVER_URL"]),
	}
}
