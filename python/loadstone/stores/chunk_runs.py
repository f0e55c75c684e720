"""The runs of a chunk: what a thread here or a worker of a cluster does with one."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from loadstone import experiment, stats
from loadstone._native import LoadstoneError, Outcome, Scenario, Stopper, run_live
from loadstone.analysis.question import Question
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.stats import Until
from loadstone.stores import rows
from loadstone.stores.plan import Chunk, Planned

Job = tuple[Scenario, int]
"""What is run, and the seed."""
Execute = Callable[[Sequence[Job]], list[Outcome]]
Rows = list[dict[str, Any]]
"""What a store keeps of each run."""


class Stop:
    """Ends chunks that are under way, from another thread."""

    def __init__(self) -> None:
        self.loads = Stopper()
        self._asked = threading.Event()

    def stop(self) -> None:
        """End them."""
        self._asked.set()
        self.loads.stop()

    def raise_if_set(self, _: int) -> None:
        """Raise `InterruptedError` if they are to end."""
        if self._asked.is_set():
            raise InterruptedError


def run_chunk(chunk: Chunk, stop: Stop | None = None) -> pa.Table:
    """Run a chunk on one core, or until it is stopped, which raises `InterruptedError`.

    Gives what a store keeps of its runs, in the order of cells and seeds. Raises `InputError` if this is
    another engine than the one that planned it, or a cell cannot be run.
    """
    if engine() != chunk.engine:
        raise InputError(
            f"this worker has engine {engine()}, and the sweep is by {chunk.engine}: install the same "
            "version on all"
        )
    stop = stop or Stop()
    question = chunk.question
    execute = partial(_live if question.live else _simulated, stop=stop)
    if question.until is None:
        made = _all(chunk, execute)
    else:
        made = [row for cells in chunk.groups for row in _until_known(chunk, cells, question.until, execute)]
    return rows.table(chunk, made)


def _all(chunk: Chunk, execute: Execute) -> Rows:
    made = [(cell, cell.scenario(chunk.pages[cell.page])) for cell in chunk.cells]
    outcomes = iter(execute([(scenario, seed) for cell, scenario in made for seed in cell.seeds]))
    return [rows.row(cell, next(outcomes)) for cell, _ in made for _ in cell.seeds]


def _until_known(chunk: Chunk, cells: Sequence[Planned], until: Until, execute: Execute) -> Rows:
    """Run a condition until the gain of every challenger is known well enough, look by look."""
    scenarios = [cell.scenario(chunk.pages[cell.page]) for cell in cells]
    made: list[Rows] = [[] for _ in cells]
    for look, runs in enumerate(until.looks(), 1):
        left = [cell.seeds[len(done) : runs] for cell, done in zip(cells, made, strict=True)]
        seeds = zip(scenarios, left, strict=True)
        outcomes = iter(execute([(scenario, seed) for scenario, each in seeds for seed in each]))
        for cell, done, each in zip(cells, made, left, strict=True):
            done += [rows.row(cell, next(outcomes)) for _ in each]
        confidence = until.confidence(look)
        if all(until.is_settled(gain) for gain in _gains(chunk.question, cells, made, confidence)):
            break
    return [row for done in made for row in done]


def _gains(
    question: Question, cells: Sequence[Planned], made: Sequence[Rows], confidence: float
) -> Iterator[stats.Gain | None]:
    """Give the gains of a condition over its baseline; none if it has no baseline."""
    level = question.compared
    base = [at for at, cell in enumerate(cells) if cell.levels[level] == question.baseline]
    for at, cell in enumerate(cells):
        if base and at != base[0]:
            is_random = cell.is_random or cells[base[0]].is_random
            firsts, seconds, places = _sides(made[base[0]], made[at], paired=not question.live)
            yield stats.gain(
                firsts,
                seconds,
                cell.seeds[0],
                random=is_random,
                paired=not question.live,
                confidence=confidence,
                places=places,
            )


def _sides(
    baseline: Rows, challenger: Rows, *, paired: bool
) -> tuple[list[float], list[float], list[int] | None]:
    """Give the times of both sides and, of pairs, their places among the seeds.

    A cell in which chance has no part has one run, which counts under every seed. Over the kernel a seed
    pairs nothing.
    """
    if not paired:
        one, other = ([row["plt_ms"] for row in side if row["completed"]] for side in (baseline, challenger))
        return one, other, None
    count = max(len(baseline), len(challenger))
    both = [each * count if len(each) == 1 else each for each in (baseline, challenger)]
    pairs = [
        (one["plt_ms"], other["plt_ms"], place)
        for place, (one, other) in enumerate(zip(*both, strict=True))
        if one["completed"] and other["completed"]
    ]
    firsts, seconds, places = zip(*pairs, strict=True) if pairs else ((), (), ())
    return [*firsts], [*seconds], [*places]


def _simulated(jobs: Sequence[Job], stop: Stop) -> list[Outcome]:
    return experiment.execute(jobs, 1, stop.raise_if_set)


def _live(jobs: Sequence[Job], stop: Stop) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for scenario, seed in jobs:
        stop.raise_if_set(len(outcomes))
        try:
            outcomes.append(run_live(scenario, seed, stop.loads))
        except LoadstoneError as error:
            raise experiment.refusal(error) from None
    return outcomes
