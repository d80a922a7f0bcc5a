"""A secret that waits for its deletion takes no new value: LocalStack takes one, and keeps it deleted."""

from typing import Any

from localstack.aws.api.secretsmanager import InvalidRequestException
from moto.secretsmanager.models import FakeSecret, SecretsManagerBackend

from berth_localstack.guard import need, replace


def patch() -> None:
    need(FakeSecret, "is_deleted")
    replace(
        SecretsManagerBackend,
        "put_secret_value",
        ["self", "secret_id", "secret_string", "secret_binary", "client_request_token", "version_stages"],
        _put,
    )


def _put(original: Any, self: SecretsManagerBackend, **arguments: Any) -> str:
    secret_id = arguments["secret_id"]
    if self._is_valid_identifier(secret_id) and self.secrets[secret_id].is_deleted():
        raise InvalidRequestException(
            "You can't perform this operation on the secret because it was marked for deletion."
        )
    return original(self, **arguments)
