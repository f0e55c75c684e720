"""Judging: what becomes of a claim by its evidence, as far as chance and assumptions let it be said.

A claim is about figures: each has a value by the evidence and bounds in which the study has it. The claim is
confirmed if all values lie in their bounds and chance would hardly put one elsewhere, contradicted if one
lies outside just as surely. Else more seeds are run, up to the most that the evidence allows. What is still
open then is undecided; so is what turns when something is assumed otherwise.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats as distributions

from loadstone.reproduce import claims
from loadstone.reproduce.claims import Judged, Verdict
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.stats import Until

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Figure:
    """What a claim is about: our value, and the bounds between which it has to lie."""

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf
    digits: int = 2
    unit: str = ""

    def is_within(self, value: float) -> bool:
        """Say whether a value lies between the bounds. They do not, unless there is but one value.

        What is as large but for rounding lies on the bound.
        """
        if self.low == self.high:
            return abs(value - self.low) <= _ROUNDING
        return self.low + _ROUNDING < value < self.high - _ROUNDING

    def written(self, value: float) -> str:
        """Write a value of it."""
        return f"{value:.{self.digits}f}"


def above(name: str, value: float, bound: float, digits: int = 2, unit: str = "") -> Figure:
    """Give a figure that has to be more."""
    return Figure(name, value, bound, math.inf, digits, unit)


def below(name: str, value: float, bound: float, digits: int = 2, unit: str = "") -> Figure:
    """Give a figure that has to be less."""
    return Figure(name, value, -math.inf, bound, digits, unit)


Test = Callable[[pl.DataFrame], Sequence[Figure]]
"""Makes of loads the figures that a claim is about: always the same ones, in one order."""


@dataclass(frozen=True)
class _Found:
    """What the loads of some seeds say."""

    figures: Sequence[Figure]
    ranges: Sequence[tuple[float, float]]
    """Of each figure, between what chance has it."""
    turns: float
    """The share of draws in which it is otherwise than it came out."""
    seeds: int
    has_chance: bool

    @property
    def holds(self) -> bool:
        """Say whether it came out."""
        return _hold(self.figures)

    @property
    def is_decided(self) -> bool:
        """Say whether chance would hardly turn it."""
        pairs = list(zip(self.figures, self.ranges, strict=True))
        if self.holds:
            return all(one.is_within(low) and one.is_within(high) for one, (low, high) in pairs)
        return any(high <= one.low + _ROUNDING or low >= one.high - _ROUNDING for one, (low, high) in pairs)

    @property
    def words(self) -> str:
        """Say what came out."""
        return ", ".join(_words(*pair) for pair in zip(self.figures, self.ranges, strict=True))


def _hold(figures: Sequence[Figure]) -> bool:
    return all(one.is_within(one.value) for one in figures)


def _words(figure: Figure, range_: tuple[float, float]) -> str:
    value, low, high = map(figure.written, (figure.value, *range_))
    by_chance = f" ({low} to {high})" if low != high else ""
    return f"{figure.name} {value}{by_chance} {figure.unit}".strip()


class Judge:
    """Judges the claims of a study, each once."""

    def __init__(self, folder: Path, *, most: int | None = None) -> None:
        """Read the claims of the study in this folder; run `most` seeds for each, if its evidence allows."""
        self._claims = claims.read(folder)
        self._judged: dict[str, Judged] = {}
        self._most = most

    def bounds(self, id: str) -> tuple[float, float]:
        """Give the bounds that the study's list gives a number."""
        return self._claims[id].bounds

    def set_up(self, id: str, ours: str) -> None:
        """Say that the laboratory is made here as it was there; nothing is tested by it."""
        if self._claims[id].kind != "setup":
            raise ValueError(f"{id}: the list does not say that it is a set-up")
        self._add(Judged(self._claims[id], Verdict.SET_UP, ours))

    def not_testable(self, id: str, why: str, ours: str = "-") -> None:
        """Say why something cannot be tested."""
        self._add(Judged(self._claims[id], Verdict.NOT_TESTABLE, ours, why))

    def undecided(self, id: str, why: str, ours: str = "-") -> None:
        """Say what has to be there before it can be decided."""
        self._add(Judged(self._claims[id], Verdict.UNDECIDED, ours, why))

    def number(
        self,
        id: str,
        evidence: Evidence,
        figure: Callable[[pl.DataFrame], float],
        why: str = "",
        *,
        digits: int = 2,
        until: str = "",
    ) -> None:
        """Judge a number by the bounds that the study's list gives it."""
        claim = self._claims[id]
        low, high = claim.bounds

        def test(loads: pl.DataFrame) -> Sequence[Figure]:
            return [Figure("", figure(loads), low, high, digits, claim.unit)]

        self.finding(id, evidence, test, why, until=until)

    def finding(self, id: str, evidence: Evidence, test: Test, why: str = "", *, until: str = "") -> None:
        """Judge what has to hold of several figures, all of which have to lie in their bounds.

        `until` says what has to be there before it can be decided, whatever comes out without it.
        """
        claim = self._claims[id]
        first = min(evidence.seeds, self._most or evidence.seeds)
        found = _found(evidence, test, first, 1) if until else self._as_far_as_it_takes(evidence, test)
        verdict, because = (Verdict.UNDECIDED, until) if until else _verdict(evidence, test, found)
        loads = evidence.loads(found.seeds)
        altered = {name: _hold(test(other)) for name, other in evidence.altered(loads)}
        whole = "; ".join(part for part in (because, why) if part)
        value = found.figures[0].value if claim.kind == "number" else None
        self._add(Judged(claim, verdict, found.words, whole, altered, found.holds, value))

    def judged(self) -> list[Judged]:
        """Give all claims with their verdicts, in the study's order; one without is a mistake here."""
        if missing := [id for id in self._claims if id not in self._judged]:
            raise ValueError(f"claims without a verdict: {', '.join(missing)}")
        return [self._judged[id] for id in self._claims]

    def _add(self, judged: Judged) -> None:
        if judged.claim.id in self._judged:
            raise ValueError(f"{judged.claim.id} is judged twice")
        self._judged[judged.claim.id] = judged

    def _as_far_as_it_takes(self, evidence: Evidence, test: Test) -> _Found:
        most = min(evidence.most, self._most or evidence.most)
        seeds, look = min(evidence.seeds, most), 1
        while True:
            found = _found(evidence, test, seeds, look)
            if found.is_decided or not found.has_chance or 2 * seeds > most:
                return found
            seeds, look = 2 * seeds, look + 1


