"""Plans: a matrix worked out into cells, each known by its scenario's digest, and into chunks of runs.

A plan depends on the matrix, its pages and the engine alone, so a process that resumes a sweep, and one that
takes part in it on another machine, has the same chunks.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from loadstone import _native, experiment, pages
from loadstone._native import LoadstoneError, Scenario
from loadstone.analysis.question import Level, Question, spelled
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.pages import Page
from loadstone.stats.sequential import FIRST_LOOK
from loadstone.stores.form import FIELDS
from loadstone.stores.matrix import Levels, Matrix, Settings

CHUNK_SECONDS = 0.25
"""About how long a core is busy with a chunk: what a kill can cost, and much more than a file does."""

Name = tuple[Level, ...]
"""What names a cell within its matrix: its levels in the order of the factors."""

_MOST_KEPT = 10_000
"""Of so many settings is kept how the engine understands them."""

_SMALLEST = pages.of_document({"objects": [{"url": "http://a.test/", "bytes": 0}]})


@dataclass(frozen=True)
class Planned:
    """A cell as it will be run, or a part of its runs."""

    levels: Levels
    digest: str
    """SHA-256 of its scenario: the page's content and every field, but no seed."""
    page: str
    """Digest of the page."""
    fields: str
    """The scenario without page and seed, every field stated, as JSON."""
    seeds: Sequence[int]
    is_random: bool
    loads: int = 1
    """How many a run takes, with those that are to come before it."""

    @property
    def name(self) -> Name:
        """Name it within its matrix."""
        return tuple(self.levels.values())

    @property
    def key(self) -> str:
        """Say what is run."""
        seeds = [self.seeds[0], len(self.seeds)] if isinstance(self.seeds, range) else [*self.seeds]
        return json.dumps([list(self.levels.items()), self.digest, seeds])

    def scenario(self, page: _native.Page) -> Scenario:
        """Make the scenario."""
        try:
            return experiment.scenario(page, json.loads(self.fields))
        except LoadstoneError as error:
            raise refused(self.levels, error) from None


@dataclass(frozen=True)
class Chunk:
    """Runs that are made together and written together."""

    number: int
    """Where it comes in the plan."""
    groups: tuple[tuple[Planned, ...], ...]
    """Cells or parts of cells; with `until`, whole conditions."""
    pages: dict[str, _native.Page]
    """The cells' pages, by digest."""
    engine: str
    """The engine that has to run it."""
    question: Question
    """What is asked of them, and so when there are enough, and whether they go over the kernel."""

    @property
    def cells(self) -> Iterator[Planned]:
        """Give its cells one after the other."""
        return (cell for group in self.groups for cell in group)

    @property
    def runs(self) -> int:
        """Count its runs, the most that there can be."""
        return sum(len(cell.seeds) for cell in self.cells)

    @cached_property
    def digest(self) -> str:
        """Say what it consists of."""
        said = "\n".join([self.engine, repr(self.question.until), *(cell.key for cell in self.cells)])
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def file(self) -> str:
        """Name its file in a store."""
        return f"{self.number:05}-{self.digest[:12]}.parquet"

    def without(self, runs: "Runs") -> "Chunk | None":
        """Leave out the runs that are there; `None` if that is all of them.

        How many runs a condition needs is only known of it as a whole, so with `until` one of which there is
        only a part is refused.
        """
        if self.question.until is None:
            groups = tuple(left for group in self.groups if (left := tuple(_left(group, runs))))
        else:
            groups = tuple(group for group in self.groups if not _is_there(group, runs))
        return replace(self, groups=groups) if groups else None


@dataclass(frozen=True)
class Runs:
    """Which runs there are."""

    seeds: dict[Name, set[int]]
    """By cell."""
    digests: dict[Name, str]
    """What was run as each cell."""

    @property
    def count(self) -> int:
        """Count them."""
        return sum(map(len, self.seeds.values()))

    def of(self, cell: Planned) -> set[int]:
        """Give the seeds under which a cell was run; refuse if something else was run under its name."""
        if self.digests.get(cell.name, cell.digest) != cell.digest:
            raise InputError(
                f"what the store has as {_in_words(cell.levels)} was run with other settings, or another "
                "page: give another folder"
            )
        return self.seeds.get(cell.name, set())


def _left(group: Iterable[Planned], runs: Runs) -> Iterator[Planned]:
    for cell in group:
        there = runs.of(cell)
        # Where chance has no part one run says all, under whatever seed.
        done = bool(there) if not cell.is_random else there.issuperset(cell.seeds)
        if not done:
            left = [seed for seed in cell.seeds if seed not in there]
            yield cell if len(left) == len(cell.seeds) else replace(cell, seeds=left)


