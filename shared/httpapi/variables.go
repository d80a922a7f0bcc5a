package httpapi

import (
	"context"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// NameParams name a variable or secret.
type NameParams struct {
	Name string `path:"name" doc:"1 to 128 letters, digits and underscores, not beginning with a digit" example:"NPM_REGISTRY"`
}

func (in NameParams) name(noun string) (string, error) {
	name, err := berth.ParseName(noun+" name", in.Name)
	if err != nil {
		return "", at("path.name", err)
	}
	return name, nil
}

type nameChange struct {
	NameParams
	CreateOnlyParams
}

// upserted is the answer to a PUT that creates or replaces.
type upserted[T any] struct {
	Status int
	Body   T
}

func upsert[T any](v T, made bool) *upserted[T] {
	out := &upserted[T]{Status: 200, Body: v}
	if made {
		out.Status = 201
	}
	return out
}

// maxVariableBytes is the longest value of a variable: an item holds it whole.
const maxVariableBytes = 64 << 10

func variableOperations() []operation {
	return []operation{
		op("list-variables", spec{summary: "List variables", description: "In the order of their names."}, (*API).listVariables),
		op("find-variable", spec{summary: "Show a variable"}, (*API).findVariable),
		op("put-variable", spec{
			summary: "Set a variable", description: "Creates (201) or replaces (200). Runs read it when they are created.",
			takes: berth.VariableRequest{}, upserts: true, example: berth.VariableRequest{Value: "https://registry.example.com"}, codes: []berth.Code{berth.CodeStale},
		}, (*API).putVariable),
		op("delete-variable", spec{summary: "Delete a variable"}, (*API).deleteVariable),
	}
}

func (a *API) listVariables(ctx context.Context, in *PageParams) (*body[berth.List[berth.Variable]], error) {
	return listPage(ctx, *in, a.cfg.Records.ListVariables)
}

func (a *API) findVariable(ctx context.Context, in *NameParams) (*body[berth.Variable], error) {
	name, err := in.name("variable")
	if err != nil {
		return nil, err
	}
	v, err := a.cfg.Records.FindVariable(ctx, name)
	return &body[berth.Variable]{v}, err
}

func (a *API) putVariable(ctx context.Context, in *nameChange) (*upserted[berth.Variable], error) {
	var f faults
	name, err := in.name("variable")
	f.add("path.name", err)
	createOnly, err := in.createOnly()
	f.add("header.If-None-Match", err)
	var req struct { // an empty value is one; that it was left out must not clear what is there
		Value *string `json:"value"`
	}
	_, err = readJSON(ctx, &req)
	f.add("", err)
	switch {
	case err != nil:
	case req.Value == nil:
		f.addf("value", "is missing: it may be empty")
	case len(*req.Value) > maxVariableBytes:
		f.addf("value", "is longer than %s", sizeText(maxVariableBytes))
	case strings.ContainsRune(*req.Value, 0):
		f.addf("value", "holds a NUL byte, which no environment variable can")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	v, made, err := a.cfg.Records.PutVariable(ctx, name, *req.Value, createOnly)
	if berth.CodeOf(err) == berth.CodeTooLarge { // JSON has six bytes for a control character
		err = berth.FieldErrorf(berth.CodeTooLarge, "value", "takes more than %s as JSON: put it into a file, or into a secret", sizeText(berth.MaxItemBytes))
	}
	if err != nil {
		return nil, existsAlready(err, createOnly)
	}
	return upsert(v, made), nil
}

func (a *API) deleteVariable(ctx context.Context, in *NameParams) (*empty, error) {
	name, err := in.name("variable")
	if err != nil {
		return nil, err
	}
	return nil, a.cfg.Records.DeleteVariable(ctx, name)
}
