package embedded

import (
	"bytes"
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
)

// Account is one at a service whose API takes a key; the zero value is none.
type Account struct {
	// Key is an API key or a token of the service.
	Key berth.SecretValue
	// URL is the base of the API; the hosted one when empty.
	URL string
}

// variables are where people name an account, for messages.
type variables struct{ key, url string }

type readKey = func(context.Context) (berth.SecretValue, error)

// open makes the provider of the account. Without a key it is off. Errors: invalid,
// at the variable that is wrong.
func (a Account) open(kind berth.ProviderKind, at variables, provide func(readKey) (berth.Provider, error)) (berth.Provider, error) {
	key := berth.NewSecretValue(bytes.TrimSpace(a.Key.Reveal())) // a file's line end comes along easily
	switch {
	case key.Len() == 0:
		return control.Off(kind, "the server was started without "+at.key+" in its environment"), nil
	case bytes.ContainsFunc(key.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Field: at.key, Message: "is no key: it must be one word of visible ASCII characters",
			Remediation: "Set it to the key as the service shows it, or unset it to go without provider " + string(kind) + ".",
		}
	}
	provider, err := provide(func(context.Context) (berth.SecretValue, error) { return key, nil })
	if err != nil && a.URL != "" {
		err = atFlag(at.url, err)
	}
	return provider, err
}
