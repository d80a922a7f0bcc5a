package httpapi

import (
	"context"
	"fmt"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
)

func serviceOperations() []operation {
	return []operation{
		op("find-principal", spec{summary: "Show whom the key stands for"}, (*API).findPrincipal),
		op("find-health", spec{summary: "Tell that the server answers"}, (*API).findHealth),
		op("find-version", spec{summary: "Show which berth answers"}, (*API).findVersion),
		op("find-openapi", spec{summary: "Show this document", media: map[string]string{mediaJSON: "OpenAPI 3.1"}}, (*API).findOpenAPI),
	}
}

func (a *API) findPrincipal(ctx context.Context, _ *empty) (*body[berth.Principal], error) {
	return &body[berth.Principal]{exchangeOf(ctx).principal}, nil
}

func (a *API) findHealth(context.Context, *empty) (*body[berth.Health], error) {
	return &body[berth.Health]{berth.Health{Status: "ok"}}, nil
}

func (a *API) findVersion(context.Context, *empty) (*body[berth.Version], error) {
	return &body[berth.Version]{a.cfg.Version}, nil
}

// documentReply is the OpenAPI document, which is no schema of its own.
type documentReply struct{ Body func(huma.Context) }

// findOpenAPI describes every operation, also where one function serves only this.
func (a *API) findOpenAPI(ctx context.Context, _ *empty) (*documentReply, error) {
	doc, err := a.whole()
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	return &documentReply{func(hc huma.Context) {
		x := exchangeOf(hc.Context())
		x.Header().Set("Content-Type", mediaJSON)
		x.Header().Set("Content-Length", strconv.Itoa(len(doc)))
		_, _ = x.Write(doc)
	}}, nil
}