def _is_there(group: Iterable[Planned], runs: Runs) -> bool:
    there = [bool(runs.of(cell)) for cell in group]
    if any(there) and not all(there):
        raise InputError(
            "until: a condition would get levels in addition to those that were run: give another folder, or "
            "a number of runs from the beginning"
        )
    return all(there)


@dataclass(frozen=True)
class Extent:
    """How much a plan is."""

    cells: int
    runs: int
    """All runs, the most that there can be."""
    seconds: float
    """About how long one core is busy with it."""

    @classmethod
    def of(cls, matrix: Matrix, progress: Callable[[int, int], None] = lambda done, total: None) -> "Extent":
        """Count a matrix cell by cell, of which none is kept; `progress` is told cells done and the most.

        Raises `InputError` as `Plan.of` does.
        """
        planner = _Planner(matrix)
        loads: dict[str, float] = {}
        cells, runs, seconds = 0, 0, 0.0
        total = math.prod(len(axis) for axis in matrix.axes())
        for cell in planner.all():
            if cell.page not in loads:
                loads[cell.page] = _seconds(planner.pages[cell.page])
            cells, runs = cells + 1, runs + len(cell.seeds)
            seconds += _cell_seconds(matrix, cell, loads[cell.page])
            if cells % _TOLD == 0:
                progress(cells, total)
        return cls(cells, runs, seconds)


_TOLD = 1000
"""Cells after which progress is told."""


