"""Matrices: what a sweep runs, as factors whose levels make one scenario in every combination.

A factor either is a field of the scenario (`protocol`, `iw`, `network`, `page`; docs/sweeps.md lists them) or
stands in braces in the text of one: `network = "{rate}mbit,{rtt}ms,loss={loss}%"`.
"""

import itertools
import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadstone import experiment, names, toml
from loadstone._native import traces_of
from loadstone.analysis.question import Level, Question, spelled
from loadstone.experiment import RUNS_OF_RANDOM
from loadstone.expression import Condition
from loadstone.files import InputError
from loadstone.pages import is_file
from loadstone.settings import OF_RUNS, OF_SCENARIOS
from loadstone.stats import Until
from loadstone.stores import form
from loadstone.stores.form import FIELDS, IN_BRACES, VARIANT, is_field, nearest, normal_name

Levels = dict[str, Level]
"""One level of each factor: what names a cell within its matrix."""
Settings = dict[str, Any]
"""What a cell sets, by the names of fields."""
MOST_ROWS = 1_000_000
"""The most runs that are kept together. With `until` those of a condition are."""
MOST_CELLS = 1_000_000
MOST_RUNS = 100_000_000
"""More are refused: a slip of the hand makes them, and they would not fit into memory."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TAKEN = {
    *(OF_RUNS.keys() - {"connections"}),
    *("cell", "is_random", "connections_opened"),
    *("gain", "low", "high", "pairs", "runs", "why", "by", "conditions", "max", "mean", "min"),
}
"""Columns of a store, or of what analyses make of it, in addition to the factors."""


@dataclass(frozen=True)
class Matrix:
    """What a sweep runs: every combination of the factors' levels, each under several seeds."""

    factors: Mapping[str, Sequence[Level]] = field(default_factory=dict)
    """Levels by name. The factor that is compared may stand anywhere."""
    linked: Sequence[Mapping[str, Sequence[Level]]] = ()
    """Factors that go together, group by group: the first levels of all of a group, the second, ..."""
    variants: Mapping[str, Settings] = field(default_factory=dict)
    """What each level of the factor `variant` sets."""
    common: Settings = field(default_factory=dict)
    """What all cells set; a text may have factors in braces."""
    where: str | None = None
    """An expression over the factors; only the combinations are run for which it holds."""
    runs: int | None = None
    """Runs of a cell in which chance has a part, 21 if nothing is said; of any other, one says all."""
    until: str | None = None
    """21, 42, ... runs, until every gain is known this well (`1%`); `runs` is the most."""
    seed: int = OF_SCENARIOS["seed"].default
    """Seed of the first run; run k has `seed` + k, in every cell, so that cells are paired."""
    live: bool = False
    """Whether the loads go over this machine's own TCP, in real time."""
    title: str = ""
    """What is to be found out."""
    analysis: Mapping[str, Any] = field(default_factory=dict)
    """What an analysis asks unless it is asked otherwise: `compare`, `baseline`, `around`, `high`."""
    folder: Path = Path()
    """What the paths of pages and traces start from."""
    place: str = "matrix"
    """What errors name: the file that it came from."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where files are that the matrix gave by absolute paths, and knows by name."""
    keep_secrets: bool = False
    """Whether secrets in HARs stay as they are."""

    def __post_init__(self) -> None:
        said = form.normal({key: getattr(self, key) for key in form.KEYS}, self.place)
        for key, value in said.items():
            object.__setattr__(self, key, value)
        _check(self)

    @classmethod
    def read(cls, path: str) -> "Matrix":
        """Read a matrix file in TOML."""
        return cls.of(toml.read(path, "a matrix in TOML"), Path(path).parent, path)

    @classmethod
    def of(cls, document: Mapping[str, Any], folder: Path = Path(), place: str = "matrix") -> "Matrix":
        """Make a matrix of what a file says, or `document` said."""
        for key in document:
            if key not in form.KEYS:
                raise InputError(f"{place}: {key}: there is no such key{nearest(key, form.KEYS)}")
        named, places = _named(document)
        return cls(**named, folder=folder, place=place, places=places)

    def path_of(self, name: str) -> str:
        """Give the PAGE argument for a page, or the path of a trace, that the matrix names.

        Files are found beside the matrix.
        """
        return self.places.get(name, str(self.folder / name)) if is_file(name) else name

    def document(self) -> dict[str, Any]:
        """Give what it says, for JSON or TOML; `of` reads it back."""
        said = {
            **{key: getattr(self, key) for key in form.KEYS},
            "factors": {name: list(levels) for name, levels in self.factors.items()},
            "linked": [{name: list(levels) for name, levels in group.items()} for group in self.linked],
        }
        return {key: value for key, value in said.items() if value is not None}

    # --- runs ---

    @property
    def enough(self) -> Until | None:
        """Say when there are enough runs, if that depends on what they give."""
        if self.until is None:
            return None
        known = Until.parse(self.until, f"{self.place}: until")
        return known if self.runs is None else replace(known, most_runs=self.runs)

    @property
    def most_runs(self) -> int:
        """Give the most runs of a cell."""
        return self.enough.most_runs if self.enough else self.runs or RUNS_OF_RANDOM

    # --- factors ---

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Give all factors with their levels: free ones, linked ones, variants."""
        made = {name: tuple(levels) for name, levels in self.factors.items()}
        for group in self.linked:
            made.update({name: tuple(dict.fromkeys(levels)) for name, levels in group.items()})
        if self.variants:
            made[VARIANT] = tuple(self.variants)
        return made

    @property
    def question(self) -> Question:
        """Give what an analysis asks of its runs."""
        levels, asked = self.levels, self.analysis
        compared = asked.get("compare", self.usually_compared())
        return Question(
            factors=levels,
            compared=compared,
            baseline=asked.get("baseline", levels[compared][0]),
            around=dict(asked.get("around", {})),
            high=dict(asked.get("high", {})),
            title=self.title,
            linked=tuple(
                name for group in self.linked if compared in group for name in group if name != compared
            ),
            until=self.enough,
            live=self.live,
        )

    def usually_compared(self) -> str:
        """Give the factor that is compared if nothing is said."""
        levels = self.levels
        sets_variant = [name for name in levels if FIELDS.get(name, "").startswith("variant.")]
        return next((name for name in (VARIANT, "protocol", *sets_variant) if name in levels), [*levels][-1])

    # --- cells ---

    def cells(self) -> Iterator[Levels]:
        """Give the levels of every cell, the last factor's varying quickest."""
        condition, axes, names = self.condition(), self.axes(), [*self.levels]
        for combination in itertools.product(*axes):
            levels = {name: level for part in combination for name, level in part.items()}
            if condition is None or condition.holds(levels):
                yield {name: levels[name] for name in names}

    def condition(self) -> Condition | None:
        """Give what must hold for a combination to be run."""
        if self.where is None:
            return None
        return Condition(self.where, f"{self.place}: where", names=[*self.levels])

    def axes(self) -> list[list[Levels]]:
        """Give what is combined: the levels of each factor, the rows of each linked group, the variants."""
        axes: list[list[Levels]] = [
            [{name: level} for level in levels] for name, levels in self.factors.items()
        ]
        for group in self.linked:
            axes.append([dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)])
        return [*axes, [{VARIANT: name} for name in self.variants]] if self.variants else axes

    def settings(self, levels: Levels) -> Settings:
        """Give what the cell of these levels sets, by the names of fields, `page` among them."""
        said = {**self.common, **self.variants.get(str(levels.get(VARIANT)), {})}
        filled = {name: _filled(value, levels) for name, value in said.items()}
        return {**filled, **{name: level for name, level in levels.items() if is_field(name)}}


