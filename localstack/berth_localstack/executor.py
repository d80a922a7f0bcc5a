"""Runs functions of the runtimes `provided.*` as processes of this machine.

LocalStack keeps, reuses and ends execution environments and applies concurrency
and retries; an executor is one environment and runs one process. A function runs
as LocalStack's user and sees its disk: fine for tests, never for code that is
not trusted.
"""

import atexit
import json
import logging
import threading
import time
import weakref

from localstack import config
from localstack.services.lambda_.invocation.executor_endpoint import (
    ShutdownDuringStartup,
    StatusErrorException,
)
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from berth_localstack.process import FunctionProcess
from berth_localstack.runtime_api import Answer, Closed, Event, NotTaken

LOG = logging.getLogger(__name__)

_executors: weakref.WeakSet["ProcessExecutor"] = weakref.WeakSet()


class ProcessExecutorPlugin(RuntimeExecutorPlugin):
    name = "process"

    def load(self, *_: object, **__: object) -> type[RuntimeExecutor]:
        return ProcessExecutor


class ProcessExecutor(RuntimeExecutor):
    def __init__(self, id: str, function_version: FunctionVersion) -> None:
        super().__init__(id=id, function_version=function_version)
        self._variables: dict[str, str] = {}
        self._invoking = threading.Lock()  # one event at a time
        self._lock = threading.Lock()  # guards what follows
        self._process: FunctionProcess | None = None
        self._stopped = False
        _executors.add(self)

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        runtime = function_version.config.runtime or "of an image"
        if not runtime.startswith("provided"):
            raise ValueError(f"the runtime {runtime} does not run as a process: use provided.al2023")
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        if function_version.config.code:
            function_version.config.code.destroy_cached()

    def get_address(self) -> str:
        return "127.0.0.1"

    def get_endpoint_from_executor(self) -> str:
        return "127.0.0.1"

    def get_runtime_endpoint(self) -> str:
        return ""  # nothing of LocalStack runs inside

    def get_logs(self) -> str:
        with self._lock:
            process = self._process
        return process.output.take() if process else ""

    def start(self, env_vars: dict[str, str]) -> None:
        # LocalStack has a timer for this, which calls stop.
        self._variables = {name: str(value) for name, value in env_vars.items()}
        self._spawn(None)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            process = self._process
        if process:
            process.stop()

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        with self._invoking:
            return self._invoke(payload)

    def _spawn(self, timeout: float | None) -> FunctionProcess:
        """Starts a process and waits until it asks for an event."""
        version = self.function_version
        code = version.config.code.get_unzipped_code_location()
        with self._lock:
            if self._stopped:
                raise ShutdownDuringStartup("the environment was stopped before it started")
            try:
                process = FunctionProcess(version.id.function_name, code, self._variables)
            except OSError as e:
                message = f"Couldn't find valid bootstrap, or it does not run here: {e}"
                raise _failed("Runtime.InvalidEntrypoint", message) from e
            self._process = process
        try:
            error = process.api.await_init(timeout)
        except TimeoutError:
            process.stop(0)
            raise _failed("Sandbox.Timedout", f"Init took more than {timeout:.2f} seconds") from None
        except Closed:
            status = process.stop()
            with self._lock:
                if self._stopped:
                    raise ShutdownDuringStartup("the environment was stopped while it started") from None
            raise _failed("Runtime.ExitError", f"Runtime exited with error: {status}") from None
        if error is not None:
            process.stop()
            raise StatusErrorException("the function's init failed", payload=error)
        return process

    def _invoke(self, payload: dict[str, str]) -> InvocationResult:
        request_id = payload["invoke-id"]
        begun = time.monotonic()
        while True:
            try:
                process = self._running()
            except StatusErrorException as e:
                return InvocationResult(request_id, e.payload, is_error=True, logs="")
            except ShutdownDuringStartup as e:
                return InvocationResult(request_id, _error("ServiceException", str(e)), is_error=True, logs="")
            try:
                answer = self._ask(process, payload)
                break
            except NotTaken:
                continue  # it ended by itself, as after a panic in the invocation before
        logs = _logs(request_id, self.function_version, process.output.take(), time.monotonic() - begun)
        return InvocationResult(request_id, answer.payload, is_error=answer.failed, logs=logs)

    def _running(self) -> FunctionProcess:
        """The process, or a new one when that has ended."""
        with self._lock:
            process = self._process
        if process is not None:
            if not process.ended:
                return process
            process.stop()
        return self._spawn(config.LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT)

    def _ask(self, process: FunctionProcess, payload: dict[str, str]) -> Answer:
        request_id = payload["invoke-id"]
        timeout = self.function_version.config.timeout
        event = Event(
            request_id=request_id,
            payload=payload["payload"].encode(),
            function_arn=payload["invoked-function-arn"],
            trace_id=payload["trace-id"],
            deadline=time.time() + timeout,
        )
        try:
            answer = process.api.invoke(event)
        except NotTaken:
            process.stop()
            raise
        except Closed:
            status = process.stop()
            message = f"RequestId: {request_id} Error: Runtime exited with error: {status}"
            return Answer(_error("Runtime.ExitError", message), failed=True)
        if answer is None:
            process.stop(0)
            message = f"RequestId: {request_id} Error: Task timed out after {timeout:.2f} seconds"
            return Answer(_error("Sandbox.Timedout", message), failed=True)
        if answer.too_large:
            process.stop()  # Go's runtime ends by itself when its answer is refused, but when?
            message = "Response payload size exceeded maximum allowed payload size (6291556 bytes)."
            return Answer(_error("Function.ResponseSizeTooLarge", message), failed=True)
        return answer


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


def _failed(kind: str, message: str) -> StatusErrorException:
    return StatusErrorException(message, payload=_error(kind, message))


def _logs(request_id: str, version: FunctionVersion, written: str, seconds: float) -> str:
    if written and not written.endswith("\n"):
        written += "\n"
    milliseconds = seconds * 1000
    return (
        f"START RequestId: {request_id} Version: {version.id.qualifier}\n{written}"
        f"END RequestId: {request_id}\n"
        f"REPORT RequestId: {request_id}\tDuration: {milliseconds:.2f} ms\t"
        f"Billed Duration: {int(milliseconds) + 1} ms\tMemory Size: {version.config.memory_size} MB\n"
    )


@atexit.register
def stop_all() -> None:
    """Ends what LocalStack has left."""
    for executor in list(_executors):
        executor.stop()
