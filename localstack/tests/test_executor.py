"""The executor, against a small Go function."""

import pathlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import PATIENCE, alive, wait_until
from localstack.services.lambda_.invocation.executor_endpoint import ShutdownDuringStartup, StatusErrorException


def test_a_process_is_reused(function):
    f = function().start()
    first, second = f.succeed(), f.succeed()
    assert first["pid"] == second["pid"]
    assert (first["calls"], second["calls"]) == (1, 2)
    assert second["request"] == "request-2"
    assert 0 < second["remaining"] <= 30


def test_a_function_that_takes_too_long_is_ended_and_started_again(function):
    f = function(timeout=1).start()
    before = f.succeed()["pid"]
    begun = time.monotonic()
    answer = f.fail(seconds=600)
    assert answer["errorType"] == "Sandbox.Timedout"
    assert answer["errorMessage"] == "RequestId: request-2 Error: Task timed out after 1.00 seconds"
    assert time.monotonic() - begun < PATIENCE
    assert not alive(before)
    after = f.succeed()
    assert after["pid"] != before and after["calls"] == 1


def test_a_crash_is_told_and_got_over(function):
    f = function().start()
    answer = f.fail(do="exit")
    assert answer["errorType"] == "Runtime.ExitError"
    assert answer["errorMessage"].endswith("Runtime exited with error: exit status 7")
    assert f.succeed()["calls"] == 1
    assert f.fail(do="panic")["errorMessage"] == "as asked"
    assert f.succeed()["calls"] == 1  # a panic ends the process some time after its answer


def test_an_error_of_the_function_is_its_answer(function):
    f = function().start()
    assert f.fail(do="fail") == {"errorMessage": "as asked", "errorType": "errorString"}
    assert f.succeed()["calls"] == 2


def test_an_exit_at_the_start_is_an_init_error(function):
    with pytest.raises(StatusErrorException) as raised:
        function(INIT="exit").start()
    assert b"Runtime.ExitError" in raised.value.payload and b"exit status 3" in raised.value.payload


def test_a_start_that_hangs_ends_with_stop(function):
    f = function(INIT="hang")
    failures = []

    def start():
        try:
            f.start()
        except ShutdownDuringStartup as e:
            failures.append(e)

    thread = threading.Thread(target=start)
    thread.start()
    wait_until(lambda: f.executor._process is not None)
    pid = f.executor._process.pid
    f.executor.stop()  # as LocalStack's timer does
    thread.join(PATIENCE)
    assert not thread.is_alive() and len(failures) == 1
    assert not alive(pid)


def test_a_stopped_environment_starts_no_more(function):
    f = function()
    f.executor.stop()
    with pytest.raises(ShutdownDuringStartup):
        f.start()


def test_thirty_cold_starts_at_once(function):
    all = [function() for _ in range(30)]
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda f: f.start().succeed(seconds=0.5), all))
    assert len({answer["pid"] for answer in answers}) == 30
    assert {answer["calls"] for answer in answers} == {1}


def test_nothing_is_left_after_stop(function):
    f = function().start()
    answer = f.succeed(do="child")
    assert alive(answer["pid"]) and alive(answer["child"])
    assert pathlib.Path(answer["folder"]).is_dir()
    f.executor.stop()
    f.executor.stop()  # again
    assert not alive(answer["pid"])
    wait_until(lambda: not alive(answer["child"]))
    assert not pathlib.Path(answer["folder"]).exists()
    ours = ("runtime-api", "output", "watch-")
    wait_until(lambda: not [t for t in threading.enumerate() if t.name.startswith(ours)])


def test_stop_ends_an_invocation(function):
    f = function().start()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(f.fail, seconds=600)
        wait_until(lambda: f.executor._process.api._current is not None)
        f.executor.stop()
        assert waiting.result(PATIENCE)["errorType"] == "Runtime.ExitError"


def test_what_it_writes_is_logged_and_never_blocks_it(function):
    f = function().start()
    result, _ = f.invoke(do="log", bytes=300_000)  # more than a pipe holds
    assert not result.is_error
    lines = result.logs.splitlines()
    assert lines[0] == "START RequestId: request-1 Version: $LATEST"
    assert lines[1] == "x" * 300_000
    assert lines[2] == "the last line"
    assert lines[3] == "END RequestId: request-1"
    assert lines[4].startswith("REPORT RequestId: request-1\tDuration: ")
    result, _ = f.invoke()
    assert "xxx" not in result.logs and "the last line" not in result.logs


def test_the_log_of_a_chatterbox_is_cut(function):
    f = function().start()
    result, _ = f.invoke(do="log", bytes=5_000_000)
    assert not result.is_error
    assert len(result.logs) < 1_100_000 and "(cut here)" in result.logs


def test_the_environment_holds_what_lambda_gives_alone(function, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_MACHINE", "1")
    variables = function(MINE="yes", AWS_ENDPOINT_URL="http://127.0.0.1:1").start().succeed(do="environment")["variables"]
    assert set(variables) == {
        "PATH", "LANG", "TMPDIR", "LAMBDA_TASK_ROOT", "AWS_LAMBDA_RUNTIME_API",
        "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "MINE", "AWS_ENDPOINT_URL",
        "_X_AMZN_TRACE_ID",  # by the function's own runtime
    }  # fmt: skip
    assert variables["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "128"


def test_an_answer_that_is_too_large_is_refused(function):
    f = function().start()
    assert len(f.succeed(do="answer", bytes=6_000_000)["text"]) == 6_000_000
    assert f.fail(do="answer", bytes=7_000_000)["errorType"] == "Function.ResponseSizeTooLarge"
    assert f.succeed()["pid"] > 0


def test_a_program_that_cannot_run_is_named(function, monkeypatch, tmp_path):
    monkeypatch.setenv("BERTH_TEST_BOOTSTRAP", str(tmp_path))
    with pytest.raises(StatusErrorException) as raised:
        function().start()
    assert b"Runtime.InvalidEntrypoint" in raised.value.payload
