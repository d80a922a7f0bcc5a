"""A second deployment of an API that changed keeps its stage.

LocalStack cannot update stages by CloudFormation; then it removes the
deployment that the stage points at, and with it the API.
"""

from typing import Any

from localstack.services.apigateway.resource_providers.aws_apigateway_stage import ApiGatewayStageProvider
from localstack.services.cloudformation.resource_provider import OperationStatus, ProgressEvent, ResourceRequest

from berth_localstack.guard import replace


def patch() -> None:
    replace(ApiGatewayStageProvider, "update", ["self", "request"], _update)


def _update(_: Any, self: ApiGatewayStageProvider, request: ResourceRequest) -> ProgressEvent:
    model = request.previous_state | request.desired_state
    operations = [{"op": "replace", "path": "/deploymentId", "value": model["DeploymentId"]}]
    before = request.previous_state.get("Variables") or {}
    after = request.desired_state.get("Variables") or {}
    for name in sorted(before.keys() - after.keys()):
        operations.append({"op": "remove", "path": f"/variables/{name}"})
    for name, value in sorted(after.items()):
        operations.append({"op": "replace", "path": f"/variables/{name}", "value": value})
    request.aws_client_factory.apigateway.update_stage(
        restApiId=model["RestApiId"], stageName=model["StageName"], patchOperations=operations
    )
    return ProgressEvent(
        status=OperationStatus.SUCCESS, resource_model=model, custom_context=request.custom_context
    )
