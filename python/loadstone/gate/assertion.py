"""Assertions: conditions about figures of variants, and which variants their names stand for."""

import difflib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadstone.expression import Call, Condition
from loadstone.files import InputError
from loadstone.gate.comparison_document import COUNTS, NetworkFindings, VariantFindings
from loadstone.text import shorten

BEFORE = "before"
"""The function that asks for a figure of the comparison that was kept."""

_PERCENTILES = (10, 25, 75, 90, 95, 99)


@dataclass(frozen=True)
class Figure:
    """A figure of a variant on a network."""

    unit: str
    of: Callable[[VariantFindings, NetworkFindings], float | None]
    """`None` where there is none, though all loads were completed."""
    whose: Callable[[VariantFindings, NetworkFindings], Sequence[VariantFindings]] = lambda own, _: [own]
    """Whose loads have a part in it."""


def _median(field: str) -> Callable[[VariantFindings, NetworkFindings], float]:
    return lambda variant, _: statistics.median(load[field] for load in variant.loads)


def _mean(variant: VariantFindings, _: NetworkFindings) -> float:
    return statistics.fmean(load["plt_ms"] for load in variant.loads)


def _percentile(percent: int) -> Callable[[VariantFindings, NetworkFindings], float]:
    def of(variant: VariantFindings, _: NetworkFindings) -> float:
        times = [load["plt_ms"] for load in variant.loads]
        if len(times) == 1:
            return times[0]
        return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]

    return of


def _gain(bound: str) -> Callable[[VariantFindings, NetworkFindings], float | None]:
    def of(variant: VariantFindings, network: NetworkFindings) -> float | None:
        if variant.name == network.baseline:
            return 1.0
        # Where chance has no part the gain is exact.
        bounds = {"low": variant.gain_low, "high": variant.gain_high} if network.is_random else {}
        return bounds.get(bound, variant.gain)

    return of


def _with_baseline(variant: VariantFindings, network: NetworkFindings) -> Sequence[VariantFindings]:
    baseline = network.variants[network.baseline]
    return [variant] if variant is baseline else [baseline, variant]


FIGURES: dict[str, Figure] = {
    "plt": Figure("ms", _median("plt_ms")),
    "mean": Figure("ms", _mean),
    **{f"p{percent}": Figure("ms", _percentile(percent)) for percent in _PERCENTILES},
    "gain": Figure("", _gain("ratio"), _with_baseline),
    "gain_low": Figure("", _gain("low"), _with_baseline),
    "gain_high": Figure("", _gain("high"), _with_baseline),
    **{field: Figure("", _median(field)) for field in COUNTS},
}
"""What can be asked of a variant, by the name of the function."""

FUNCTIONS = (*FIGURES, BEFORE)
"""The functions of assertions."""


# --- assertions ---


PLACE = "--assert"
_SHOWN = 60
"""The most characters that an error shows of a name."""

BASELINE = "baseline"
BEST = "best"

Meaning = dict[str, str]
"""The variant that each name of an assertion stands for; `best` stands for itself."""


@dataclass(frozen=True)
class Asked:
    """One figure that an assertion asks for."""

    call: Call
    figure: str
    name: str
    """The variant as it is called there."""
    is_before: bool

    @classmethod
    def of(cls, call: Call) -> "Asked":
        """Take a call apart."""
        inner = call.argument if call.function == BEFORE else call
        if isinstance(inner, str) or inner.function == BEFORE or isinstance(inner.argument, Call):
            raise _refusal(str(call), f"is no figure: write it like plt({BEST}) or before(plt({BEST}))")
        return cls(call, inner.function, inner.argument, inner is not call)


@dataclass(frozen=True)
class Assertion:
    """What has to hold for each page on each network, in each of its cases."""

    condition: Condition
    asked: tuple[Asked, ...]
    cases: tuple[Meaning, ...]
    """What its names stand for: several variants where names stand for several."""

    @classmethod
    def read(cls, text: str, variants: Sequence[str]) -> "Assertion":
        """Read an assertion about these variants, of which the first is the baseline."""
        condition = Condition(text, PLACE, functions=FUNCTIONS)
        if not condition.calls:
            raise _refusal(text, f"asks for no figure: write one, as in plt({BEST})")
        asked = tuple(Asked.of(call) for call in condition.calls)
        names = dict.fromkeys(one.name for one in asked)
        return cls(condition, asked, tuple(_cases({name: _matches(name, variants) for name in names})))

    @property
    def text(self) -> str:
        """Give it as it was written."""
        return self.condition.text

    @property
    def asks_before(self) -> bool:
        """Say whether it speaks of a comparison that was kept."""
        return any(one.is_before for one in self.asked)


def _matches(name: str, variants: Sequence[str]) -> dict[str, str]:
    """Give the variants that a name stands for, by what is left of their names."""
    if name in variants:
        return {"": name}
    if name == BASELINE:
        return {"": variants[0]}
    if name == BEST:
        return {"": BEST}
    begun = {variant[len(name) + 1 :]: variant for variant in variants if variant.startswith(f"{name} ")}
    if not begun:
        known = [*variants, BASELINE, BEST, *_beginnings(variants)]
        close = difflib.get_close_matches(name[:_SHOWN], known, 1)
        named = f"take one of {', '.join(known[: len(variants) + 2])}"
        remedy = f"did you mean '{close[0]}'?" if close else named
        raise _refusal(name, f"is no variant: {remedy}")
    return begun if len(begun) > 1 else {"": next(iter(begun.values()))}


def _beginnings(variants: Sequence[str]) -> list[str]:
    words = [variant.split(" ") for variant in variants]
    return list(dict.fromkeys(" ".join(some[:count]) for some in words for count in range(1, len(some))))


def _cases(matches: dict[str, dict[str, str]]) -> list[Meaning]:
    """Go through the variants of names that stand for several, together by what is left of their names.

    Names that do not go together are refused: which of them was meant for which can only be guessed.
    """
    several = {name: found for name, found in matches.items() if len(found) > 1}
    if not several:
        return [{name: found[""] for name, found in matches.items()}]
    first, *others = several
    for other in others:
        if set(several[other]) != set(several[first]):
            left, right = (", ".join(several[name].values()) for name in (first, other))
            why = f"stands for {left} and '{other}' for {right}, which do not go together"
            raise _refusal(first, f"{why}: name one variant each")
    return [
        {name: found[rest if name in several else ""] for name, found in matches.items()}
        for rest in several[first]
    ]


def _refusal(piece: str, why: str) -> InputError:
    return InputError(f"{PLACE}: '{shorten(piece, _SHOWN)}' {why}")
