"""The simulator compared with the kernel, cell by cell."""

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from loadstone import experiment
from loadstone._native import LoadstoneError, Scenario, run_many
from loadstone.files import InputError
from loadstone.studies.validation import agreement
from loadstone.studies.validation.grid import LOSSY_RUNS, Cell
from loadstone.studies.validation.measurements import Load, Measured, Measurement

LEAST_REPEATS = 2
"""Fewer repeats of a cell without loss have no range."""

_OUTER = 9
_AT_A_TIME = 500
_CONTROL = "variant.tcp.cc"


@dataclass(frozen=True)
class Score:
    """One cell in both worlds. Errors are shares of the kernel's median."""

    cell: Cell
    measured: tuple[Load, ...]
    simulated: tuple[Load, ...]
    """One load where nothing is random; none if the simulator does not know the cell's congestion control."""

    @property
    def measured_ms(self) -> list[float]:
        """Give the kernel's times."""
        return [load.plt_ms for load in self.measured]

    @property
    def simulated_ms(self) -> list[float]:
        """Give the simulator's times."""
        return [load.plt_ms for load in self.simulated]

    @cached_property
    def error(self) -> float:
        """Give the signed distance of the medians."""
        return agreement.error(statistics.median(self.simulated_ms), self.measured_ms)

    @cached_property
    def beyond_range(self) -> float:
        """Give the signed distance from the range of the kernel's repeats, for a cell without loss."""
        return agreement.beyond_range(statistics.median(self.simulated_ms), self.measured_ms)

    @property
    def load_errors(self) -> list[float]:
        """Give each load's signed error where packets are lost: in both worlds the same ones."""
        pairs = zip(self.simulated_ms, self.measured_ms, strict=True)
        return [simulated / measured - 1 for simulated, measured in pairs]

    def same_distribution(self, allowed_ms: float = agreement.ALLOWED_MS) -> float:
        """Give the p-value of the Kolmogorov-Smirnov test, for a cell with loss."""
        return agreement.ks_p_value(self.simulated_ms, self.measured_ms, allowed_ms)

    @cached_property
    def is_rejected(self) -> bool:
        """Say whether that test tells the worlds apart."""
        return self.same_distribution() < agreement.SIGNIFICANCE

    @cached_property
    def spread_deviation(self) -> float:
        """Give how much wider or narrower the simulated times spread, for a cell with loss."""
        return agreement.spread_deviation(self.simulated_ms, self.measured_ms)

    @property
    def miss(self) -> float:
        """Give the signed error by which cells are ranked: what the kernel's own scatter does not explain.

        With loss it counts from an interval that the kernel's median lies in, from the 10th to the 21st of 30
        times (95.7 % by the binomial distribution).
        """
        if not self.cell.is_random:
            return self.beyond_range
        inner = sorted(self.measured_ms)[_OUTER:-_OUTER]
        return agreement.beyond_range(statistics.median(self.simulated_ms), inner)


@dataclass(frozen=True)
class Validation:
    """All measurements, and what the simulator makes of their cells."""

    measured: Measured
    scores: list[Score]
    """The cells that have all their runs and are modelled, in a fixed order."""
    not_modelled: list[Cell]
    """Those whose congestion control the simulator does not know."""
    unfinished: list[Cell]
    """Those that have too few runs."""
    profile: str
    """The TCP that was simulated."""


def score(measured: Measured, cells: Iterable[Cell], progress: Callable[[int, int], None]) -> Validation:
    """Simulate the cells that were measured. `progress` is told runs done and runs in all."""
    by_cell: dict[Cell, list[Measurement]] = {cell: [] for cell in sorted(cells, key=repr)}
    for measurement in measured.measurements:
        if measurement.cell in by_cell:
            by_cell[measurement.cell].append(measurement)
    finished = {cell: runs for cell, runs in by_cell.items() if _is_finished(cell, runs)}
    known = _known_controls(finished)
    modelled = [cell for cell in finished if cell.cc in known]
    simulated = _simulate([(cell, _seeds(cell, finished[cell])) for cell in modelled], progress)
    return Validation(
        measured=Measured(measured.source, [run for runs in by_cell.values() for run in runs]),
        scores=[
            Score(cell, tuple(run.load for run in finished[cell]), loads)
            for cell, loads in zip(modelled, simulated, strict=True)
        ],
        not_modelled=[cell for cell in finished if cell.cc not in known],
        unfinished=[cell for cell in by_cell if cell not in finished],
        profile=_profile(modelled[0]) if modelled else "-",
    )


def _profile(cell: Cell) -> str:
    """Ask the engine whose TCP it simulates where none is named."""
    return str(json.loads(cell.scenario().settings_json())["variant"]["tcp"]["profile"])


def _is_finished(cell: Cell, runs: Sequence[Measurement]) -> bool:
    return len(runs) >= (LOSSY_RUNS if cell.is_random else LEAST_REPEATS)


def _known_controls(cells: Iterable[Cell]) -> set[str]:
    """Find out by trying which congestion controls the simulator has."""
    known = set()
    for cc, cell in {cell.cc: cell for cell in cells}.items():
        try:
            run_many([(cell.scenario(), 1)])
        except LoadstoneError as error:
            why, field = error.args
            if field != _CONTROL:
                raise InputError(f"{cell} cannot be simulated: {why}") from None
        else:
            known.add(cc)
    return known


def _seeds(cell: Cell, runs: Sequence[Measurement]) -> list[int]:
    """Choose the seeds to simulate.

    With loss they are the kernel's own. All cells are run under the same few seeds, so that their losses
    resemble one another; under other seeds that chance would look like an error of the simulator, and be the
    same in many cells.
    """
    return [run.seed for run in runs] if cell.is_random else [1]


def _simulate(
    wanted: Sequence[tuple[Cell, list[int]]], progress: Callable[[int, int], None]
) -> list[tuple[Load, ...]]:
    """Give each cell's loads. Works in portions, since an outcome holds much more than is kept."""
    total = sum(len(seeds) for _, seeds in wanted)
    loads: list[Load] = []
    jobs: list[tuple[Scenario, int]] = []
    for at, (cell, seeds) in enumerate(wanted, start=1):
        scenario = cell.scenario()
        jobs += [(scenario, seed) for seed in seeds]
        if len(jobs) >= _AT_A_TIME or at == len(wanted):
            loads += map(Load.of, experiment.execute(jobs, None))
            jobs.clear()
            progress(len(loads), total)
    given = iter(loads)
    return [tuple(next(given) for _ in seeds) for _, seeds in wanted]
