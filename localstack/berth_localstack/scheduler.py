"""Fires the schedules of EventBridge Scheduler, which LocalStack only stores.

Targets are Lambda functions and state machines. There is no retry, no flexible
window and no dead-letter queue.
"""

import datetime
import json
import logging
import re
import threading
import uuid
import zoneinfo
from typing import Any

from crontab import CronTab
from localstack.aws.connect import connect_to
from localstack.utils.aws.arns import extract_account_id_from_arn, extract_region_from_arn
from moto.scheduler.models import EventBridgeSchedulerBackend, Schedule, scheduler_backends

from berth_localstack.guard import need

LOG = logging.getLogger(__name__)

TICK_SECONDS = 0.5
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}

_stop = threading.Event()


def start() -> None:
    need(EventBridgeSchedulerBackend, "create_schedule", "delete_schedule")
    need(scheduler_backends, "items")
    threading.Thread(target=_run, name="berth-scheduler", daemon=True).start()


def stop() -> None:
    _stop.set()


def _run() -> None:
    next_times: dict[int, tuple[Any, float | None]] = {}  # by schedule: what it was made from, and when it fires
    while not _stop.wait(TICK_SECONDS):
        now = datetime.datetime.now(datetime.UTC)
        seen = set()
        for account, regions in list(scheduler_backends.items()):
            for region, backend in list(regions.items()):
                for group in list(backend.schedule_groups.values()):
                    for schedule in list(group.schedules.values()):
                        seen.add(id(schedule))
                        try:
                            _look(next_times, backend, schedule, now)
                        except Exception:
                            LOG.exception("schedule %s of account %s, %s", schedule.name, account, region)
        for gone in next_times.keys() - seen:
            del next_times[gone]


def _look(next_times: dict, backend: Any, schedule: Schedule, now: datetime.datetime) -> None:
    made_from = (schedule.schedule_expression, schedule.schedule_expression_timezone, schedule.state, schedule.last_modified_date)
    known = next_times.get(id(schedule))
    if known is None or known[0] != made_from:
        begin = datetime.datetime.fromtimestamp(schedule.creation_date, datetime.UTC)
        known = (made_from, next_time(schedule.schedule_expression, schedule.schedule_expression_timezone, begin, first=True))
        next_times[id(schedule)] = known
    when = known[1]
    if when is None or when > now.timestamp():
        return
    following = next_time(schedule.schedule_expression, schedule.schedule_expression_timezone, now, first=False)
    next_times[id(schedule)] = (made_from, following)
    if schedule.state != "ENABLED" or _ended(schedule, now):
        return
    threading.Thread(target=_fire, args=(schedule, when), name=f"schedule-{schedule.name}", daemon=True).start()
    if following is None and schedule.action_after_completion == "DELETE":
        backend.delete_schedule(schedule.group_name, schedule.name)


def _ended(schedule: Schedule, now: datetime.datetime) -> bool:
    begins, ends = _timestamp(schedule.start_date), _timestamp(schedule.end_date)
    return begins is not None and now.timestamp() < begins or ends is not None and now.timestamp() > ends


def _timestamp(value: Any) -> float | None:
    if value in (None, ""):
        return None
    if isinstance(value, str) and not re.fullmatch(r"[0-9.]+", value):
        return datetime.datetime.fromisoformat(value).timestamp()
    return float(value)


def next_time(expression: str, zone: str, after: datetime.datetime, first: bool) -> float | None:
    """When a schedule fires next, in seconds since the epoch. None: never again.

    A rate begins when it is made: its first time is one interval later.
    """
    kind, _, inner = expression.strip().rstrip(")").partition("(")
    if kind == "at":
        when = datetime.datetime.fromisoformat(inner).replace(tzinfo=zoneinfo.ZoneInfo(zone))
        return when.timestamp() if first else None
    if kind == "rate":
        count, unit = inner.split()
        return after.timestamp() + int(count) * _UNITS[unit.rstrip("s")]
    if kind == "cron":
        return _cron(inner, zone, after)
    raise ValueError(f"{expression} is no schedule")


def _cron(inner: str, zone: str, after: datetime.datetime) -> float | None:
    minute, hour, day, month, weekday, year = inner.split()
    # AWS counts the days of the week from 1, crontab from 0.
    weekday = re.sub(r"(?<![#\w])([1-7])(?![\w])", lambda match: str(int(match[1]) - 1), weekday)
    tab = CronTab(f"0 {minute} {hour} {day} {month} {weekday} {year}")
    local = after.astimezone(zoneinfo.ZoneInfo(zone))
    wait = tab.next(now=local, default_utc=True)
    return None if wait is None else after.timestamp() + wait


def _fire(schedule: Schedule, when: float) -> None:
    target = schedule.target
    arn = target["Arn"]
    time = datetime.datetime.fromtimestamp(when, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = target.get("Input") or "{}"
    for name, value in {
        "<aws.scheduler.schedule-arn>": schedule.arn,
        "<aws.scheduler.scheduled-time>": time,
        "<aws.scheduler.execution-id>": str(uuid.uuid4()),
        "<aws.scheduler.attempt-number>": "1",
    }.items():
        text = text.replace(name, value)
    clients = connect_to(aws_access_key_id=extract_account_id_from_arn(arn), region_name=extract_region_from_arn(arn))
    try:
        if ":lambda:" in arn:
            clients.lambda_.invoke(FunctionName=arn, InvocationType="Event", Payload=text.encode())
        elif ":states:" in arn:
            clients.stepfunctions.start_execution(stateMachineArn=arn, input=json.dumps(json.loads(text)))
        else:
            LOG.error("schedule %s: %s is no target that this plugin can call", schedule.name, arn)
    except Exception:
        LOG.exception("schedule %s: calling %s", schedule.name, arn)