def _filled(value: Any, levels: Levels) -> Any:
    """Put the levels of factors in the place of their names in braces."""
    if not isinstance(value, str):
        return value
    if whole := IN_BRACES.fullmatch(value):
        return levels[normal_name(whole[1])]
    return IN_BRACES.sub(lambda found: spelled(levels[normal_name(found[1])]), value)


def _named(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Give a document with names in place of absolute paths of pages and traces, and where those are.

    What a store or a report says of a matrix says nothing of the machine's folders.
    """
    paths = [
        path for text in _texts(document) for path in (text, *traces_of(text)) if Path(path).is_absolute()
    ]
    relative = [text for text in _texts(document) if not (Path(text).is_absolute() or traces_of(text))]
    shown = dict(zip(paths, names.shown([*paths, *relative]), strict=False))

    def name(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: name(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [name(each) for each in value]
        if not isinstance(value, str):
            return value
        return shown.get(value) or names.in_text(value, shown)

    named = {key: name(value) if key in _WITH_PATHS else value for key, value in document.items()}
    return named, {name: path for path, name in shown.items()}


_WITH_PATHS = ("factors", "linked", "variants", "common")


def _texts(value: Any) -> list[str]:
    """Give all texts of a matrix that may name files."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list | tuple) else []


# --- what is refused ---


def _check(matrix: Matrix) -> None:
    """Refuse what has a form and makes no sense."""
    _check_factors(matrix)
    _check_settings(matrix)
    _check_analysis(matrix)
    cells = math.prod(len(axis) for axis in matrix.axes())
    if cells > MOST_CELLS:
        place = matrix.place
        raise InputError(f"{place}: {cells:,} combinations: give fewer levels, {MOST_CELLS:,} are the most")
    _check_runs(matrix, cells)
    matrix.condition()


def _check_factors(matrix: Matrix) -> None:
    place, found = matrix.place, set[str]()
    groups = [("factors", matrix.factors), *(("linked", group) for group in matrix.linked)]
    groups += [("variants", {VARIANT: ()})] if matrix.variants else []
    for key, group in groups:
        for name, levels in group.items():
            if name in found:
                raise InputError(f"{place}: {key}.{name}: this factor is given twice: leave one out")
            _check_name(f"{place}: {key}.{name}", name)
            if key == "factors" and len(set(levels)) < len(levels):
                raise InputError(f"{place}: {key}.{name}: a level is given twice: leave one out")
            found.add(name)
    if not found:
        raise InputError(f"{place}: there are no factors: give some under [factors], or [variants.NAME]")
    for group in matrix.linked:
        _check_linked(place, group)


def _check_name(place: str, name: str) -> None:
    if "." in name and is_field(name):
        return
    if _NAME.fullmatch(name) is None:
        raise InputError(f"{place}: a factor's name is small letters, digits and _: give it another")
    if name in _TAKEN or name.endswith("_ms"):
        raise InputError(f"{place}: stores and analyses have a column of this name: give it another")
    if keyword.iskeyword(name):
        raise InputError(f"{place}: conditions cannot speak of a factor of this name: give it another")


def _check_linked(place: str, group: Mapping[str, Sequence[Level]]) -> None:
    if len({len(levels) for levels in group.values()}) != 1:
        lengths = ", ".join(f"{name} has {len(levels)}" for name, levels in group.items())
        raise InputError(f"{place}: linked: linked factors need levels in equal number: {lengths or 'none'}")
    rows = list(zip(*group.values(), strict=True))
    if len(set(rows)) < len(rows):
        raise InputError(f"{place}: linked: the same levels go together twice: leave one out")


def _check_settings(matrix: Matrix) -> None:
    place, levels = matrix.place, matrix.levels
    said = {"common": matrix.common, **{f"variants.{name}": it for name, it in matrix.variants.items()}}
    used: set[str] = set()
    for key, settings in said.items():
        for name, value in settings.items():
            if not is_field(name):
                raise InputError(f"{place}: {key}.{name}: there is no such field{nearest(name, [*FIELDS])}")
            if name in levels:
                raise InputError(f"{place}: {key}.{name}: this is a factor as well: leave one out")
            if isinstance(value, str):
                used.update(map(normal_name, IN_BRACES.findall(value)))
    for name in sorted(used - set(levels)):
        raise InputError(f"{place}: {{{name}}}: there is no such factor{nearest(name, [*levels])}")
    for name in levels:
        if name != VARIANT and not is_field(name) and name not in used:
            raise InputError(
                f"{place}: {name}: this factor changes nothing, it is neither a field nor in braces in the "
                f"text of one{nearest(name, [*FIELDS])}"
            )
    if "page" not in levels and "page" not in matrix.common:
        missing = [name for name, settings in matrix.variants.items() if "page" not in settings]
        if missing or not matrix.variants:
            raise InputError(f'{place}: there is no page: give common.page = "shop.har", or factors.page')


def _check_analysis(matrix: Matrix) -> None:
    place, levels, asked = matrix.place, matrix.levels, matrix.analysis
    tables = {key: asked.get(key, {}) for key in ("around", "high")}
    compared = asked.get("compare", matrix.usually_compared())
    for name in (compared, *tables["around"], *tables["high"]):
        if not isinstance(name, str) or name not in levels:
            raise InputError(f"{place}: analysis: {name} is no factor{nearest(name, [*levels])}")
    for name, limit in tables["high"].items():
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise InputError(f"{place}: analysis.high.{name}: this is no number: give one")
    around = {compared: asked.get("baseline", levels[compared][0]), **tables["around"]}
    for name, level in around.items():
        if not isinstance(level, str | int | float) or level not in levels[name]:
            known = ", ".join(str(one) for one in levels[name])
            raise InputError(f"{place}: analysis: {name} has no level {level!r}: use {known}")


def _check_runs(matrix: Matrix, cells: int) -> None:
    place, runs = matrix.place, matrix.most_runs if matrix.runs is None else matrix.runs
    if runs < 1 or runs > 100_000:
        raise InputError(f"{place}: runs: {runs} is out of range: give 1 to 100000")
    if matrix.seed < 0:
        raise InputError(f"{place}: seed: {matrix.seed} is below 0: give 0 or more")
    experiment.check_seeds(matrix.seed, runs, f"{place}: seed")
    together = len(matrix.levels[matrix.analysis.get("compare", matrix.usually_compared())]) * runs
    if matrix.until is not None and together > MOST_ROWS:
        raise InputError(f"{place}: {together:,} runs of a condition: give fewer, {MOST_ROWS:,} are the most")
    if cells * runs > MOST_RUNS:
        raise InputError(f"{place}: {cells * runs:,} runs: give fewer, {MOST_RUNS:,} are the most")
