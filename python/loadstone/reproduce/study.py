"""Studies by name, how their loads are run, and what a study that was run again gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from loadstone import experiment
from loadstone._native import Outcome, Scenario
from loadstone.analysis.question import Level
from loadstone.reproduce.claims import STUDIES, Judged
from loadstone.sweep.matrix import Matrix

if TYPE_CHECKING:
    import polars as pl

    from loadstone._native import Outcome, Scenario
    from loadstone.analysis.plots import Plot


@dataclass(frozen=True)
class Cell:
    """One published figure and ours."""

    factors: dict[str, Level]
    """The condition: page, servers, rtt, ...; the same names in all cells of a study, in one order."""
    variant: str
    """What was compared there: `HTTPS IW 3`."""
    published: float | None
    """`None` where the study printed none."""
    ours: float | None
    """`None` where none can be had."""
    unit: str
    is_sound: bool = True
    """Whether the published figure is credible; what is not is shown and counts for nothing."""


@dataclass(frozen=True)
class Table:
    """A table: our figures and the study's."""

    name: str
    """What it is called among others: `table-5`."""
    title: str
    """The question that it answers."""
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    """How many columns are words."""
    note: str = ""


@dataclass(frozen=True)
class Passage:
    """Something explained: an assumption, a cause, what it is worth."""

    title: str
    text: str
    """Paragraphs, separated by empty lines."""
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Results:
    """All that a study gave."""

    cells: Sequence[Cell]
    tables: Sequence[Table]
    judged: Sequence[Judged]
    """Every claim that a laboratory can test, in the order of the study's list."""
    passages: Sequence[Passage] = ()
    plots: "Sequence[Plot]" = field(default=())


# --- studies by name, and how their loads are run ---

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Study:
    """A published study that can be run again."""

    name: str
    title: str
    source: str
    """Who published it, and when."""

    def run(self, runner: "Runner") -> Results:
        """Run it again."""
        module = import_module(f"loadstone.reproduce.{self.name}")
        return cast("Results", module.run(runner))


STUDIES_BY_NAME = {
    study.name: study
    for study in (
        Study("cablelabs", "Analysis of Google SPDY and TCP initcwnd", "CableLabs, rev. 3, May 2012"),
        Study("yahoo", "Overclocking the Yahoo! CDN for faster web page loads", "IMC 2011"),
        Study("nsdi", "How speedy is SPDY?", "NSDI 2014"),
        Study("ece540", "SPDY protocol", "ECE540 course project, 2012"),
    )
}
"""The studies that can be run again."""


class Runner:
    """Runs matrices in memory, and says how far it is."""

    def __init__(self, threads: int | None, progress: Progress, pages: Path | None = None) -> None:
        self.pages = pages
        """A folder with recorded pages, for studies that loaded real ones."""
        self._threads = threads
        self._progress = progress

    def matrix(self, study: str, name: str) -> Matrix:
        """Read a matrix of a study's folder."""
        return Matrix.read(str(STUDIES / study / name))

    def runs(self, matrix: Matrix) -> "pl.DataFrame":
        """Run a matrix; give its runs as a store would."""
        from loadstone.sweep.sweep import collect

        return collect(matrix, threads=self._threads, progress=self._progress)

    def outcomes(self, jobs: Sequence[tuple[Scenario, int]], packets: int | None = None) -> list[Outcome]:
        """Run scenarios under seeds, for what no matrix keeps: waterfalls, connections, packets."""
        return experiment.execute(
            jobs, self._threads, lambda done: self._progress(done, len(jobs)), packets=packets
        )
