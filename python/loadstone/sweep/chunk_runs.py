"""The runs of a chunk: what a thread here or a worker of a cluster does with one."""

import threading
from typing import Any

from loadstone import experiment
from loadstone._native import LoadstoneError, Outcome, Scenario, Stopper, run_live
from loadstone.files import InputError
from loadstone.sweep import rows
from loadstone.sweep.plan import Chunk, engine

Rows = list[dict[str, Any]]
"""What a store keeps of each run, in the order of cells and seeds."""


class Stop:
    """Ends chunks that are under way, from another thread."""

    def __init__(self) -> None:
        self.loads = Stopper()
        self._asked = threading.Event()

    def stop(self) -> None:
        """End them."""
        self._asked.set()
        self.loads.stop()

    def heed(self, _: int) -> None:
        """Raise `InterruptedError` if they are to end."""
        if self._asked.is_set():
            raise InterruptedError


def run_chunk(chunk: Chunk, stop: Stop | None = None) -> Rows:
    """Run a chunk on one core, or until it is stopped, which raises `InterruptedError`.

    Raises `InputError` if this is another engine than the one that planned it, or a cell cannot be run.
    """
    if engine() != chunk.engine:
        raise InputError(
            f"this worker has engine {engine()}, and the sweep is by {chunk.engine}: install the same "
            "version on all"
        )
    stop = stop or Stop()
    made = [(cell, cell.scenario(chunk.pages[cell.page])) for cell in chunk.cells]
    jobs = [(scenario, seed) for cell, scenario in made for seed in cell.seeds]
    outcomes: list[Outcome]
    if chunk.live:
        outcomes = [_live(scenario, seed, stop) for scenario, seed in jobs]
    else:
        outcomes = experiment.execute(jobs, 1, stop.heed)
    each = iter(outcomes)
    return [rows.row(cell, next(each)) for cell in chunk.cells for _ in cell.seeds]


def _live(scenario: Scenario, seed: int, stop: Stop) -> Outcome:
    stop.heed(seed)
    try:
        return run_live(scenario, seed, stop.loads)
    except LoadstoneError as error:
        raise experiment.refusal(error) from None
