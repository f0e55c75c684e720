"""The form of a matrix: what may stand under each key, written in one way."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from loadstone.analysis.question import Level
from loadstone.files import InputError
from loadstone.settings import OF_SCENARIOS

VARIANT = "variant"
"""The factor that the matrix's variants make."""
IN_BRACES = re.compile(r"\{([^{}]*)\}")
_ASKED = ("compare", "baseline", "around", "high")


FIELDS = {
    "page": "page",
    **{name: setting.field for name, setting in OF_SCENARIOS.items() if name != "seed"},
}
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
