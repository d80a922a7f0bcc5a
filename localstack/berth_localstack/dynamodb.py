"""DynamoDB and its streams, played by another emulator at BERTH_DYNAMODB_ENDPOINT.

LocalStack's own is a Java program of Amazon that is not open source.
"""

import functools
import json
import os

import urllib3
from localstack.aws.api import RequestContext, ServiceRequest
from localstack.aws.api.dynamodb import DynamodbApi
from localstack.aws.api.dynamodbstreams import DynamodbstreamsApi
from localstack.aws.forwarder import ForwardingFallbackDispatcher
from localstack.http import Response
from localstack.services.plugins import Service, aws_provider

# Authorization names the account, which both emulators take from it alike.
FORWARDED = ["Content-Type", "X-Amz-Target", "Authorization", "X-Amz-Date", "X-Amz-Security-Token"]


@functools.cache
def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager(
        maxsize=64,
        # Longer than any answer takes; never repeated: a write is not.
        timeout=urllib3.Timeout(connect=5, read=60),
        retries=False,
    )


def forward(context: RequestContext, _: ServiceRequest | None = None) -> Response:
    """Passes a request on, and its answer back, byte by byte: the SDKs check a sum of it."""
    request = context.request
    headers = {name: request.headers[name] for name in FORWARDED if name in request.headers}
    target = headers["X-Amz-Target"].rpartition(".")[2]
    body = request.get_data()
    if target == "UpdateTable" and _adds_own_region(body, context.region):
        # What CloudFormation's GlobalTable sends here for a table of one region;
        # DynamoDB refuses it.
        headers["X-Amz-Target"] = headers["X-Amz-Target"].replace("UpdateTable", "DescribeTable")
        answer = _post(json.dumps({"TableName": json.loads(body)["TableName"]}).encode(), headers)
        if answer.status == 200:
            description = json.loads(answer.data)["Table"]
            return Response(json.dumps({"TableDescription": description}), 200, content_type=headers["Content-Type"])
    else:
        answer = _post(body, headers)
    kept = {name: value for name, value in answer.headers.items() if name.lower().startswith("x-amz")}
    return Response(
        answer.data, answer.status, headers=kept, content_type=answer.headers.get("Content-Type", headers["Content-Type"])
    )


def _post(body: bytes, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
    return _pool().request("POST", os.environ["BERTH_DYNAMODB_ENDPOINT"], body=body, headers=headers)


def _adds_own_region(body: bytes, region: str) -> bool:
    request = json.loads(body)
    return set(request) == {"TableName", "ReplicaUpdates"} and all(
        update.get("Create", {}).get("RegionName") == region for update in request["ReplicaUpdates"]
    )


def _service(api: object) -> Service:
    return Service.for_provider(
        api, dispatch_table_factory=lambda provider: ForwardingFallbackDispatcher(provider, forward)
    )


@aws_provider(api="dynamodb", name="forward")
def dynamodb() -> Service:
    return _service(DynamodbApi())


@aws_provider(api="dynamodbstreams", name="forward")
def dynamodbstreams() -> Service:
    return _service(DynamodbstreamsApi())
