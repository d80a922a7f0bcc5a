"""Replaces parts of LocalStack, after a look whether they are what this was written for."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from localstack import constants

# The release that requirements.txt pins.
VERSION = "4.14.0"


class Unknown(Exception):
    """LocalStack is another than this plugin was written for."""


def check_version() -> None:
    if constants.VERSION != VERSION:
        raise Unknown(f"this plugin is for LocalStack {VERSION}, and this is {constants.VERSION}")


def replace(owner: Any, name: str, parameters: list[str], wrapper: Callable) -> None:
    """Makes calls of owner.name call wrapper(original, ...) instead."""
    original = inspect.getattr_static(owner, name, None)
    if original is None:
        raise Unknown(f"{owner} has no {name}")
    if isinstance(original, staticmethod):
        found, bind = original.__func__, staticmethod
    elif inspect.isfunction(original):
        found, bind = original, lambda function: function
    else:
        raise Unknown(f"{owner}.{name} is a {type(original).__name__}")
    got = list(inspect.signature(found).parameters)
    if got != parameters:
        raise Unknown(f"{owner}.{name} takes {got}, not {parameters}")

    @functools.wraps(found)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        return wrapper(found, *args, **kwargs)

    setattr(owner, name, bind(replacement))


def need(owner: Any, *names: str) -> None:
    """Checks that owner has what a replacement uses of it."""
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        raise Unknown(f"{owner} has no {', '.join(missing)}")
