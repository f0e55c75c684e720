"""Conditions as a tree learns them: where they are, and which level is better there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from loadstone.analysis import features
from loadstone.analysis.features import Factor, Feature
from loadstone.analysis.levels import named, spelled
from loadstone.analysis.question import Level, Question
from loadstone.files import InputError

EQUAL = "equal"

Only = Mapping[str, Level | Sequence[Level]]
"""The levels of some factors, to which conditions are restricted."""


@dataclass(frozen=True)
class Bars:
    """When a level counts as better, and a leaf as decided; the defaults are those of the NSDI study."""

    faster: float = 0.9
    """The challenger is better if it takes less than this share of the baseline's time."""
    slower: float = 1.1
    """The baseline is better if the challenger takes more than this multiple of its time."""
    likelihood: float = 0.75
    """A leaf is marked by its commonest label if that has more than this share of it, otherwise equal."""

    def __post_init__(self) -> None:
        if not 0 < self.faster <= 1 <= self.slower:
            bars = f"{self.faster:g} and {self.slower:g}"
            raise InputError(f"bars: {bars} are not below and above 1: give for instance 0.9 and 1.1")
        if not 0 <= self.likelihood < 1:
            raise InputError(f"likelihood: {self.likelihood:g} is no share below 1: give for instance 0.75")


@dataclass(frozen=True)
class Sample:
    """Labelled conditions."""

    factors: list[Factor]
    features: list[Feature]
    classes: list[str]
    """What a label says: a challenger or the baseline is better, or, last, that they are equal."""
    places: list[tuple[int, ...]]
    """The step of each factor, by condition."""
    matrix: Any
    """The features, a row per condition."""
    labels: Any
    """The class of each condition, as its place in `classes`."""
    gains: Any
    """The gain of each challenger, a row per condition."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def counts(self) -> list[int]:
        """Say how many conditions have each label."""
        counts: list[int] = np.bincount(self.labels, minlength=len(self.classes)).tolist()
        return counts


def restricted(gains: pl.DataFrame, question: Question, only: Only) -> pl.DataFrame:
    """Keep the conditions at the levels of `only`."""
    for name, wanted in only.items():
        if name not in question.others:
            raise InputError(f"{name}: is no factor of a condition: give one of {', '.join(question.others)}")
        levels = [wanted] if isinstance(wanted, str | int | float) else list(wanted)
        known = {spelled(level) for level in question.factors[name]}
        if missing := [spelled(level) for level in levels if spelled(level) not in known]:
            raise InputError(f"{name}: has no level {missing[0]}: give one of {', '.join(sorted(known))}")
        gains = features.rows_at(gains, name, levels)
    return gains


def sample(gains: pl.DataFrame, question: Question, challengers: Sequence[Level], bars: Bars) -> Sample:
    """Label the conditions in which all these challengers were held against the baseline."""
    wide = _wide(gains, question, challengers)
    ratios, gained = (
        wide.select(_column(what, at) for at in range(len(challengers))).to_numpy()
        for what in ("ratio", "gain")
    )
    read = features.factors(wide, question)
    columns = features.features(read)
    places = features.places(wide, read)
    matrix = np.array(
        [[column.value(at[read.index(column.factor)]) for column in columns] for at in places],
        dtype=np.float32,
    ).reshape(len(places), len(columns))
    return Sample(
        factors=read,
        features=columns,
        classes=[*(named(question.compared, level) for level in (*challengers, question.baseline)), EQUAL],
        places=places,
        matrix=matrix,
        labels=np.array([_label(row, bars) for row in ratios], dtype=np.int64),
        gains=gained,
    )


def _column(what: str, at: int) -> str:
    return f"{what} of challenger {at}"


def _wide(gains: pl.DataFrame, question: Question, challengers: Sequence[Level]) -> pl.DataFrame:
    """Put the gains of the challengers beside each other; the order of the conditions stays."""
    others = [name for name in question.others if name in gains.columns]
    parts = [
        features.rows_at(gains, question.compared, [level])
        .filter(pl.col("gain").is_finite() & (pl.col("gain") > 0))
        .select(
            *others,
            (pl.col("variant_ms") / pl.col("baseline_ms")).alias(_column("ratio", at)),
            pl.col("gain").alias(_column("gain", at)),
        )
        for at, level in enumerate(challengers)
    ]
    if not others:
        return pl.concat(parts, how="horizontal").drop_nulls()
    return reduce(
        lambda left, right: left.join(right, on=others, how="inner", nulls_equal=True, maintain_order="left"),
        parts,
    )


def _label(ratios: Any, bars: Bars) -> int:
    """Say which is better by the challengers' times over the baseline's.

    It is a challenger if one is faster by the bar: of those within that bar of the fastest the first in the
    matrix's order, so that a hair's breadth decides nothing. It is the baseline if all are slower by the bar.
    """
    count = len(ratios)
    best = ratios.min()
    if best < bars.faster:
        return next(
            at for at in range(count) if ratios[at] < bars.faster and ratios[at] * bars.faster <= best
        )
    return count if best > bars.slower else count + 1
