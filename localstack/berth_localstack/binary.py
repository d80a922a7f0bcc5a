"""An API whose binary types are */* gets all answers as bytes, also when the request has no Accept header.

LocalStack hands those of requests without one on in base64.
"""

from typing import Any

from localstack.services.apigateway.next_gen.execute_api.integrations import aws

from berth_localstack.guard import replace


def patch() -> None:
    replace(aws, "mime_type_matches_binary_media_types", ["mime_type", "binary_media_types"], _matches)


def _matches(original: Any, mime_type: str | None, binary_media_types: list[str]) -> bool:
    return "*/*" in (binary_media_types or []) or original(mime_type, binary_media_types)
