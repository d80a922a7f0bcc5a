"""What the tests share: executors of the function whose program BERTH_TEST_BOOTSTRAP names the folder of."""

import json
import os
import pathlib
import time
from types import SimpleNamespace

import pytest
from berth_localstack.executor import ProcessExecutor

# How long something may take that must happen: machines are slow.
PATIENCE = 60


def wait_until(holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)


def alive(pid):
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = pathlib.Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(") ")[2][0] not in "ZX"


class Function:
    """One execution environment, as LocalStack would have it."""

    def __init__(self, timeout=30, **variables):
        code = pathlib.Path(os.environ["BERTH_TEST_BOOTSTRAP"])
        version = SimpleNamespace(
            id=SimpleNamespace(function_name="test", qualifier="$LATEST"),
            config=SimpleNamespace(
                timeout=timeout, memory_size=128, code=SimpleNamespace(get_unzipped_code_location=lambda: code)
            ),
        )
        self.variables = {"AWS_LAMBDA_FUNCTION_NAME": "test", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": 128, **variables}
        self.executor = ProcessExecutor("an-id", version)
        self.calls = 0

    def start(self):
        self.executor.start(self.variables)
        return self

    def invoke(self, **event):
        self.calls += 1
        result = self.executor.invoke(
            {
                "invoke-id": f"request-{self.calls}",
                "payload": json.dumps(event),
                "invoked-function-arn": "arn:aws:lambda:us-east-1:000000000000:function:test",
                "trace-id": "Root=1-2-3",
            }
        )
        return result, json.loads(result.payload)

    def succeed(self, **event):
        result, answer = self.invoke(**event)
        assert not result.is_error, answer
        return answer

    def fail(self, **event):
        result, answer = self.invoke(**event)
        assert result.is_error, answer
        return answer


@pytest.fixture
def function():
    made = []

    def make(**arguments):
        made.append(Function(**arguments))
        return made[-1]

    yield make
    for each in made:
        each.executor.stop()
