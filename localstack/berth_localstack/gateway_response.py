"""Gateway responses as the API declares them: LocalStack keeps templates and headers but does not use them."""

import json
import re
from typing import Any

from localstack.services.apigateway.next_gen.execute_api.gateway_response import (
    get_gateway_response_or_default,
)
from localstack.services.apigateway.next_gen.execute_api.handlers.gateway_exception import (
    GatewayExceptionHandler,
)

from berth_localstack.guard import replace

_VARIABLE = re.compile(r"\$context\.([A-Za-z0-9_.]+)")


def patch() -> None:
    replace(GatewayExceptionHandler, "create_exception_response", ["self", "exception", "context"], _create)


def _create(original: Any, self: GatewayExceptionHandler, exception: Any, context: Any) -> Any:
    response = original(self, exception, context)
    declared = get_gateway_response_or_default(exception.type, context.deployment.rest_api.gateway_responses)
    for content_type, template in (declared.get("responseTemplates") or {}).items():
        if declared.get("defaultResponse"):
            break  # the default's template leaves out what LocalStack says by itself
        response.data = _VARIABLE.sub(lambda match: _value(context.context_variables, match[1]), template)
        response.headers["Content-Type"] = content_type
        break  # one template, as a gateway that is not asked for another chooses the first
    for name, value in (declared.get("responseParameters") or {}).items():
        if name.startswith("gatewayresponse.header.") and value.startswith("'"):
            response.headers[name.removeprefix("gatewayresponse.header.")] = value.strip("'")
    return response


def _value(variables: Any, path: str) -> str:
    """A variable of the request, or nothing. The message comes quoted only as messageString."""
    value = variables
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if path == "error.messageString":
        return json.dumps(value)
    return "" if value is None else str(value)
