package registryauth

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// SecretName is that of the users' secret with the credentials, in the form of a
// config.json of the docker client.
const SecretName = "DOCKER_AUTHS"

// FromSecret reads the secret anew each time: it may be set at any time. Without it
// there are no credentials. Errors: invalid for a secret of another form;
// unavailable.
func FromSecret(secrets berth.Secrets) func(ctx context.Context, registry string) (*Credentials, error) {
	return func(ctx context.Context, registry string) (*Credentials, error) {
		value, err := secrets.Read(ctx, berth.UserSecret(SecretName))
		if berth.CodeOf(err) == berth.CodeNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, berth.Wrap(err, "reading secret "+SecretName)
		}
		file, err := Parse(value.Reveal())
		if err != nil {
			return nil, berth.Wrap(err, "reading secret "+SecretName)
		}
		return file.Find(registry), nil
	}
}
