"""CloudFormation's AWS::ApiGateway::Authorizer, which LocalStack does not have."""

from localstack.services.cloudformation.resource_provider import (
    CloudFormationResourceProviderPlugin,
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
    ResourceRequest,
)

TYPE = "AWS::ApiGateway::Authorizer"

# The property of a template, and the argument of the API.
_ARGUMENTS = {
    "RestApiId": "restApiId",
    "Name": "name",
    "Type": "type",
    "AuthType": "authType",
    "AuthorizerUri": "authorizerUri",
    "AuthorizerCredentials": "authorizerCredentials",
    "IdentitySource": "identitySource",
    "IdentityValidationExpression": "identityValidationExpression",
    "AuthorizerResultTtlInSeconds": "authorizerResultTtlInSeconds",
    "ProviderARNs": "providerARNs",
}
# Those that update_authorizer can change.
_CHANGING = ["Name", "AuthorizerUri", "AuthorizerCredentials", "IdentitySource", "IdentityValidationExpression", "AuthorizerResultTtlInSeconds"]


class AuthorizerPlugin(CloudFormationResourceProviderPlugin):
    name = TYPE

    def __init__(self) -> None:
        self.factory: type[ResourceProvider] | None = None

    def load(self) -> None:
        self.factory = AuthorizerProvider


class AuthorizerProvider(ResourceProvider[dict]):
    TYPE = TYPE
    SCHEMA = {
        "typeName": TYPE,
        "properties": {name: {} for name in [*_ARGUMENTS, "AuthorizerId"]},
        "required": ["RestApiId", "Type", "Name"],
        "readOnlyProperties": ["/properties/AuthorizerId"],
        "createOnlyProperties": ["/properties/RestApiId"],
        # Ref gives this one.
        "primaryIdentifier": ["/properties/AuthorizerId"],
    }

    def create(self, request: ResourceRequest[dict]) -> ProgressEvent[dict]:
        model = request.desired_state
        arguments = {argument: model[name] for name, argument in _ARGUMENTS.items() if name in model}
        if "authorizerResultTtlInSeconds" in arguments:
            arguments["authorizerResultTtlInSeconds"] = int(arguments["authorizerResultTtlInSeconds"])
        made = request.aws_client_factory.apigateway.create_authorizer(**arguments)
        model["AuthorizerId"] = made["id"]
        return _done(model)

    def update(self, request: ResourceRequest[dict]) -> ProgressEvent[dict]:
        model = request.previous_state | request.desired_state
        operations = [
            {"op": "replace", "path": "/" + _ARGUMENTS[name], "value": str(model[name])}
            for name in _CHANGING
            if name in model and model[name] != request.previous_state.get(name)
        ]
        if operations:
            request.aws_client_factory.apigateway.update_authorizer(
                restApiId=model["RestApiId"], authorizerId=model["AuthorizerId"], patchOperations=operations
            )
        return _done(model)

    def delete(self, request: ResourceRequest[dict]) -> ProgressEvent[dict]:
        model = request.desired_state
        client = request.aws_client_factory.apigateway
        try:
            client.delete_authorizer(restApiId=model["RestApiId"], authorizerId=model["AuthorizerId"])
        except client.exceptions.NotFoundException:
            pass  # it went with its API
        return _done(model)


def _done(model: dict) -> ProgressEvent[dict]:
    return ProgressEvent(status=OperationStatus.SUCCESS, resource_model=model)
