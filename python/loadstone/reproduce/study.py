"""Studies by name, how their loads are run, and what a study that was run again gives."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import loadstone
from loadstone import experiment, toml
from loadstone._native import Outcome, Scenario
from loadstone.analysis.question import Level
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.reproduce.claims import Judged
from loadstone.stores.matrix import Matrix

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
    """Every claim that is listed, in the order of the study's list."""
    passages: Sequence[Passage] = ()
    plots: "Sequence[Plot]" = field(default=())


# --- studies by name, and how their loads are run ---

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Study:
    """A published study that can be run again: a folder with `study.toml`, code, claims and matrices."""

    name: str
    title: str
    source: str
    """Who published it, and when."""
    folder: Path
    is_own: bool
    """Whether it came with Loadstone; another's is code of whoever wrote it."""

    @classmethod
    def open(cls, name: str) -> "Study":
        """Open one of the studies that came with Loadstone by its name, or any by its folder."""
        is_own = name in OWN
        folder = STUDIES / name if is_own else Path(name)
        if not (folder / FORM).is_file():
            raise InputError(
                f"{name}: neither a study ({', '.join(OWN)}) nor a folder with {FORM}: give one of them"
            )
        said = toml.read(str(folder / FORM), "the form of a study")
        if not all(isinstance(said.get(key), str) for key in _SAID) or said.keys() - set(_SAID):
            raise InputError(f"{folder / FORM}: give {' and '.join(_SAID)}, each a text, and nothing else")
        return cls(folder.resolve().name, said["title"], said["source"], folder, is_own)

    def run(self, runner: "Runner") -> Results:
        """Run it again."""
        return cast("Results", self._module().run(runner))

    def _module(self) -> Any:
        if self.is_own:
            return import_module(f"loadstone.studies.{self.name}")
        package = self.folder.resolve() / "__init__.py"
        if not package.is_file():
            raise InputError(f"{package}: there is no such file: write it, with a function run(runner)")
        # Two folders may have one name.
        name = f"loadstone_study_{sha256(bytes(package)).hexdigest()[:16]}"
        spec = spec_from_file_location(name, package)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        # Its files import one another.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        if not hasattr(module, "run"):
            raise InputError(f"{package}: there is no function run(runner): write it")
        return module


FORM = "study.toml"
_SAID = ("title", "source")
STUDIES = Path(loadstone.__file__).parent / "studies"
"""The studies that come with Loadstone."""
OWN = ("cablelabs", "yahoo", "nsdi", "ece540", "cmu")


class Runner:
    """Runs matrices, and says how far it is."""

    def __init__(
        self, threads: int | None, progress: Progress, pages: Path | None = None, kept: Path | None = None
    ) -> None:
        self.pages = pages
        """A folder with recorded pages, for studies that loaded real ones."""
        self._kept = kept
        """A folder for the runs of matrices, so that a study that was broken off goes on; else in memory."""
        self._threads = threads
        self._progress = progress
        self._known: dict[str, pl.DataFrame] = {}

    def matrix(self, path: Path) -> Matrix:
        """Read a matrix."""
        return Matrix.read(str(path))

    def runs(self, matrix: Matrix) -> "pl.DataFrame":
        """Run a matrix, or what is not kept of it; give its runs as a store would."""
        # Claims share matrices.
        key = repr(matrix)
        if key not in self._known:
            self._known[key] = self._run(matrix)
        return self._known[key]

    def _run(self, matrix: Matrix) -> "pl.DataFrame":
        from loadstone.stores.plan import Plan
        from loadstone.stores.sweep import collect, sweep

        if self._kept is None:
            return collect(matrix, threads=self._threads, progress=self._progress)
        said = json.dumps([engine(), *(cell.key for cell in Plan.of(matrix).cells)])
        folder = self._kept / sha256(said.encode()).hexdigest()[:16]
        return sweep(matrix, folder, threads=self._threads, progress=self._progress).store.runs()

    def outcomes(self, jobs: Sequence[tuple[Scenario, int]], packets: int | None = None) -> list[Outcome]:
        """Run scenarios under seeds, for what no matrix keeps: waterfalls, connections, packets."""
        return experiment.execute(
            jobs, self._threads, lambda done: self._progress(done, len(jobs)), packets=packets
        )
