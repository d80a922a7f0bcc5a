package httpapi

import (
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
)

func secretOperations() []operation {
	return []operation{
		op("list-secrets", spec{summary: "List secrets", description: "Their metadata, in the order of their names. A value never comes back."}, (*API).listSecrets),
		op("find-secret", spec{summary: "Show a secret's metadata"}, (*API).findSecret),
		op("put-secret", spec{
			summary: "Set a secret", description: "Creates (201) or replaces (200). A value has 6 bytes to 64 KiB; value_base64 is for bytes that are not UTF-8.",
			takes: berth.SecretRequest{}, upserts: true, example: map[string]any{"value": "s3cr3t-value", "type": "token"}, codes: []berth.Code{berth.CodeStale},
		}, (*API).putSecret),
		op("delete-secret", spec{summary: "Delete a secret", description: "The value is gone at once."}, (*API).deleteSecret),
	}
}

func (a *API) listSecrets(ctx context.Context, in *PageParams) (*body[berth.List[berth.Secret]], error) {
	return listPage(ctx, *in, a.cfg.Records.ListSecrets)
}

func (a *API) findSecret(ctx context.Context, in *NameParams) (*body[berth.Secret], error) {
	name, err := in.name("secret")
	if err != nil {
		return nil, err
	}
	s, err := a.cfg.Records.FindSecret(ctx, name)
	return &body[berth.Secret]{s}, err
}

func (a *API) putSecret(ctx context.Context, in *nameChange) (*upserted[berth.Secret], error) {
	var f faults
	name, err := in.name("secret")
	f.add("path.name", err)
	createOnly, err := in.createOnly()
	f.add("header.If-None-Match", err)
	req := berth.SecretRequest{Type: berth.SecretToken}
	_, err = readJSON(ctx, &req)
	if err != nil {
		f.add("", discreet(err))
	} else {
		checkSecret(&f, req)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	value := req.ValueBase64
	if len(value) == 0 {
		value = []byte(req.Value)
	}
	meta := berth.Secret{Name: name, Type: req.Type, Description: req.Description}
	if createOnly {
		return a.createSecret(ctx, meta, berth.NewSecretValue(value))
	}
	// The value first: metadata without a value would be a secret that fails
	// every run, a value without metadata is one that nothing refers to.
	if err := a.cfg.Secrets.Put(ctx, berth.UserSecret(name), berth.NewSecretValue(value)); err != nil {
		return nil, err
	}
	stored, made, err := a.cfg.Records.PutSecret(ctx, meta, false)
	if err != nil {
		return nil, err
	}
	return upsert(stored, made), nil
}

// createSecret claims the name by its metadata before it writes the value, so
// that the loser of a race cannot replace the winner's.
func (a *API) createSecret(ctx context.Context, meta berth.Secret, value berth.SecretValue) (*upserted[berth.Secret], error) {
	stored, _, err := a.cfg.Records.PutSecret(ctx, meta, true)
	if err != nil {
		return nil, existsAlready(err, true)
	}
	if err := a.cfg.Secrets.Put(ctx, berth.UserSecret(meta.Name), value); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
		defer cancel()
		return nil, errors.Join(err, a.cfg.Records.DeleteSecret(undo, meta.Name))
	}
	if _, err := a.cfg.Records.FindSecret(ctx, meta.Name); berth.CodeOf(err) == berth.CodeNotFound {
		// It was deleted before it had its value, which nobody would see.
		if err := a.cfg.Secrets.Delete(ctx, berth.UserSecret(meta.Name)); err != nil {
			return nil, err
		}
	}
	return upsert(stored, true), nil
}

func checkSecret(f *faults, req berth.SecretRequest) {
	oneOf(f, "value", req.Value != "", "value_base64", len(req.ValueBase64) > 0)
	field, value := "value", []byte(req.Value)
	if len(req.ValueBase64) > 0 {
		field, value = "value_base64", req.ValueBase64
	}
	if err := berth.CheckSecretValue(value); err != nil && len(value) > 0 { // an absent one is missing, as said
		f.addf(field, "%s", err)
	}
	if len(req.Description) > maxDescription {
		f.addf("description", "is longer than %d bytes", maxDescription)
	}
}

const maxDescription = 1024

// discreet drops from the faults of a secret's body the names of unknown keys:
// a value may have slipped there.
func discreet(err error) error {
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeInvalid {
		return err
	}
	var p berth.Problems
	for _, problem := range e.Problems {
		switch problem.Location {
		case "", "value", "value_base64", "type", "description":
			p.Add(problem)
		default:
			p.Addf("", "holds an unknown key: the keys are value, value_base64, type and description")
		}
	}
	return berth.Invalid(p.List())
}

func (a *API) deleteSecret(ctx context.Context, in *NameParams) (*empty, error) {
	name, err := in.name("secret")
	if err != nil {
		return nil, err
	}
	// The value first: a crash in between leaves metadata, which can be deleted
	// again, and never a value that nobody sees.
	return nil, a.cfg.Records.DeleteSecretValue(ctx, name, func() error { return a.cfg.Secrets.Delete(ctx, berth.UserSecret(name)) })
}
