"""Plans: a matrix worked out into cells, each known by its scenario's digest, and into chunks of them.

A plan depends on the matrix, its pages and the engine alone, so whoever goes on with a sweep, and whoever
takes part in it on another machine, has the same chunks.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadstone import experiment, pages
from loadstone._native import LoadstoneError, Scenario, traces_of
from loadstone.analysis.question import Level, Question
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.pages import Page
from loadstone.stats import Until
from loadstone.stats.sequential import FIRST_LOOK
from loadstone.sweep.matrix import FIELDS, Levels, Matrix, Settings, page_name

CHUNK_SECONDS = 0.25
"""About how long a core is busy with a chunk: what a kill can cost, and much more than a file does."""

Run = tuple[tuple[Level, ...], int]
"""What names a run within its matrix: its cell's levels in the order of the factors, and its seed."""

_SMALLEST = '{"objects": [{"url": "http://a.test/", "bytes": 0}]}'


@dataclass(frozen=True)
class Planned:
    """A cell as it will be run."""

    levels: Levels
    digest: str
    """SHA-256 of its scenario: the page's content and every field, but no seed."""
    page: str
    """Digest of the page."""
    fields: str
    """The scenario without page and seed, every field stated, as JSON."""
    seeds: tuple[int, ...]
    is_random: bool

    def scenario(self, page: str) -> Scenario:
        """Make the scenario; `page` is the text of the page file."""
        try:
            return experiment.scenario(page, json.loads(self.fields))
        except LoadstoneError as error:
            raise refused(self.levels, error) from None

    @property
    def key(self) -> str:
        """Say what is run."""
        return json.dumps([self.levels, self.digest, self.seeds], sort_keys=True)


@dataclass(frozen=True)
class Chunk:
    """Cells that are run together and written together: whole conditions."""

    number: int
    conditions: tuple[tuple[Planned, ...], ...]
    """The cells, by what they are compared under."""
    pages: dict[str, str]
    """The texts of the cells' pages, by digest."""
    engine: str
    """The engine that has to run it."""
    question: Question
    live: bool = False
    until: Until | None = None
    """When there are enough runs of a condition, if that depends on what they give."""

    @property
    def cells(self) -> Iterator[Planned]:
        """Give its cells one after the other."""
        return itertools.chain.from_iterable(self.conditions)

    @property
    def runs(self) -> int:
        """Count its runs, the most that there can be."""
        return sum(len(cell.seeds) for cell in self.cells)

    @property
    def digest(self) -> str:
        """Say what it consists of."""
        said = "\n".join([self.engine, repr(self.until), *(cell.key for cell in self.cells)])
        return hashlib.sha256(said.encode()).hexdigest()


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
        cells = tuple(planner.planned(levels) for levels in matrix.cells())
        if not cells:
            raise InputError(f"{matrix.place}: where: no combination is so: {matrix.where}")
        return cls(matrix, cells, planner.pages, planner.page_digests)

    @property
    def runs(self) -> int:
        """Count all runs, the most that there can be."""
        return sum(len(cell.seeds) for cell in self.cells)

    @property
    def digest(self) -> str:
        """Say what is run, whatever it is called."""
        keys = (cell.key for cell in self.cells)
        return hashlib.sha256("\n".join([repr(self.matrix.enough), *keys]).encode()).hexdigest()

    @property
    def seconds(self) -> float:
        """Guess how long one core is busy with it."""
        each = self._seconds()
        return sum(map(each, self.cells))

    def _seconds(self) -> Callable[[Planned], float]:
        """Give what guesses how long a core is busy with a cell."""
        load = {digest: _seconds(page) for digest, page in self.pages.items()}
        # Most gains are known well before the most runs are made.
        most = 2 * FIRST_LOOK if self.matrix.until else self.matrix.most_runs
        return lambda cell: min(len(cell.seeds), most) * load[cell.page]

    def without(self, done: Collection[Run]) -> "Plan":
        """Leave out the runs that are done."""
        if not done:
            return self
        if self.matrix.until:
            return self._without_conditions({levels for levels, _ in done})
        left = []
        for cell in self.cells:
            name = tuple(cell.levels.values())
            seeds = tuple(seed for seed in cell.seeds if (name, seed) not in done)
            left += [replace(cell, seeds=seeds)] if seeds else []
        return replace(self, cells=tuple(left))

    def _without_conditions(self, done: Collection[tuple[Level, ...]]) -> "Plan":
        """Leave out conditions that are done: how many runs another needs is only known of it as a whole."""
        left: list[Planned] = []
        for condition in self._conditions():
            there = sum(tuple(cell.levels.values()) in done for cell in condition)
            if 0 < there < len(condition):
                raise InputError(
                    f"{self.matrix.place}: until: a condition would get levels beside those that were run: "
                    "give another folder, or a number of runs from the beginning"
                )
            left += [] if there else condition
        return replace(self, cells=tuple(left))

    def _conditions(self) -> Iterator[tuple[Planned, ...]]:
        others = self.matrix.question.others
        for _, group in itertools.groupby(self.cells, lambda cell: [cell.levels[name] for name in others]):
            yield tuple(group)

    def chunks(self) -> Iterator[Chunk]:
        """Divide the cells into chunks of about `CHUNK_SECONDS`, never within a condition.

        Loads over the kernel take their time, so there each condition is one.
        """
        enough = 0.0 if self.matrix.live else CHUNK_SECONDS
        seconds = self._seconds()
        part: list[tuple[Planned, ...]] = []
        number, cost = 0, 0.0
        for condition in self._conditions():
            part.append(condition)
            cost += sum(map(seconds, condition))
            if cost >= enough:
                yield self._chunk(number, part)
                part, number, cost = [], number + 1, 0.0
        if part:
            yield self._chunk(number, part)

    def _chunk(self, number: int, conditions: Sequence[tuple[Planned, ...]]) -> Chunk:
        matrix = self.matrix
        texts = {cell.page: self.pages[cell.page].json for group in conditions for cell in group}
        return Chunk(number, tuple(conditions), texts, engine(), matrix.question, matrix.live, matrix.enough)


