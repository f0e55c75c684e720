"""Matrices: what a sweep runs, as factors whose levels make one scenario in every combination.

A factor either is a field of the scenario (`protocol`, `iw`, `network`, `page`; docs/sweeps.md lists them) or
stands in braces in the text of one: `network = "{rate}mbit,{rtt}ms,loss={loss}%"`.
"""

import itertools
import json
import keyword
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from loadstone import experiment, files
from loadstone.analysis.question import Level, Question
from loadstone.experiment import DEFAULT_SEED, RUNS_OF_RANDOM
from loadstone.expression import Condition
from loadstone.files import InputError
from loadstone.pages import SYNTHETIC
from loadstone.stats import Until

Levels = dict[str, Level]
"""One level of each factor: what names a cell within its matrix."""
Settings = dict[str, Any]
"""What a cell sets, by the names of fields."""

VARIANT = "variant"
"""The factor that the matrix's variants make."""
MOST_CELLS = 1_000_000
"""More are refused: a slip of the hand makes them, and they would not fit into memory."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_IN_BRACES = re.compile(r"\{([^{}]*)\}")
_TAKEN = {
    *("cell", "seed", "completed", "is_random", "packets_down", "packets_up", "bytes_down", "bytes_up"),
    *("retransmissions", "connections_opened"),
    *("gain", "low", "high", "pairs", "runs", "why", "by", "conditions", "max", "mean", "min"),
}
"""Columns of a store, or of what analyses make of it, beside the factors."""
_ASKED = ("compare", "baseline", "around", "high")


def _fields() -> dict[str, str]:
    named = {option.removeprefix("--").replace("-", "_"): path for path, option in experiment.OPTIONS.items()}
    return {"page": "page", **{name: path for name, path in named.items() if name != "seed"}}


FIELDS = _fields()
"""The path of the scenario's field, by the name that it has here: the option's, with `_` for `-`."""


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
    """Instead of so many runs: 21, 42, ..., until every gain is known so well (`1%`); `runs` is the most."""
    seed: int = DEFAULT_SEED
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

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def read(cls, path: str) -> "Matrix":
        """Read a matrix file in TOML."""
        try:
            document = tomllib.loads(files.read(path).decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"{path}: not a matrix in TOML: {error}") from None
        return cls.of(document, Path(path).parent, path)

    @classmethod
    def of(cls, document: dict[str, Any], folder: Path = Path(), place: str = "matrix") -> "Matrix":
        """Make a matrix of what a file says, or `document` said."""
        known = [name for name in cls.__dataclass_fields__ if name not in ("folder", "place")]
        for key in document:
            if key not in known:
                raise InputError(f"{place}: {key}: there is no such key{_nearest(key, known)}")
        document = {key: _normal(place, key, value) for key, value in document.items()}
        return cls(**document, folder=folder, place=place)

    def document(self) -> dict[str, Any]:
        """Give what it says, for JSON or TOML; `of` reads it back."""
        said = {
            "title": self.title,
            "runs": self.runs,
            "until": self.until,
            "seed": self.seed,
            "live": self.live,
            "where": self.where,
            "factors": {name: list(levels) for name, levels in self.factors.items()},
            "linked": [{name: list(levels) for name, levels in group.items()} for group in self.linked],
            "variants": dict(self.variants),
            "common": dict(self.common),
            "analysis": dict(self.analysis),
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
        compared = asked.get("compare", self._usually_compared())
        baseline = asked.get("baseline", levels[compared][0])
        with_it = [name for group in self.linked if compared in group for name in group if name != compared]
        around, high = dict(asked.get("around", {})), dict(asked.get("high", {}))
        return Question(levels, compared, baseline, around, high, self.title, tuple(with_it), self.enough)

    def _usually_compared(self) -> str:
        levels = self.levels
        sets_variant = [name for name in levels if FIELDS.get(name, "").startswith("variant.")]
        return next((name for name in (VARIANT, "protocol", *sets_variant) if name in levels), [*levels][-1])

    # --- cells ---

    def cells(self) -> Iterator[Levels]:
        """Give the levels of every cell: the compared factor's vary quickest."""
        condition = self._condition()
        for combination in itertools.product(*self._axes()):
            levels = {name: level for part in combination for name, level in part.items()}
            if condition is None or condition.holds(levels):
                yield {name: levels[name] for name in self.levels}

    def _condition(self) -> Condition | None:
        if self.where is None:
            return None
        return Condition(self.where, f"{self.place}: where", names=list(self.levels))

    def _axes(self) -> list[list[Levels]]:
        axes: list[list[Levels]] = [
            [{name: level} for level in levels] for name, levels in self.factors.items()
        ]
        for group in self.linked:
            axes.append([dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)])
        if self.variants:
            axes.append([{VARIANT: name} for name in self.variants])
        compared = self.question.compared
        return sorted(axes, key=lambda axis: compared in axis[0])

    def settings(self, levels: Levels) -> Settings:
        """Give what the cell of these levels sets, by the names of fields, `page` among them."""
        said = {**self.common, **self.variants.get(str(levels.get(VARIANT)), {})}
        said.update({name: level for name, level in levels.items() if is_field(name)})
        return {name: _filled(value, levels) for name, value in said.items()}


