"""Takes a measure: the grid's runs over the live kernel, several at once, each kept as soon as it is done."""

import signal
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, cast

from loadstone import _native, text
from loadstone._native import LoadstoneError, Scenario
from loadstone.files import InputError
from loadstone.studies.validation import measurements
from loadstone.studies.validation.grid import Cell, Grid
from loadstone.studies.validation.measurements import Journal, LiveOutcome, Measured, Measurement, kernel_of

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


# --- how many loads run at once ---

MOST = 8
"""More loads at once are not tried."""

_READINGS = 40
_TOO_LONG = 3.0
_SHORT_ENOUGH = 1.0


class Pace:
    """Goes by the share of the last 40 loads' time for which they were paused, of which nine in ten count.

    Not by lateness: a link that comes more than 0.5 ms late to a packet takes that for a pause of the
    machine. It begins with three quarters of the most. Above 3 % it allows one load less, below 1 % one
    more. After a change it waits for 40 loads again, since those before tell of another number.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._paused: deque[float] = deque(maxlen=_READINGS)
        self.at_once = most - most // 4

    def note(self, paused: float) -> None:
        """Learn for which share of its time a load was paused, in %."""
        self._paused.append(paused)
        if len(self._paused) < _READINGS:
            return
        paused = statistics.quantiles(self._paused, n=10, method="inclusive")[-1]
        step = (paused < _SHORT_ENOUGH) - (paused > _TOO_LONG)
        at_once = min(max(self.at_once + step, 1), self._most)
        if at_once != self.at_once:
            self.at_once = at_once
            self._paused.clear()


# --- measuring ---


_FAILURES = 5
"""This many failures in a row are not the scenarios' fault."""

Clock = Callable[[], float]
Progress = Callable[[int, int], None]
"""Is told how much is done, and how much there is in all."""
Say = Callable[[str], None]
"""Tells the user something that is no result."""


def measure(
    grid: Grid, path: str, at_once: int | None, minutes: float | None, progress: Progress, say: Say
) -> Measured:
    """Run what the file at `path` lacks of the grid, and give all that is then in it."""
    run = runner()
    with measurements.journal(path) as journal:
        measure = Measure(grid, journal, run)
        if not measure.remaining:
            say(f"{path}: all loads are there, nothing is measured: remove it to measure again")
        measure.take(Pace(at_once or MOST), minutes, progress, say)
        for why, count in sorted(measure.left_out.items()):
            say(f"{text.count(count, 'load')} left out: {why}")
        if not journal.measurements:
            raise InputError(f"{path}: nothing was measured: see what was left out, or give more --minutes")
    # As it is written, so that it gives the same figures whenever it is read.
    return measurements.read(path)


@contextmanager
def _ctrl_c(stop: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a call and a flag: an exception could come between a run and its line."""
    stopped: list[bool] = []

    def note(*_: object) -> None:
        stopped.append(True)
        signal.signal(signal.SIGINT, before)
        stop()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(stopped)
    finally:
        signal.signal(signal.SIGINT, before)


class Measure:
    """Runs of a grid that are still to be done. `clock` counts seconds."""

    def __init__(self, grid: Grid, journal: Journal, run: Run, clock: Clock = time.monotonic) -> None:
        done = {(measurement.cell, measurement.seed) for measurement in journal.measurements}
        self._waiting = deque(job for job in grid.runs() if job not in done)
        self._running: dict[Future[LiveOutcome], tuple[Cell, int]] = {}
        self._journal = journal
        self._run = run
        self._clock = clock
        self._refused: dict[Cell, str] = {}
        self._failures = 0
        self.left_out: Counter[str] = Counter()
        """How many runs could not be done, by the reason."""

    @property
    def remaining(self) -> int:
        """Say how many runs are neither done nor left out."""
        return len(self._waiting) + len(self._running)

    def take(self, pace: Pace, minutes: float | None, progress: Progress, say: Say) -> None:
        """Run all that remains, or what can be started within `minutes`.

        Ctrl-C starts nothing more, waits for what is under way, and keeps it.
        """
        total = self.remaining
        end = None if minutes is None else self._clock() + 60 * minutes

        def stop() -> None:
            say(f"waiting for {text.count(len(self._running), 'load')} under way")

        with ThreadPoolExecutor(MOST) as pool, _ctrl_c(stop) as is_stopped:
            while True:
                if not is_stopped():
                    self._start(pool, pace, end)
                if not self._running:
                    break
                self._finish(pace)
                progress(total - self.remaining, total)
            if is_stopped():
                raise KeyboardInterrupt

    def _start(self, pool: ThreadPoolExecutor, pace: Pace, end: float | None) -> None:
        """Start what may be."""
        while self._waiting and len(self._running) < pace.at_once and (end is None or self._clock() < end):
            cell, seed = self._waiting.popleft()
            if cell in self._refused:
                self.left_out[self._refused[cell]] += 1
                continue
            try:
                scenario = cell.scenario()
            except LoadstoneError as error:
                self._refuse(cell, error)
                continue
            self._running[pool.submit(self._run, scenario, seed)] = cell, seed

    def _finish(self, pace: Pace) -> None:
        """Wait for runs to end, and keep them."""
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            cell, seed = self._running.pop(future)
            try:
                outcome = future.result()
            except LoadstoneError as error:
                self._fail(cell, error)
                continue
            self._failures = 0
            measurement = Measurement.of(cell, seed, outcome)
            self._journal.add(measurement, kernel_of(outcome))
            pace.note(100 * measurement.conditions.paused_ms / measurement.load.plt_ms)

    def _refuse(self, cell: Cell, error: LoadstoneError) -> None:
        """Leave this run out, and what else there is of its cell."""
        why = error.args[0]
        self._refused[cell] = why
        self.left_out[why] += 1

    def _fail(self, cell: Cell, error: LoadstoneError) -> None:
        why, field = error.args
        # Where a field is named, the kernel refuses what this cell asks for, and others may work.
        self._failures += not field
        if self._failures == _FAILURES:
            raise InputError(f"{_FAILURES} live loads failed one after the other: {why}")
        self._refuse(cell, error)
