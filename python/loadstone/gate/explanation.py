"""Why an assertion does not hold, in words: which figure is on the wrong side of which, and by how much."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.expression import Call, Comparison

_OPPOSITE = {
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
}


def because(decided: Sequence[Comparison]) -> str:
    """Say which comparisons decided against it, as they came out, with both figures."""
    return " and ".join(map(_relation, decided)) or "it is false"


def _relation(one: Comparison) -> str:
    # Behind a 'not' it is a comparison that holds.
    sign = one.sign if one.holds else _OPPOSITE[one.sign]
    left, right = one.left_value, one.right_value
    if not (_is_number(left) and _is_number(right)):
        return f"{_with(one.left, left)} {sign} {one.right}"
    of_left, of_right = _apart(left, right)
    by = "" if left == right else f" (by {_distance(left, right)})"
    return f"{_with(one.left, left, of_left)} {sign} {_with(one.right, right, of_right)}{by}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with(piece: str, value: Any, written: str | None = None) -> str:
    """Write a side of a comparison, with its value unless it says it itself."""
    if not _is_number(value) or re.fullmatch(r"[-+0-9._e]+", piece):
        return piece
    return f"{piece} = {written or number(value)}"


def _apart(left: float, right: float) -> tuple[str, str]:
    """Write two numbers with as many places as tell them apart."""
    for places in (None, 3, 6):
        one, other = number(left, places), number(right, places)
        if one != other or left == right:
            return one, other
    return repr(left), repr(right)


def number(value: float, places: int | None = None) -> str:
    """Write a number, the larger it is the fewer places."""
    if value == int(value):
        return f"{value:,.0f}"
    if places is None:
        places = 1 if abs(value) >= 100 else 3
    return f"{value:,.{places}f}".rstrip("0").rstrip(".")


def _distance(left: float, right: float) -> str:
    difference = abs(left - right)
    written = f"{difference:,.0f}" if difference >= 100 else f"{difference:.3g}"
    if not right:
        return written
    share = abs(100 * difference / right)
    return f"{written}, {f'{share:,.0f}' if share >= 10 else f'{share:.2g}'} %"


def with_names(said: str, spellings: Mapping[str, Call], meant: Mapping[Call, str]) -> str:
    """Write each figure with the variant that was meant, however the assertion spells it."""
    names = {spelled: meant[call] for spelled, call in spellings.items() if call in meant}
    if not names:
        return said
    # The longest first: `before(plt(h2))` is not a `plt(h2)` of now.
    figures = "|".join(re.escape(spelled) for spelled in sorted(names, key=len, reverse=True))
    return re.sub(figures, lambda found: names[found[0]], said)