def is_field(name: str) -> bool:
    """Say whether a name sets a field of the scenario by itself."""
    return name in FIELDS or name.startswith("variant.")


def _filled(value: Any, levels: Levels) -> Any:
    """Put the levels of factors in the place of their names in braces."""
    if not isinstance(value, str):
        return value
    if (whole := _IN_BRACES.fullmatch(value)) and whole[1] in levels:
        return levels[whole[1]]
    return _IN_BRACES.sub(lambda found: str(levels.get(found[1], found[0])), value)


# --- what a matrix may say ---


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f": did you mean {near[0]}?" if near else f": use {', '.join(known)}"


def _normal(place: str, key: str, value: Any) -> Any:
    """Check the form of what a key says, and write names with `_` for `-`."""
    forms = {"runs": int, "seed": int, "live": bool, "linked": list}
    forms |= dict.fromkeys(("title", "where", "until"), str)
    form = forms.get(key, dict)
    if not isinstance(value, form) or (form is int and isinstance(value, bool)):
        wanted = {int: "a number", bool: "true or false", str: "a text", list: f"tables [[{key}]]"}
        raise InputError(f"{place}: {key}: this is something else: give {wanted.get(form, 'a table')}")
    if isinstance(value, list):
        return [_named(place, key, group) for group in value]
    if key == "variants" and isinstance(value, dict):
        return {
            name: _named(place, f"variants.{name}", settings) if settings != {} else {}
            for name, settings in value.items()
        }
    return _named(place, key, value) if key in ("factors", "common") and value else value


def _named(place: str, key: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict) or not table or not all(isinstance(name, str) for name in table):
        raise InputError(f"{place}: {key}: this is no table with something in it: give one, name = value")
    return {name if "." in name else name.replace("-", "_"): value for name, value in table.items()}


def _check(matrix: Matrix) -> None:
    place = matrix.place
    levels: dict[str, Sequence[Level]] = {}
    groups: list[tuple[str, Mapping[str, Sequence[Level]]]] = [("factors", matrix.factors)]
    groups += [("linked", group) for group in matrix.linked]
    if matrix.variants:
        groups.append(("variants", {VARIANT: list(matrix.variants)}))
    for key, group in groups:
        for name, given in group.items():
            if name in levels:
                raise InputError(f"{place}: {key}.{name}: this factor is given twice: leave one out")
            _check_name(f"{place}: {key}.{name}", name)
            _check_levels(f"{place}: {key}.{name}", given, may_repeat=key == "linked")
            levels[name] = given
    if not levels:
        raise InputError(f"{place}: there are no factors: give some under [factors], or [variants.NAME]")
    for group in matrix.linked:
        _check_linked(place, group)
    runs = matrix.most_runs if matrix.runs is None else matrix.runs
    if runs < 1 or runs > 100_000:
        raise InputError(f"{place}: runs: {runs} is out of range: give 1 to 100000")
    experiment.check_seeds(matrix.seed, runs, f"{place}: seed")
    _check_settings(matrix)
    _check_analysis(matrix)
    size = 1
    for axis in matrix._axes():
        size *= len(axis)
    if size > MOST_CELLS:
        raise InputError(f"{place}: {size:,} combinations: give fewer levels, {MOST_CELLS:,} are the most")
    matrix._condition()