def _found(evidence: Evidence, test: Test, seeds: int, look: int) -> _Found:
    """Say what so many seeds say, where one has looked before with fewer."""
    loads = evidence.loads(seeds)
    figures = test(loads)
    values = np.array([one.value for one in figures])
    drawn = np.array([[one.value for one in test(draw)] for draw in evidence.draws(loads)])
    if not len(drawn):
        return _Found(figures, [*zip(values, values, strict=True)], 0.0, seeds, has_chance=False)
    # Few seeds scatter less among their own draws than such seeds do; draws of ratios and extremes lie to one
    # side of what they are draws of.
    seen = loads["seed"].n_unique()
    scatter = math.sqrt(seen / (seen - 1)) * (drawn - drawn.mean(axis=0))
    # Who looks again and again errs more often, and so does who looks at several figures.
    tail = (1 - Until.confidence(look)) / 2 / len(figures)
    width = float(distributions.t.ppf(1 - tail, seen - 1)) * scatter.std(axis=0)
    holds = _hold(figures)
    others = [
        all(one.is_within(value) for one, value in zip(figures, draw, strict=True)) != holds
        for draw in values + scatter
    ]
    ranges = [*zip(values - width, values + width, strict=True)]
    return _Found(figures, ranges, float(np.mean(others)), seeds, has_chance=True)


def _verdict(evidence: Evidence, test: Test, found: _Found) -> tuple[Verdict, str]:
    """Give the verdict, and what makes it undecided."""
    if not found.is_decided:
        how_often = f"{100 * found.turns:.0f} %" if found.turns > _SELDOM else "less than 1 %"
        return Verdict.UNDECIDED, f"chance turns it in {how_often} of draws, with {found.seeds} seeds"
    if turning := [*_turning(evidence, test, found.holds)]:
        tried = len(evidence.assumptions)
        named = ", ".join(turning[:_NAMED]) + (", ..." if len(turning) > _NAMED else "")
        return Verdict.UNDECIDED, f"turns with {len(turning)} of {tried} assumptions: {named}"
    return Verdict.CONFIRMED if found.holds else Verdict.CONTRADICTED, ""


_SELDOM = 0.01
_NAMED = 3
"""How many assumptions that turn a verdict are named."""


def _turning(evidence: Evidence, test: Test, holds: bool) -> Iterator[str]:
    for assumption in evidence.assumptions:
        assert assumption != AS_STATED
        if _hold(test(evidence.loads(evidence.seeds, assumption))) != holds:
            yield assumption
