package serverless

import (
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
)

// openSprites makes the provider whose token is in the store of secrets. No request
// is made: without a token, runs are told so.
func (w *Wiring) openSprites() (berth.Provider, error) {
	return sprites.New(sprites.Config{
		URL: w.Variables.SpritesURL, Installation: w.Variables.Installation, Clock: w.clock, Logger: w.Logger,
		Token: sprites.Token(w.secrets, w.clock), Guest: w.guests, Moment: provisionWait,
	})
}
