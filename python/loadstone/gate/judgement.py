"""Whether assertions hold, of each page on each network, and in words why not."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import text
from loadstone.expression import Call, Comparison
from loadstone.files import InputError
from loadstone.gate.assertion import BEST, FIGURES, PLACE, Asked, Assertion, Meaning
from loadstone.gate.comparison_document import Findings, KeptFindings, NetworkFindings
from loadstone.stats import LEAST_PAIRS


@dataclass(frozen=True)
class Given:
    """A figure that was asked for, and found."""

    asked: Asked
    variant: str
    value: float

    @property
    def name(self) -> str:
        """Give the figure with the variant that was meant: `plt(h2 IW 3)`."""
        figure = f"{self.asked.figure}({self.variant})"
        return f"before({figure})" if self.asked.is_before else figure

    @property
    def unit(self) -> str:
        """Give its unit; empty for numbers."""
        return FIGURES[self.asked.figure].unit


@dataclass(frozen=True)
class Case:
    """An assertion about certain variants, of a page on a network."""

    figures: tuple[Given, ...]
    failure: str | None
    """Why it does not hold."""


@dataclass(frozen=True)
class Check:
    """An assertion, of a page on a network."""

    assertion: str
    page: str
    network: str
    cases: tuple[Case, ...]

    @property
    def failures(self) -> list[str]:
        """Say why it does not hold, each reason once; nothing if it does."""
        return list(dict.fromkeys(case.failure for case in self.cases if case.failure is not None))

    @property
    def holds(self) -> bool:
        """Say whether it holds."""
        return not self.failures


def judge(assertions: Sequence[Assertion], now: Findings, earlier: KeptFindings | None) -> list[Check]:
    """Check each assertion for each page on each network, in this order."""
    places = [
        (page, network, _kept(earlier, now, page, network))
        for page, networks in now.pages.items()
        for network in networks.values()
    ]
    return [
        Check(
            assertion.text,
            page,
            network.name,
            tuple(_case(assertion, meaning, network, then) for meaning in assertion.cases),
        )
        for assertion in assertions
        for page, network, then in places
    ]


def _kept(
    earlier: KeptFindings | None, now: Findings, page: str, network: NetworkFindings
) -> NetworkFindings:
    """Give what was found there before; without such findings no assertion asks for it."""
    if earlier is None:
        return network
    return earlier.page(page, len(now.pages))[network.name]


def _case(assertion: Assertion, meaning: Meaning, now: NetworkFindings, then: NetworkFindings) -> Case:
    figures: list[Given] = []
    try:
        for asked in assertion.asked:
            figures.append(_found(asked, meaning, then if asked.is_before else now))
        values = {given.asked.call: given.value for given in figures}
        if assertion.condition.holds(values):
            return Case(tuple(figures), None)
        why = because(assertion.condition.deciding(values))
    except InputError as error:
        why = str(error).removeprefix(f"{PLACE}: ")
    meant = {given.asked.call: given.name for given in figures}
    return Case(tuple(figures), with_names(why, assertion.condition.spellings, meant))


def _found(asked: Asked, meaning: Meaning, network: NetworkFindings) -> Given:
    """Look a figure up; what cannot be relied upon is an error."""
    when = "before, " if asked.is_before else ""
    name = meaning[asked.name]
    if name == BEST:
        if network.fastest is None:
            raise InputError(f"{when}no load of any variant was completed, so there is no best")
        name = network.fastest
    figure, variant = FIGURES[asked.figure], network.variants[name]
    for one in figure.whose(variant, network):
        if one.incomplete:
            loads = f"{one.incomplete} of {text.count(len(one.seeds), 'load')} of {one.name}"
            raise InputError(f"{when}{loads} did not complete, so there is no {asked.figure}({name})")
    value = figure.of(variant, network)
    if value is None:
        raise InputError(
            f"{when}{asked.figure}({name}) needs {LEAST_PAIRS} loads and there are {len(variant.seeds)}: "
            f"give --runs {LEAST_PAIRS} or more"
        )
    return Given(asked, name, value)


# --- why an assertion does not hold ---


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
    of_left, of_right = _distinguishable(left, right)
    by = "" if left == right else f" (by {_distance(left, right)})"
    return f"{_with(one.left, left, of_left)} {sign} {_with(one.right, right, of_right)}{by}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with(piece: str, value: Any, written: str | None = None) -> str:
    """Write a side of a comparison, with its value unless it says it itself."""
    if not _is_number(value) or re.fullmatch(r"[-+0-9._e]+", piece):
        return piece
    return f"{piece} = {written or number(value)}"


def _distinguishable(left: float, right: float) -> tuple[str, str]:
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
