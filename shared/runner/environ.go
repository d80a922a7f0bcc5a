package runner

import (
	"context"
	"maps"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/interpolate"
	"github.com/berth-dev/berth/shared/records"
)

// Environ resolves the variables that a command is given.
type Environ struct {
	Records *records.Store
	Secrets berth.Secrets
}

// Resolve merges layers, later ones first in right, and replaces secrets by
// their values, which also come back for masking. Variables must be replaced
// already. Errors: invalid, naming the variable, for a secret that is missing or
// no token, and for a value that no process can be given; unavailable.
func (e Environ) Resolve(ctx context.Context, layers ...map[string]string) (env map[string]string, mask []berth.SecretValue, err error) {
	env = map[string]string{}
	for _, layer := range layers {
		maps.Copy(env, layer)
	}
	seen := map[string]berth.SecretValue{}
	lookup := func(name string) (berth.SecretValue, error) {
		if v, ok := seen[name]; ok {
			return v, nil
		}
		v, err := e.read(ctx, name)
		if err == nil {
			seen[name] = v
			mask = append(mask, v)
		}
		return v, err
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value, _, err := interpolate.Secrets(berth.FieldPath("env", name), env[name], lookup)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(value, 0) {
			return nil, nil, berth.FieldErrorf(berth.CodeInvalid, berth.FieldPath("env", name), "has a NUL after its secret was put in, which no environment variable can hold")
		}
		if err := berth.CheckEnvSize(name, string(value)); err != nil {
			return nil, nil, err
		}
		env[name] = string(value)
	}
	return env, mask, nil
}

// CheckSecret returns invalid unless the secret exists and is a token.
func (e Environ) CheckSecret(ctx context.Context, name string) error {
	secret, err := e.Records.FindSecret(ctx, name)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		return missingSecret(name)
	case err != nil:
		return berth.Wrap(err, "looking for secret "+name)
	case secret.Type != berth.SecretToken:
		return &berth.Error{
			Code: berth.CodeInvalid, Message: "secret " + name + " is a file: only tokens can be put into variables",
			Remediation: "Set it again with type token, or name another secret.",
		}
	}
	return nil
}

func (e Environ) read(ctx context.Context, name string) (berth.SecretValue, error) {
	if err := e.CheckSecret(ctx, name); err != nil {
		return berth.SecretValue{}, err
	}
	value, err := e.Secrets.Read(ctx, berth.UserSecret(name))
	if berth.CodeOf(err) == berth.CodeNotFound {
		return value, missingSecret(name)
	}
	return value, berth.Wrap(err, "reading secret "+name)
}

func missingSecret(name string) error {
	return &berth.Error{
		Code: berth.CodeInvalid, Message: "secret " + name + " does not exist",
		Remediation: "Set it: berth secret set " + name,
	}
}
