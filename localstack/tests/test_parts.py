"""The parts that need no running LocalStack."""

import configparser
import datetime
import http.client
import json
import pathlib
import threading
import time
import tomllib
from types import SimpleNamespace

import pytest
from berth_localstack import authorizer, dynamodb, guard, scheduler
from berth_localstack.runtime_api import PREFIX, Closed, Event, RuntimeAPI


def event(request_id, seconds=60):
    return Event(request_id, b'{"a":1}', "arn", "trace", time.time() + seconds)


@pytest.fixture
def api():
    made = RuntimeAPI()
    yield made
    made.close()


def ask(api, method, path, body=None, **headers):
    connection = http.client.HTTPConnection(api.address, timeout=60)
    connection.request(method, PREFIX + path, body, headers)
    answer = connection.getresponse()
    got = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return got


def test_events_are_handed_out_once_and_answered_once(api):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(api.invoke(event("one"))))
    thread.start()
    status, headers, body = ask(api, "GET", "invocation/next")
    assert (status, body) == (200, b'{"a":1}')
    assert headers["Lambda-Runtime-Aws-Request-Id"] == "one"
    assert int(headers["Lambda-Runtime-Deadline-Ms"]) > time.time() * 1000
    assert ask(api, "POST", "invocation/other/response", b"x")[0] == 400
    assert ask(api, "POST", "invocation/one/response", b"done")[0] == 202
    assert ask(api, "POST", "invocation/one/response", b"again")[0] == 400
    thread.join(60)
    assert answers[0].payload == b"done" and not answers[0].failed


def test_a_trailer_makes_a_chunked_answer_an_error(api):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(api.invoke(event("one"))))
    thread.start()
    ask(api, "GET", "invocation/next")
    connection = http.client.HTTPConnection(api.address, timeout=60)
    connection.putrequest("POST", PREFIX + "invocation/one/response")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.putheader("Trailer", "Lambda-Runtime-Function-Error-Type")
    connection.endheaders(b"3;ignored\r\nabc\r\n2\r\nde\r\n0\r\nLambda-Runtime-Function-Error-Type: Broken\r\n\r\n")
    assert connection.getresponse().status == 202
    connection.close()
    thread.join(60)
    assert answers[0].payload == b"abcde" and answers[0].failed


def test_other_paths_are_not_found(api):
    assert ask(api, "GET", "invocation/other")[0] == 404
    assert ask(api, "POST", "something")[0] == 404


def test_a_closed_server_hands_out_nothing(api):
    api.close()
    with pytest.raises(Closed):
        api.invoke(event("one"))
    with pytest.raises(OSError):
        ask(api, "GET", "invocation/next")


def test_an_init_error_is_kept(api):
    ask(api, "POST", "init/error", b'{"errorType":"Bad"}')
    assert json.loads(api.await_init(60)) == {"errorType": "Bad"}


AFTER = datetime.datetime(2026, 3, 27, 12, 0, 30, tzinfo=datetime.UTC)  # a Friday


@pytest.mark.parametrize(
    ("expression", "zone", "want"),
    [
        ("rate(1 minute)", "UTC", "2026-03-27T12:01:30+00:00"),
        ("rate(2 hours)", "UTC", "2026-03-27T14:00:30+00:00"),
        ("at(2026-03-28T01:02:03)", "UTC", "2026-03-28T01:02:03+00:00"),
        ("at(2026-03-28T01:02:03)", "Europe/Berlin", "2026-03-28T00:02:03+00:00"),
        ("cron(15 10 * * ? *)", "UTC", "2026-03-28T10:15:00+00:00"),
        # The clocks change on the 29th.
        ("cron(0 9 30 3 ? *)", "Europe/Berlin", "2026-03-30T07:00:00+00:00"),
        ("cron(0 9 ? * 2 *)", "UTC", "2026-03-30T09:00:00+00:00"),  # 2 is a Monday
        ("cron(0 9 ? * MON-FRI *)", "UTC", "2026-03-30T09:00:00+00:00"),
        ("cron(0 9 1 1 ? 2020)", "UTC", None),
    ],
)
def test_a_schedule_fires_when_it_says(expression, zone, want):
    got = scheduler.next_time(expression, zone, AFTER, first=True)
    assert (got and datetime.datetime.fromtimestamp(round(got), datetime.UTC).isoformat()) == want


def test_a_schedule_for_one_time_fires_once():
    assert scheduler.next_time("at(2026-03-27T12:00:00)", "UTC", AFTER, first=False) is None


