"""A progress bar on standard error, where a terminal watches and it takes a while."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SHOWN_AFTER_SECONDS = 1.0
"""Seconds without a bar."""


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def update(self, done: int, total: int) -> None:
        if self._shown is None:
            if time.monotonic() - self._begun < _SHOWN_AFTER_SECONDS or done == total:
                return
            self._shown = self._show(total)
        progress, task = self._shown
        # What there is in all may grow on the way.
        progress.update(task, completed=done, total=total)

    def _show(self, total: int) -> "tuple[Progress, TaskID]":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = [TextColumn(self._what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.start()
        return progress, progress.add_task("", total=total)

    def close(self) -> None:
        if self._shown is not None:
            self._shown[0].stop()


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function to tell how much of `what` is done and how much there is in all."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    shown = _Bar(what)
    try:
        yield shown.update
    finally:
        shown.close()
