"""What Step Functions gets wrong about tokens and stopped executions, and its limits."""

from typing import Any

from localstack.services.stepfunctions.asl.component.state.state_execution.state_task.service.state_task_service_callback import (
    StateTaskServiceCallback,
)
from localstack.services.stepfunctions.asl.eval.callback.callback import CallbackPoolManager
from localstack.services.stepfunctions.asl.eval.environment import Environment
from localstack.services.stepfunctions.asl.eval.program_state import ProgramStopped
from localstack.services.stepfunctions.backend.execution import Execution
from localstack.services.stepfunctions.backend.execution_worker import ExecutionWorker

from berth_localstack.guard import need, replace


def patch() -> None:
    need(CallbackPoolManager, "get", "notify")
    replace(ExecutionWorker, "stop", ["self", "stop_date", "error", "cause"], _stop_worker)
    replace(Execution, "stop", ["self", "stop_date", "error", "cause"], _stop_execution)
    replace(Environment, "set_error", ["self", "error"], _unless_stopped)
    replace(Environment, "set_timed_out", ["self"], _unless_stopped)
    replace(
        StateTaskServiceCallback,
        "_wait_for_task_token_heartbeat",
        ["self", "env", "callback_endpoint", "heartbeat_endpoint"],
        _answered_early,
    )


def _stop_worker(original: Any, self: ExecutionWorker, stop_date: Any, error: Any, cause: Any) -> None:
    """Wakes tasks that wait for a token, so that the execution ends now and not with their time-out."""
    original(self, stop_date=stop_date, error=error, cause=cause)
    for endpoint in list(self.env.callback_pool_manager._pool.values()):
        endpoint.interrupt_all()


def _stop_execution(original: Any, self: Execution, stop_date: Any, error: Any, cause: Any) -> None:
    """Keeps what was said about the stop."""
    if self.stop_date is None:
        self.error, self.cause = error, cause
    original(self, stop_date=stop_date, error=error, cause=cause)


def _unless_stopped(original: Any, self: Environment, *args: Any, **kwargs: Any) -> None:
    """A task that was woken by a stop fails, but the execution is ABORTED."""
    if not isinstance(self.program_state(), ProgramStopped):
        original(self, *args, **kwargs)


def _answered_early(original: Any, self: Any, env: Any, callback_endpoint: Any, heartbeat_endpoint: Any) -> Any:
    """An answer that came before the task's function returned counts too."""
    return callback_endpoint.get_outcome() or original(self, env, callback_endpoint, heartbeat_endpoint)