def _check_name(place: str, name: str) -> None:
    if "." in name and is_field(name):
        return
    if _NAME.fullmatch(name) is None:
        raise InputError(f"{place}: a factor's name is small letters, digits and _: give it another")
    if name in _TAKEN or name.endswith("_ms"):
        raise InputError(f"{place}: stores and analyses have a column of this name: give it another")
    if keyword.iskeyword(name):
        raise InputError(f"{place}: conditions cannot speak of a factor of this name: give it another")


def _check_levels(place: str, levels: Any, *, may_repeat: bool) -> None:
    if not isinstance(levels, Sequence) or isinstance(levels, str) or not levels:
        raise InputError(f"{place}: a factor needs a list of levels: write [1, 2, 3]")
    kinds = {bool if isinstance(level, bool) else type(level) for level in levels}
    if not kinds <= set(get_args(Level)):
        raise InputError(f"{place}: a level is a number, a text, true or false: write others as text")
    if any(isinstance(level, int) and not -(2**63) <= level < 2**63 for level in levels):
        raise InputError(f"{place}: a level is beyond 64 bits: give it as text")
    if len(kinds - {int}) > 1 or (len(kinds) > 1 and float not in kinds):
        raise InputError(f"{place}: the levels are of several kinds: write all as numbers or all as text")
    if any(isinstance(level, float) and not math.isfinite(level) for level in levels):
        raise InputError(f"{place}: a level is no finite number: leave it out")
    if not may_repeat and len(set(levels)) < len(levels):
        raise InputError(f"{place}: a level is given twice: leave one out")


def _check_linked(place: str, group: Mapping[str, Sequence[Level]]) -> None:
    if len({len(levels) for levels in group.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(levels)}" for name, levels in group.items())
        raise InputError(f"{place}: linked: linked factors need levels in equal number: {lengths}")


def _check_settings(matrix: Matrix) -> None:
    place, levels = matrix.place, matrix.levels
    said = {"common": matrix.common, **{f"variants.{name}": it for name, it in matrix.variants.items()}}
    used: set[str] = set()
    for key, settings in said.items():
        for name, value in settings.items():
            if not is_field(name):
                raise InputError(f"{place}: {key}.{name}: there is no such field{_nearest(name, [*FIELDS])}")
            if name in levels:
                raise InputError(f"{place}: {key}.{name}: this is a factor as well: leave one out")
            if isinstance(value, str):
                used.update(_IN_BRACES.findall(value))
    for name in used - set(levels):
        raise InputError(f"{place}: {{{name}}}: there is no such factor{_nearest(name, [*levels])}")
    for name in levels:
        if name != VARIANT and not is_field(name) and name not in used:
            raise InputError(
                f"{place}: {name}: this factor changes nothing, it is neither a field nor in braces in the "
                f"text of one{_nearest(name, [*FIELDS])}"
            )
    if "page" not in levels and "page" not in matrix.common:
        missing = [name for name, settings in matrix.variants.items() if "page" not in settings]
        if missing or not matrix.variants:
            raise InputError(f'{place}: there is no page: give common.page = "shop.har", or factors.page')


def _check_analysis(matrix: Matrix) -> None:
    place, levels, asked = matrix.place, matrix.levels, matrix.analysis
    for key in asked:
        if key not in _ASKED:
            raise InputError(f"{place}: analysis.{key}: there is no such key{_nearest(key, _ASKED)}")
    compared = asked.get("compare", matrix._usually_compared())
    tables = {key: asked.get(key, {}) for key in ("around", "high")}
    for key, table in tables.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{place}: analysis.{key}: this is no table: write {{ rtt = 100 }}")
    for name in (compared, *tables["around"], *tables["high"]):
        if not isinstance(name, str) or name not in levels:
            raise InputError(f"{place}: analysis: {name} is no factor{_nearest(str(name), [*levels])}")
    for name, limit in tables["high"].items():
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise InputError(f"{place}: analysis.high.{name}: {json.dumps(limit)} is no number: give one")
    around = {compared: asked.get("baseline", levels[compared][0]), **tables["around"]}
    for name, level in around.items():
        if level not in levels[name]:
            known = ", ".join(str(one) for one in levels[name])
            raise InputError(f"{place}: analysis: {name} has no level {json.dumps(level)}: use {known}")


def page_name(matrix: Matrix, named: str) -> str:
    """Give the PAGE argument for a page that the matrix names: files are found beside the matrix."""
    return named if named.startswith(SYNTHETIC) else str(matrix.folder / named)