def refused(levels: Levels, error: LoadstoneError) -> InputError:
    """Say which cell asks for what cannot be done."""
    why, field = error.args
    named = {path: name for name, path in FIELDS.items()}.get(field, field)
    cell = ", ".join(f"{name} = {level}" for name, level in levels.items())
    return InputError(f"{f'{named}: ' if named else ''}{experiment.without_place(why)} (in the cell {cell})")


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
        self._scenarios: dict[str, tuple[str, bool]] = {}

    def planned(self, levels: Levels) -> Planned:
        settings = self._matrix.settings(levels)
        page = self._page(settings.pop("page"))
        fields, is_random = self._fields(settings, levels)
        digest = hashlib.sha256(f"{page}\n{fields}".encode()).hexdigest()
        runs, first = self._matrix.most_runs, self._matrix.seed
        # The kernel and the machine under it are never quite the same.
        is_random = is_random or self._matrix.live
        seeds = tuple(range(first, first + (runs if is_random else 1)))
        return Planned(levels, digest, page, fields, seeds, is_random)

    def _page(self, named: Any) -> str:
        if not isinstance(named, str):
            raise InputError(f"{self._matrix.place}: page: {named} is no name of a page: give a file")
        if named not in self.page_digests:
            page = replace(pages.read(page_name(self._matrix, named)), name=named)
            digest = hashlib.sha256(page.json.encode()).hexdigest()
            self.page_digests[named] = digest
            self.pages.setdefault(digest, page)
        return self.page_digests[named]

    def _fields(self, settings: Settings, levels: Levels) -> tuple[str, bool]:
        """Let the engine state every field, and say whether chance has a part."""
        said = json.dumps(settings, sort_keys=True)
        if said not in self._scenarios:
            try:
                self._scenarios[said] = self._understood(settings)
            except LoadstoneError as error:
                raise InputError(f"{self._matrix.place}: {refused(levels, error)}") from None
        return self._scenarios[said]

    def _understood(self, settings: Settings) -> tuple[str, bool]:
        verbatim = {name: value for name, value in settings.items() if "." in name}
        fields = experiment.nested({**experiment.chosen(settings), **verbatim})
        folder: Path = self._matrix.folder
        if traces := traces_of(str(fields.get("network", ""))):
            fields["traces"] = {name: experiment.text_of(str(folder / name)) for name in traces}
        scenario = experiment.scenario(_SMALLEST, fields)
        understood = json.loads(scenario.to_json())
        del understood["page"], understood["seed"]
        return json.dumps(understood), scenario.is_random
