"""Puts the parts of this plugin into LocalStack when it starts, and says so at /_localstack/berth."""

import logging
import os

from localstack.runtime import hooks
from localstack.runtime.exceptions import LocalstackExit

LOG = logging.getLogger(__name__)


@hooks.on_infra_start()
def patch() -> None:
    """Ends LocalStack where a part does not fit."""
    try:
        from berth_localstack import (
            authorizer,
            binary,
            events,
            gateway,
            gateway_response,
            guard,
            limits,
            scheduler,
            secret,
            stage,
            stepfunctions,
        )

        guard.check_version()
        parts = [gateway, stage, binary, gateway_response, limits, authorizer, stepfunctions, events, secret]
        for part in parts:
            part.patch()
        scheduler.start()
        _announce([part.__name__.rpartition(".")[2] for part in [*parts, scheduler]])
    except Exception as e:
        LOG.exception("berth's plugin does not fit")
        raise LocalstackExit(reason=f"berth's plugin does not fit: {e}", code=1) from e


@hooks.on_infra_shutdown()
def stop() -> None:
    """Ends what runs, and then LocalStack: it keeps nothing, but takes seconds to end all of its services."""
    from berth_localstack import executor, limits, scheduler

    scheduler.stop()
    limits.stop()
    executor.stop_all()
    LOG.info("all functions have ended")
    logging.shutdown()
    os._exit(0)


def _announce(parts: list[str]) -> None:
    from localstack.http import Resource, Response
    from localstack.services.internal import get_internal_apis

    class Announcement:
        def on_get(self, _: object) -> Response:
            return Response.for_json({"parts": parts})

    get_internal_apis().add(Resource("/_localstack/berth", Announcement()))
