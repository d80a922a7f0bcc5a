package serverless

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// principalField is where the authorizer leaves whom a key stands for, and where
// functions find it: in the request's context, which a client has no way to set.
const principalField = "principal"

// gatewayAuthenticator takes the authorizer's word. Where the gateway has not
// asked it, the request's own token decides.
type gatewayAuthenticator struct{ tokens httpapi.Authenticator }

func (g gatewayAuthenticator) Authenticate(r *http.Request) (berth.Principal, error) {
	gateway, ok := core.GetAPIGatewayContextFromContext(r.Context())
	said, asked := gateway.Authorizer[principalField]
	if !ok || !asked {
		return g.tokens.Authenticate(r)
	}
	text, _ := said.(string)
	who, err := decodePrincipal(text)
	if err != nil {
		return who, fmt.Errorf("reading what the authorizer says: %w", err)
	}
	return who, nil
}

// encodePrincipal makes one text of it: a gateway's context has no lists.
func encodePrincipal(who berth.Principal) (string, error) {
	encoded, err := json.Marshal(who)
	return string(encoded), err
}

func decodePrincipal(text string) (who berth.Principal, err error) {
	err = json.Unmarshal([]byte(text), &who)
	if err == nil && who.Name == "" {
		err = fmt.Errorf("it names nobody")
	}
	return who, err
}
