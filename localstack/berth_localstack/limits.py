"""Limits of AWS that LocalStack does not have: sizes, and the time that a request may take."""

import concurrent.futures
from typing import Any

from localstack.aws import handlers
from localstack.aws.api import CommonServiceException
from localstack.services.apigateway.next_gen.execute_api import handlers as api_handlers
from localstack.services.apigateway.next_gen.execute_api.gateway_response import (
    IntegrationTimeoutError,
    RequestTooLargeError,
)
from localstack.services.apigateway.next_gen.execute_api.integrations.aws import RestApiAwsProxyIntegration

from berth_localstack.guard import need, replace

KIB, MIB = 1024, 1024 * 1024

API_BODY_BYTES = 10 * MIB
API_TIMEOUT_MILLISECONDS = 29_000
INVOKE_BYTES = 6 * MIB
INVOKE_LATER_BYTES = 1 * MIB
STATE_BYTES = 256 * KIB
DEFINITION_BYTES = 1 * MIB
SECRET_BYTES = 64 * KIB

# One that waits longer than a request may is left behind; its thread ends with it.
_calls = concurrent.futures.ThreadPoolExecutor(max_workers=256, thread_name_prefix="api-integration")


def patch() -> None:
    need(handlers.serve_custom_service_request_handlers, "append")
    need(api_handlers.preprocess_request, "append")
    replace(RestApiAwsProxyIntegration, "invoke", ["self", "context"], _in_time)
    api_handlers.preprocess_request.append(_body)
    handlers.serve_custom_service_request_handlers.append(_sizes)


def stop() -> None:
    _calls.shutdown(wait=False, cancel_futures=True)


def _in_time(original: Any, self: Any, context: Any) -> Any:
    most = int(context.integration.get("timeoutInMillis") or API_TIMEOUT_MILLISECONDS)
    try:
        return _calls.submit(original, self, context).result(timeout=most / 1000)
    except concurrent.futures.TimeoutError:
        raise IntegrationTimeoutError("Endpoint request timed out") from None


def _body(_: Any, context: Any, __: Any) -> None:
    if len(context.invocation_request["body"] or b"") > API_BODY_BYTES:
        raise RequestTooLargeError("HTTP content length exceeded 10485760 bytes.")


def _sizes(_: Any, context: Any, __: Any) -> None:
    if context.service is None or context.operation is None or context.request is None:
        return
    service, operation = context.service.service_name, context.operation.name
    if service == "lambda" and operation == "Invoke":
        # By the header: reading the body would leave none for the function.
        later = context.request.headers.get("X-Amz-Invocation-Type") == "Event"
        most = INVOKE_LATER_BYTES if later else INVOKE_BYTES
        if (context.request.content_length or 0) > most:
            raise CommonServiceException(
                "RequestTooLargeException", f"Request must be smaller than {most} bytes for the Invoke operation", 413
            )
        return
    for name, most, kind in _FIELDS.get((service, operation), ()):
        value = (context.service_request or {}).get(name)
        size = len(value if isinstance(value, bytes) else (value or "").encode())
        if size > most:
            raise CommonServiceException(
                kind, f"{name}: Member must have length less than or equal to {most}", 400, sender_fault=True
            )


_SECRET = (("SecretString", SECRET_BYTES, "ValidationException"), ("SecretBinary", SECRET_BYTES, "ValidationException"))
_FIELDS = {
    ("stepfunctions", "StartExecution"): (("input", STATE_BYTES, "InvalidExecutionInput"),),
    ("stepfunctions", "SendTaskSuccess"): (("output", STATE_BYTES, "InvalidOutput"),),
    ("stepfunctions", "CreateStateMachine"): (("definition", DEFINITION_BYTES, "InvalidDefinition"),),
    ("stepfunctions", "UpdateStateMachine"): (("definition", DEFINITION_BYTES, "InvalidDefinition"),),
    ("secretsmanager", "CreateSecret"): _SECRET,
    ("secretsmanager", "PutSecretValue"): _SECRET,
    ("secretsmanager", "UpdateSecret"): _SECRET,
}
