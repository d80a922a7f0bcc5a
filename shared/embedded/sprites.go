package embedded

import (
	"context"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
)

// Sprites is the account that the server makes sprites with; the zero value is none.
type Sprites struct {
	Token berth.SecretValue
	// URL is the base of the API; the hosted one when empty.
	URL string
}

// openSprites makes the provider of the account. Without a token it is off.
func openSprites(o Options, s stores, logger *slog.Logger) (berth.Provider, error) {
	if o.Sprites.Token.Len() == 0 {
		return control.Off(berth.ProviderSprites, "the server was started without SPRITES_TOKEN in its environment"), nil
	}
	return sprites.New(sprites.Config{
		URL: o.Sprites.URL, Installation: s.installation.ID, Clock: o.Clock, Logger: logger,
		Token: func(context.Context) (berth.SecretValue, error) { return o.Sprites.Token, nil },
		Guest: guestOf(o),
	})
}
