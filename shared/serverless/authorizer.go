package serverless

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// errUnauthorized is the word that makes the gateway answer 401.
var errUnauthorized = errors.New("Unauthorized")

// Authorizer is the handler of the gateway's TOKEN authorizer. It allows the
// whole API, for the gateway keeps its answer for other routes too; what a key
// may do is checked by each operation. A missing, unknown, expired or revoked key
// is the error Unauthorized; another error means that the key could not be looked up.
func Authorizer(keys httpapi.TokenAuthenticator, logger *slog.Logger) func(context.Context, events.APIGatewayCustomAuthorizerRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
	return func(ctx context.Context, event events.APIGatewayCustomAuthorizerRequest) (none events.APIGatewayCustomAuthorizerResponse, err error) {
		header := http.Header{}
		if event.AuthorizationToken != "" {
			header.Set("Authorization", event.AuthorizationToken)
		}
		who, err := httpapi.BearerTokens(keys).Authenticate((&http.Request{Header: header}).WithContext(ctx))
		switch {
		case berth.CodeOf(err) == berth.CodeUnauthenticated:
			return none, errUnauthorized
		case err != nil:
			logger.ErrorContext(ctx, "a key could not be looked up", "error", err.Error())
			return none, err
		}
		principal, err := encodePrincipal(who)
		if err != nil {
			return none, err
		}
		return events.APIGatewayCustomAuthorizerResponse{
			PrincipalID: string(who.Key),
			PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
				Version: "2012-10-17",
				Statement: []events.IAMPolicyStatement{{
					Action: []string{"execute-api:Invoke"}, Effect: "Allow", Resource: []string{wholeAPI(event.MethodArn)},
				}},
			},
			Context: map[string]any{principalField: principal},
		}, nil
	}
}

// wholeAPI is every method of the stage that a method's ARN is of:
// arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH.
func wholeAPI(method string) string {
	parts := strings.SplitN(method, "/", 3)
	if len(parts) < 3 {
		return method
	}
	return parts[0] + "/" + parts[1] + "/*"
}
