"""Asks the Lambda authorizer of a method, TOKEN or REQUEST, before its integration.

LocalStack keeps authorizers but never asks them. Answers are not cached here: a
key that is revoked is refused at once, which on AWS takes until the cache expires.
"""

import fnmatch
import json
import re
import time
from typing import Any

from localstack.services.apigateway.next_gen.execute_api import handlers
from localstack.services.apigateway.next_gen.execute_api.gateway_response import (
    AccessDeniedError,
    AuthorizerConfigurationError,
    AuthorizerFailureError,
    UnauthorizedError,
)
from localstack.services.apigateway.next_gen.execute_api.helpers import (
    get_lambda_function_arn_from_invocation_uri,
)
from localstack.services.apigateway.next_gen.execute_api.integrations.aws import (
    RestApiAwsProxyIntegration,
    get_service_factory,
)
from localstack.utils.aws.arns import extract_region_from_arn
from localstack.utils.aws.client_types import ServicePrincipal

from berth_localstack.guard import need

_proxy = RestApiAwsProxyIntegration()


def patch() -> None:
    need(handlers.preprocess_request, "append")
    need(RestApiAwsProxyIntegration, "_format_headers")
    handlers.preprocess_request.append(authorize)


def authorize(_: Any, context: Any, __: Any) -> None:
    method = context.resource_method
    if (method.get("authorizationType") or "NONE").upper() != "CUSTOM":
        return
    authorizer = context.deployment.rest_api.authorizers.get(method.get("authorizerId"))
    if authorizer is None or authorizer["type"] not in ("TOKEN", "REQUEST"):
        raise AuthorizerConfigurationError()
    event = _event(context, authorizer)
    begun = time.monotonic()
    answer = _ask(context, authorizer, event)
    if not allows(answer["policyDocument"], event["methodArn"]):
        raise AccessDeniedError("User is not authorized to access this resource")
    values = {name: _text(value) for name, value in (answer.get("context") or {}).items()}
    context.context_variables["authorizer"] = {
        **values,
        "principalId": answer["principalId"],
        "integrationLatency": int((time.monotonic() - begun) * 1000),
    }


def _event(context: Any, authorizer: dict) -> dict:
    request = context.invocation_request
    path = request["path"].lstrip("/")
    arn = (
        f"arn:aws:execute-api:{context.region}:{context.account_id}:{context.api_id}"
        f"/{context.stage}/{request['http_method']}/{path}"
    )
    sources = [source.strip() for source in (authorizer.get("identitySource") or "").split(",") if source.strip()]
    values = [_identity(context, source) for source in sources]
    if not all(values):
        raise UnauthorizedError("Unauthorized")
    if authorizer["type"] == "TOKEN":
        if not values:
            raise AuthorizerConfigurationError()
        expression = authorizer.get("identityValidationExpression")
        if expression and not re.fullmatch(expression, values[0]):
            raise UnauthorizedError("Unauthorized")
        return {"type": "TOKEN", "methodArn": arn, "authorizationToken": values[0]}
    headers = request["headers"]
    return {
        "type": "REQUEST",
        "methodArn": arn,
        "resource": context.resource["path"],
        "path": request["path"],
        "httpMethod": request["http_method"],
        "headers": _proxy._format_headers(dict(headers)),
        "multiValueHeaders": {name: headers.getlist(name) for name in {name for name, _ in headers.items()}},
        "queryStringParameters": request["query_string_parameters"] or {},
        "multiValueQueryStringParameters": request["multi_value_query_string_parameters"] or {},
        "pathParameters": request["path_parameters"] or {},
        "stageVariables": context.stage_variables or {},
        "requestContext": context.context_variables,
    }


def _identity(context: Any, source: str) -> str | None:
    request = context.invocation_request
    kind, _, name = source.removeprefix("method.request.").partition(".")
    if kind == "header":
        return request["headers"].get(name)
    if kind == "querystring":
        return (request["query_string_parameters"] or {}).get(name)
    raise AuthorizerConfigurationError()


def _ask(context: Any, authorizer: dict, event: dict) -> dict:
    function = get_lambda_function_arn_from_invocation_uri(authorizer["authorizerUri"])
    client = get_service_factory(
        region_name=extract_region_from_arn(function), role_arn=authorizer.get("authorizerCredentials")
    ).lambda_.request_metadata(
        service_principal=ServicePrincipal.apigateway,
        source_arn=f"arn:aws:execute-api:{context.region}:{context.account_id}:{context.api_id}/authorizers/{authorizer['id']}",
    )
    try:
        result = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        payload = result["Payload"].read()
    except Exception as e:
        raise AuthorizerConfigurationError() from e
    if result.get("FunctionError"):
        if json.loads(payload).get("errorMessage") == "Unauthorized":
            raise UnauthorizedError("Unauthorized")
        raise AuthorizerFailureError()
    try:
        answer = json.loads(payload)
        answer["principalId"], answer["policyDocument"]["Statement"]
    except (ValueError, KeyError, TypeError) as e:
        raise AuthorizerConfigurationError() from e
    return answer


def allows(policy: dict, arn: str) -> bool:
    """Whether a policy lets somebody call a method. A denial beats all."""
    allowed = False
    for statement in _list(policy["Statement"]):
        actions = _list(statement.get("Action"))
        if not any(fnmatch.fnmatch("execute-api:invoke", action.lower()) for action in actions):
            continue
        if not any(_matches(pattern, arn) for pattern in _list(statement.get("Resource"))):
            continue
        if statement.get("Effect") == "Deny":
            return False
        allowed = allowed or statement.get("Effect") == "Allow"
    return allowed


def _matches(pattern: str, arn: str) -> bool:
    # Not fnmatch: a path may have brackets.
    expression = "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
    return re.fullmatch(expression, arn, re.DOTALL) is not None


def _list(value: Any) -> list:
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    """The gateway hands on texts only."""
    return value if isinstance(value, str) else json.dumps(value)