@pytest.mark.parametrize(("action", "state", "fires"), [("DELETE", "ENABLED", True), ("NONE", "ENABLED", True), (None, "DISABLED", False)])
def test_a_schedule_is_looked_at_until_its_last_time(monkeypatch, action, state, fires):
    fired, deleted = threading.Event(), []
    monkeypatch.setattr(scheduler, "_fire", lambda *_: fired.set())
    schedule = SimpleNamespace(
        name="soon", group_name="default", schedule_expression="at(2026-03-27T12:00:00)", schedule_expression_timezone="UTC",
        state=state, creation_date=AFTER.timestamp(), last_modified_date=AFTER.timestamp(), start_date=None, end_date=None,
        action_after_completion=action,
    )  # fmt: skip
    backend = SimpleNamespace(delete_schedule=lambda *names: deleted.append(names))
    times = {}
    scheduler._look(times, backend, schedule, AFTER)
    assert fired.wait(60 if fires else 0.2) == fires
    assert deleted == ([("default", "soon")] if action == "DELETE" else [])
    fired.clear()
    scheduler._look(times, backend, schedule, AFTER)
    assert not fired.wait(0.2)


@pytest.mark.parametrize("expression", ["often", "rate(1 fortnight)", "cron(1 2)"])
def test_what_is_no_schedule_is_refused(expression):
    with pytest.raises((ValueError, KeyError)):
        scheduler.next_time(expression, "UTC", AFTER, first=True)


ARN = "arn:aws:execute-api:us-east-1:000000000000:api/v1/GET/api/v1/runs"


def statement(effect="Allow", resource="*", action="execute-api:Invoke"):
    return {"Effect": effect, "Action": action, "Resource": resource}


@pytest.mark.parametrize(
    ("statements", "want"),
    [
        (statement(), True),
        ([statement(resource=ARN)], True),
        ([statement(resource="arn:aws:execute-api:*:*:api/v1/*/*")], True),
        ([statement(resource=[ARN.replace("GET", "PUT"), ARN])], True),
        ([statement(resource=ARN.replace("GET", "PUT"))], False),
        ([statement(resource=ARN.replace("runs", "ru?s"))], True),
        ([statement(resource="arn:aws:execute-api:us-east-1:000000000000:api/v1/GET/[a]pi/v1/runs")], False),
        ([statement(), statement("Deny", ARN)], False),
        ([statement("Deny", ARN), statement()], False),
        ([statement(action="s3:GetObject")], False),
        ([statement(action=["execute-api:*"])], True),
        ([], False),
    ],
)
def test_a_policy_allows_what_it_names(statements, want):
    assert authorizer.allows({"Statement": statements}, ARN) == want


def test_the_installed_form_has_the_entry_points_of_the_project():
    folder = pathlib.Path(__file__).parent.parent
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    installed = configparser.ConfigParser(delimiters=("=",))
    installed.optionxform = str
    installed.read(folder / f"berth_localstack-{project['version']}.dist-info" / "entry_points.txt")
    assert {name: dict(installed[name]) for name in installed.sections()} == project["entry-points"]


class Owner:
    def method(self, a, b):
        return a + b

    @staticmethod
    def alone(a):
        return a


def test_a_replacement_gets_the_original():
    class Mine(Owner):
        def method(self, a, b):
            return a + b

    guard.replace(Mine, "method", ["self", "a", "b"], lambda original, self, a, b: original(self, a, b) * 10)
    assert Mine().method(1, 2) == 30
    assert Owner().method(1, 2) == 3


@pytest.mark.parametrize(("name", "parameters"), [("method", ["self", "a"]), ("gone", ["self"]), ("alone", ["self", "a"])])
def test_what_is_not_as_expected_is_not_replaced(name, parameters):
    with pytest.raises(guard.Unknown):
        guard.replace(Owner, name, parameters, lambda *_: None)


def test_another_release_is_refused(monkeypatch):
    guard.check_version()
    monkeypatch.setattr(guard.constants, "VERSION", "4.15.0")
    with pytest.raises(guard.Unknown, match="4.15.0"):
        guard.check_version()


def test_only_a_replica_in_its_own_region_is_passed_over():
    def update(**more):
        return json.dumps({"TableName": "t", "ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}], **more}).encode()

    assert dynamodb._adds_own_region(update(), "us-east-1")
    assert not dynamodb._adds_own_region(update(), "eu-west-1")
    assert not dynamodb._adds_own_region(update(BillingMode="PAY_PER_REQUEST"), "us-east-1")
    assert not dynamodb._adds_own_region(json.dumps({"TableName": "t"}).encode(), "us-east-1")
