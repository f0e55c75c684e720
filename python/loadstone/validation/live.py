"""The runner over a live kernel, if this build has one and this process may use it."""

from collections.abc import Callable
from typing import Any, cast

from loadstone import _native
from loadstone._native import Scenario
from loadstone.files import InputError
from loadstone.validation.measurements import LiveOutcome

Run = Callable[[Scenario, int], LiveOutcome]
"""Runs a scenario with a seed; blocks until it is over, and lets other threads run meanwhile."""

_INSTEAD = "'loadstone validate --kept' scores the measurements that are kept"


def runner() -> Run:
    """Give the live runner."""
    engine: Any = _native
    if not hasattr(engine, "run_live"):
        raise InputError(f"this build has no live runner: {_INSTEAD}")
    why_not = engine.live_access()
    if why_not is not None:
        raise InputError(f"{why_not} ({_INSTEAD})")
    return cast(Run, engine.run_live)
