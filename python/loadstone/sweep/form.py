"""The form of a matrix: what may stand under each key, written in one way, and what is refused."""

import json
import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from loadstone import experiment
from loadstone.analysis.question import Level
from loadstone.files import InputError

if TYPE_CHECKING:
    from loadstone.sweep.matrix import Matrix

VARIANT = "variant"
"""The factor that the matrix's variants make."""
MOST_CELLS = 1_000_000
MOST_RUNS = 100_000_000
"""More are refused: a slip of the hand makes them, and they would not fit into memory."""

IN_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
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
_NAMES = {path: name for name, path in FIELDS.items()}


def is_field(name: str) -> bool:
    """Say whether a name sets a field of the scenario by itself."""
    return name in FIELDS or name.startswith("variant.")


def nearest(name: object, known: Sequence[str]) -> str:
    """Say what may have been meant."""
    near = get_close_matches(str(name), known, 1)
    return f": did you mean {near[0]}?" if near else f": use {', '.join(known)}"


# --- one way to write it ---


def normal(said: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Write what a matrix says in one way: names with `_`, levels of one kind; refuse what has no form."""
    return {key: _FORMS[key](value, f"{place}: {key}") for key, value in said.items()}


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{place}: this is no whole number: give one")
    return value


def _perhaps(form: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    return lambda value, place: None if value is None else form(value, place)


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{place}: this is no text: give one, in quotes")
    return value


def _truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{place}: this is neither true nor false: give one of them")
    return value


def _factors(value: Any, place: str) -> dict[str, tuple[Level, ...]]:
    return {name: _levels(levels, f"{place}.{name}") for name, levels in _table(value, place).items()}


def _linked(value: Any, place: str) -> tuple[dict[str, tuple[Level, ...]], ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InputError(f"{place}: this is no list of tables: write [[linked]] over each")
    return tuple(_factors(group, place) for group in value)


def _variants(value: Any, place: str) -> dict[str, dict[str, Any]]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f'{place}: these are no tables: write [variants."name"] over each')
    return {name: _settings(settings, f"{place}.{name}") for name, settings in value.items()}


def _settings(value: Any, place: str) -> dict[str, Any]:
    settings = _table(value, place)
    for name, setting in settings.items():
        try:
            json.dumps(setting, allow_nan=False)
        except (TypeError, ValueError):
            raise InputError(f"{place}.{name}: this is no value: give a text or a number") from None
    return settings


def _analysis(value: Any, place: str) -> dict[str, Any]:
    asked = _table(value, place)
    for key in asked:
        if key not in _ASKED:
            raise InputError(f"{place}.{key}: there is no such key{nearest(key, _ASKED)}")
    if isinstance(asked.get("compare"), str):
        asked["compare"] = normal_name(asked["compare"])
    for key in ("around", "high"):
        if key in asked:
            asked[key] = _table(asked[key], f"{place}.{key}")
    return asked


_FORMS: dict[str, Callable[[Any, str], Any]] = {
    "title": _text,
    "runs": _perhaps(_whole),
    "until": _perhaps(_text),
    "seed": _whole,
    "live": _truth,
    "where": _perhaps(_text),
    "factors": _factors,
    "linked": _linked,
    "variants": _variants,
    "common": _settings,
    "analysis": _analysis,
}
KEYS = tuple(_FORMS)
"""What a matrix file may say."""


def normal_name(name: str) -> str:
    """Give the one name of a field or factor: a path that has a name is called by it."""
    return _NAMES.get(name, name) if "." in name else name.replace("-", "_")


def _table(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{place}: this is no table: give one, name = value")
    table: dict[str, Any] = {}
    for said, each in value.items():
        if (name := normal_name(said)) in table:
            raise InputError(f"{place}.{said}: this is said twice: leave one out")
        table[name] = each
    return table


def _levels(levels: Any, place: str) -> tuple[Level, ...]:
    if not isinstance(levels, Sequence) or isinstance(levels, str) or not levels:
        raise InputError(f"{place}: a factor needs a list of levels: write [1, 2, 3]")
    kinds = {bool if isinstance(level, bool) else type(level) for level in levels}
    if not kinds <= set(get_args(Level)):
        raise InputError(f"{place}: a level is a number, a text, true or false: write others as text")
    if len(kinds) > 1 and kinds != {int, float}:
        raise InputError(f"{place}: the levels are of several kinds: write all as numbers or all as text")
    if any(isinstance(level, int) and not -(2**63) <= level < 2**63 for level in levels):
        raise InputError(f"{place}: a level is beyond 64 bits: give it as text")
    if any(isinstance(level, float) and not math.isfinite(level) for level in levels):
        raise InputError(f"{place}: a level is no finite number: leave it out")
    return tuple(float(level) for level in levels) if float in kinds else tuple(levels)


# --- what is refused ---


def check(matrix: "Matrix") -> None:
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


def _check_factors(matrix: "Matrix") -> None:
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


def _check_settings(matrix: "Matrix") -> None:
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


def _check_analysis(matrix: "Matrix") -> None:
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


def _check_runs(matrix: "Matrix", cells: int) -> None:
    place, runs = matrix.place, matrix.most_runs if matrix.runs is None else matrix.runs
    if runs < 1 or runs > 100_000:
        raise InputError(f"{place}: runs: {runs} is out of range: give 1 to 100000")
    if matrix.seed < 0:
        raise InputError(f"{place}: seed: {matrix.seed} is below 0: give 0 or more")
    experiment.check_seeds(matrix.seed, runs, f"{place}: seed")
    if cells * runs > MOST_RUNS:
        raise InputError(f"{place}: {cells * runs:,} runs: give fewer, {MOST_RUNS:,} are the most")