@dataclass(frozen=True)
class Plan:
    """A matrix, worked out."""

    matrix: Matrix
    cells: tuple[Planned, ...]
    pages: dict[str, Page]
    """Pages by digest."""
    page_digests: dict[str, str]
    """Digests of the pages by what the matrix calls them."""

    @classmethod
    def of(cls, matrix: Matrix) -> "Plan":
        """Read the pages and make every cell's scenario.

        Raises `InputError` if a page cannot be read or a cell asks for what there is not.
        """
        planner = _Planner(matrix)
        return cls(matrix, tuple(planner.all()), planner.pages, planner.page_digests)

    @property
    def runs(self) -> int:
        """Count all runs, the most that there can be."""
        return sum(len(cell.seeds) for cell in self.cells)

    @cached_property
    def digest(self) -> str:
        """Say what is run, whatever it is called and asked."""
        question = self.matrix.question
        # What stops runs is part of what is run.
        until = [repr(self.matrix.enough), question.compared, question.baseline] if self.matrix.until else []
        said = [json.dumps(until), *(cell.key for cell in self.cells)]
        return hashlib.sha256("\n".join(said).encode()).hexdigest()

    @property
    def seconds(self) -> float:
        """Guess how long one core is busy with it."""
        return sum(map(self._seconds(), self.cells))

    def chunks(self) -> Iterator[Chunk]:
        """Divide it into chunks of about `CHUNK_SECONDS`; with `until` no condition is divided.

        Loads over the kernel, which take their time, are divided by cells.
        """
        seconds = self._seconds()
        enough = 0.0 if self.matrix.live else CHUNK_SECONDS
        part: list[tuple[Planned, ...]] = []
        number, cost = 0, 0.0
        for group in self._groups(seconds):
            part.append(group)
            cost += sum(map(seconds, group))
            if cost >= enough:
                yield self._chunk(number, part)
                part, number, cost = [], number + 1, 0.0
        if part:
            yield self._chunk(number, part)

    def _groups(self, seconds: Callable[[Planned], float]) -> Iterator[tuple[Planned, ...]]:
        """Give what is not divided: conditions with `until`, else cells, or parts of cells of many runs."""
        if self.matrix.until:
            others = self.matrix.question.others
            conditions: dict[Name, list[Planned]] = {}
            for cell in self.cells:
                conditions.setdefault(tuple(cell.levels[name] for name in others), []).append(cell)
            yield from map(tuple, conditions.values())
            return
        for cell in self.cells:
            parts = min(len(cell.seeds), max(1, round(seconds(cell) / CHUNK_SECONDS)))
            ends = [len(cell.seeds) * at // parts for at in range(parts + 1)]
            for begin, end in itertools.pairwise(ends):
                yield (replace(cell, seeds=cell.seeds[begin:end]) if parts > 1 else cell,)

    def _seconds(self) -> Callable[[Planned], float]:
        """Give what guesses how long a core is busy with a cell."""
        load = {digest: _seconds(page) for digest, page in self.pages.items()}
        return lambda cell: _cell_seconds(self.matrix, cell, load[cell.page])

    def _chunk(self, number: int, groups: Sequence[tuple[Planned, ...]]) -> Chunk:
        contents = {cell.page: self.pages[cell.page].content for group in groups for cell in group}
        return Chunk(number, tuple(groups), contents, engine(), self.matrix.question)


def refused(levels: Levels, error: LoadstoneError, settings: Settings | None = None) -> InputError:
    """Say which cell asks for what cannot be done."""
    why, field = error.args
    named = {path: name for name, path in FIELDS.items()}.get(field, field)
    value = f" = {json.dumps(settings[named])}" if settings and named in settings else ""
    place = f"{named}{value}: " if named else ""
    return InputError(f"{place}{why} (in the cell {_in_words(levels)})")


def _in_words(levels: Levels) -> str:
    return ", ".join(f"{name} = {spelled(level)}" for name, level in levels.items())


def _cell_seconds(matrix: Matrix, cell: Planned, load: float) -> float:
    """Guess how long a core is busy with a cell, of which it is `load` with a load."""
    # Most gains are known well before the most runs are made.
    most = 2 * FIRST_LOOK if matrix.until else matrix.most_runs
    return min(len(cell.seeds), most) * cell.loads * load


def _seconds(page: Page) -> float:
    """Guess how long a core is busy with a load, by a fit to synthetic and recorded pages."""
    page_is = page.summary()
    return float(
        1.5e-5 + 2.5e-5 * page_is["hosts"] + 2.1e-6 * page_is["objects"] + 2.1e-10 * page_is["bytes"]
    )


class _Planner:
    """Makes cells; what many of them share is made once."""

    def __init__(self, matrix: Matrix) -> None:
        self.pages: dict[str, Page] = {}
        self.page_digests: dict[str, str] = {}
        self._matrix = matrix
        self._scenarios: dict[str, tuple[str, bool, int]] = {}

    def all(self) -> Iterator[Planned]:
        """Give all cells, one after the other."""
        is_empty = True
        for levels in self._matrix.cells():
            is_empty = False
            yield self.planned(levels)
        if is_empty:
            raise InputError(f"{self._matrix.place}: where: no combination is so: {self._matrix.where}")

    def planned(self, levels: Levels) -> Planned:
        settings = self._matrix.settings(levels)
        page = self._page(settings.pop("page"))
        fields, is_random, loads = self._fields(settings, levels)
        digest = hashlib.sha256(f"{page}\n{fields}".encode()).hexdigest()
        runs, first = self._matrix.most_runs, self._matrix.seed
        # The kernel and the machine under it are never quite the same.
        is_random = is_random or self._matrix.live
        seeds = range(first, first + (runs if is_random else 1))
        return Planned(levels, digest, page, fields, seeds, is_random, loads)

    def _page(self, named: Any) -> str:
        if not isinstance(named, str):
            raise InputError(f"{self._matrix.place}: page: {named} is no name of a page: give a file")
        if named not in self.page_digests:
            read = pages.read(self._matrix.path_of(named), keep_secrets=self._matrix.keep_secrets)
            page = replace(read, name=named)
            digest = hashlib.sha256(page.json.encode()).hexdigest()
            self.page_digests[named] = digest
            self.pages.setdefault(digest, page)
        return self.page_digests[named]

    def _fields(self, settings: Settings, levels: Levels) -> tuple[str, bool, int]:
        """Let the engine state every field; say whether chance has a part, and how many loads a run takes."""
        said = json.dumps(settings, sort_keys=True)
        if said not in self._scenarios:
            if len(self._scenarios) == _MOST_KEPT:
                self._scenarios.clear()
            try:
                self._scenarios[said] = self._understood(settings)
            except LoadstoneError as error:
                raise InputError(f"{self._matrix.place}: {refused(levels, error, settings)}") from None
        return self._scenarios[said]

    def _understood(self, settings: Settings) -> tuple[str, bool, int]:
        verbatim = {name: value for name, value in settings.items() if "." in name}
        try:
            fields = experiment.nested({**experiment.chosen(settings), **verbatim})
        except (TypeError, AttributeError):
            names = ", ".join(verbatim)
            raise InputError(
                f"{self._matrix.place}: {names}: one field lies within another: leave one out"
            ) from None
        fields.update(experiment.traced(str(fields.get("network", "")), self._matrix.path_of))
        scenario = experiment.scenario(_SMALLEST, fields)
        understood = json.loads(scenario.to_json())
        del understood["page"], understood["seed"]
        variant = understood["variant"]
        loads = (1 + variant.get("earlier_loads", 0)) * (2 if "visit_after" in variant else 1)
        return json.dumps(understood), scenario.is_random, loads
