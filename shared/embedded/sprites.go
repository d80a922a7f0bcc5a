package embedded

import (
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
)

// openSprites makes the provider of the account.
func openSprites(o Options, s stores, logger *slog.Logger) (berth.Provider, error) {
	return o.Sprites.open(berth.ProviderSprites, variables{"SPRITES_TOKEN", "SPRITES_API_URL"}, func(token readKey) (berth.Provider, error) {
		return sprites.New(sprites.Config{
			URL: o.Sprites.URL, Token: token, Installation: s.installation.ID, Clock: o.Clock, Logger: logger, Guest: guestOf(o),
		})
	})
}
