package main

import (
	"cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
)

// sprites is the account that the environment names, by the variables that the
// service's own tools read. A token is no flag: those are seen by everybody.
func (a *app) sprites() embedded.Sprites {
	return embedded.Sprites{
		Token: berth.NewSecretValue([]byte(cmp.Or(a.env["SPRITES_TOKEN"], a.env["SPRITE_TOKEN"]))),
		URL:   a.env["SPRITES_API_URL"],
	}
}
