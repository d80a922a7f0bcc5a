package records

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// named is what variables and secrets have in common: a name, a time of birth
// and an upsert.
type named[T any] struct {
	pk, noun string
	name     func(T) string
}

func (n named[T]) find(ctx context.Context, s *Store, name string) (v T, version int64, err error) {
	version, err = s.find(ctx, n.pk, name, &v)
	return v, version, rename(err, berth.CodeNotFound, berth.Errorf(berth.CodeNotFound, "%s %s does not exist", n.noun, name))
}

func (n named[T]) list(ctx context.Context, s *Store, limit int, cursor string) ([]T, string, error) {
	page, err := s.Table.Query(ctx, berth.Query{PK: n.pk, Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	out := make([]T, len(page.Items))
	for i, item := range page.Items {
		if err := decode(item, &out[i]); err != nil {
			return nil, "", err
		}
	}
	return out, page.Next, nil
}

// put stores merge(what is there). With createOnly it is a conflict when something is.
func (n named[T]) put(ctx context.Context, s *Store, v T, createOnly bool, merge func(old, new T) T) (stored T, created bool, err error) {
	what := n.noun + " " + n.name(v)
	err = s.race(ctx, what, func() error {
		old, version, err := n.find(ctx, s, n.name(v))
		switch {
		case err == nil && createOnly:
			return berth.Errorf(berth.CodeConflict, "%s exists already", what)
		case err == nil:
			stored = merge(old, v)
		case isNotFound(err):
			stored = v
		default:
			return err
		}
		body, err := encode(stored)
		if err != nil {
			return err
		}
		created = version == 0
		_, err = s.Table.Put(ctx, berth.Item{PK: n.pk, SK: n.name(v), Version: version, Body: body})
		return err
	})
	return stored, created && err == nil, err
}

// delete removes what is there after first, which is done again when something
// else is there by then.
func (n named[T]) delete(ctx context.Context, s *Store, name string, first func() error) error {
	return s.race(ctx, n.noun+" "+name, func() error {
		_, version, err := n.find(ctx, s, name)
		if err == nil {
			err = first()
		}
		if err != nil {
			return err
		}
		return s.Table.Delete(ctx, n.pk, name, version)
	})
}

func nothing() error { return nil }

var (
	variables = named[berth.Variable]{pkVariable, "variable", func(v berth.Variable) string { return v.Name }}
	secrets   = named[berth.Secret]{pkSecret, "secret", func(v berth.Secret) string { return v.Name }}
)

// FindVariable returns not_found.
func (s *Store) FindVariable(ctx context.Context, name string) (berth.Variable, error) {
	v, _, err := variables.find(ctx, s, name)
	return v, err
}

// ListVariables returns a page in the order of names.
func (s *Store) ListVariables(ctx context.Context, limit int, cursor string) ([]berth.Variable, string, error) {
	return variables.list(ctx, s, limit, cursor)
}

// PutVariable creates or replaces; with createOnly an existing one is a conflict.
func (s *Store) PutVariable(ctx context.Context, name, value string, createOnly bool) (v berth.Variable, created bool, err error) {
	now := s.Clock.Now()
	return variables.put(ctx, s, berth.Variable{Name: name, Value: value, CreatedAt: now, UpdatedAt: now}, createOnly,
		func(old, new berth.Variable) berth.Variable { new.CreatedAt = old.CreatedAt; return new })
}

// DeleteVariable returns not_found.
func (s *Store) DeleteVariable(ctx context.Context, name string) error {
	return variables.delete(ctx, s, name, nothing)
}

// FindSecret returns a secret's metadata, or not_found.
func (s *Store) FindSecret(ctx context.Context, name string) (berth.Secret, error) {
	v, _, err := secrets.find(ctx, s, name)
	return v, err
}

// ListSecrets returns a page of metadata in the order of names.
func (s *Store) ListSecrets(ctx context.Context, limit int, cursor string) ([]berth.Secret, string, error) {
	return secrets.list(ctx, s, limit, cursor)
}

// PutSecret records metadata; the value goes to the secret store before it.
func (s *Store) PutSecret(ctx context.Context, secret berth.Secret, createOnly bool) (v berth.Secret, created bool, err error) {
	now := s.Clock.Now()
	secret.CreatedAt, secret.UpdatedAt = now, now
	return secrets.put(ctx, s, secret, createOnly,
		func(old, new berth.Secret) berth.Secret { new.CreatedAt = old.CreatedAt; return new })
}

// DeleteSecret removes metadata, or returns not_found.
func (s *Store) DeleteSecret(ctx context.Context, name string) error {
	return secrets.delete(ctx, s, name, nothing)
}

// DeleteSecretValue is DeleteSecret after value has removed the value: also that of
// somebody who set the secret meanwhile, which nobody would see any more.
func (s *Store) DeleteSecretValue(ctx context.Context, name string, value func() error) error {
	return secrets.delete(ctx, s, name, value)
}
