"""A rule whose target has an Input of its own starts a state machine too."""

import uuid
from typing import Any

from localstack.services.events.target import StatesTargetSender

from berth_localstack.guard import replace


def patch() -> None:
    replace(StatesTargetSender, "send_event", ["self", "event", "trace_header"], _send)


def _send(original: Any, self: StatesTargetSender, event: Any, trace_header: Any) -> None:
    """The execution is named after the event, but an Input has no id."""
    if isinstance(event, dict) and "id" in event:
        original(self, event, trace_header)
        return
    self.service = "stepfunctions"
    self.client.start_execution(
        stateMachineArn=self.target["Arn"],
        name=str(uuid.uuid4()),
        input=event if isinstance(event, str) else _json(event),
    )


def _json(event: Any) -> str:
    from localstack.services.stepfunctions.asl.utils.encoding import to_json_str

    return to_json_str(event)
