"""What is read from gains: tables by factors, the summary, what a gain depends on, and where time went."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from loadstone.account import PARTS, Account
from loadstone.analysis import gains
from loadstone.analysis.gains import (
    ALIKE,
    EQUAL,
    FASTER,
    SLOWER,
    UNDECIDED,
    Draws,
    Ends,
    Gains,
    paired,
    verdicts,
)
from loadstone.analysis.question import Level

Codes: TypeAlias = NDArray[np.int64]

_GROUPS = 256
"""This many rows of a table have their draws in memory at a time."""

ALL = "all"
"""How a margin is written: over all levels of the factor."""


@dataclass(frozen=True)
class Figures:
    """What the gains of some conditions have in common."""

    conditions: int
    max: float
    mean: float
    min: float
    geometric_mean: float
    low: float | None
    high: float | None
    """The interval of the geometric mean: of the chance in the loads, not of the choice of conditions. None
    where chance has no part, or where a condition has too few pairs."""


@dataclass(frozen=True)
class Row:
    """A line of a gain table."""

    levels: tuple[Level | None, ...]
    """A level for each of the table's factors; of a margin `None`."""
    figures: Figures


@dataclass(frozen=True)
class Cube:
    """The gains of one challenger by some factors: every combination that there is, and every margin."""

    challenger: Level
    by: tuple[str, ...]
    rows: tuple[Row, ...]
    """In the order of the matrix, each factor's margin behind its levels."""

    def at(self, *levels: Level | None) -> Figures | None:
        """Give the figures of a combination; `None` where it was not run."""
        return self._figures.get(levels)

    @cached_property
    def _figures(self) -> dict[tuple[Level | None, ...], Figures]:
        return {row.levels: row.figures for row in self.rows}

    def levels(self, factor: str) -> list[Level | None]:
        """Give the levels of a factor that are in the table, its margin last."""
        place = self.by.index(factor)
        return list(dict.fromkeys(row.levels[place] for row in self.rows))


def cube(gains: Gains, by: Sequence[str]) -> Cube:
    """Table the gains of one challenger by these factors."""
    levels = [levels_of(gains, name) for name in by]
    codes = (
        np.stack([codes_of(gains, name) for name in by], axis=1) if by else np.zeros((len(gains.frame), 0))
    )
    found: dict[tuple[int, ...], Figures] = {}
    for kept in product((True, False), repeat=len(by)):
        margins = np.array([len(each) for each in levels], np.int64)
        found |= _grouped(gains, np.where(kept, codes, margins))
    rows = [
        Row(tuple((*own, None)[at] for own, at in zip(levels, key, strict=True)), found[key])
        for key in sorted(found)
    ]
    challenger = gains.frame[gains.question.compared][0]
    return Cube(challenger, tuple(by), tuple(rows))


def overall(gains: Gains) -> Figures:
    """Give the figures of all conditions together."""
    return cube(gains, ()).rows[0].figures


def levels_of(gains: Gains, factor: str) -> list[Level]:
    """Give the levels of a factor in the order of the matrix."""
    here = gains.frame[factor].unique(maintain_order=True).to_list()
    known = [level for level in gains.question.factors[factor] if level in here]
    return known + [level for level in here if level not in known]


def codes_of(gains: Gains, factor: str) -> Codes:
    """Give for each gain the place of its level in `levels_of`."""
    place = {level: at for at, level in enumerate(levels_of(gains, factor))}
    return np.array([place[level] for level in gains.frame[factor].to_list()], np.int64)


def _grouped(gains: Gains, codes: Codes) -> dict[tuple[int, ...], Figures]:
    """Give the figures of each group of gains that has the same codes."""
    order = np.lexsort(codes.T[::-1]) if codes.size else np.arange(len(codes))
    ranked = codes[order]
    is_first = np.ones(len(ranked), bool)
    is_first[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    begins = np.flatnonzero(is_first)
    counts = np.diff([*begins, len(ranked)])
    values = gains.frame["gain"].to_numpy()[order]
    geometric = np.exp(np.add.reduceat(np.log(values), begins) / counts)
    low, high = _intervals(gains.draws, order, begins)
    has_chance = np.maximum.reduceat(gains.frame["is_random"].to_numpy()[order], begins)
    columns: list[NDArray[Any]] = [
        counts,
        np.maximum.reduceat(values, begins),
        np.add.reduceat(values, begins) / counts,
        np.minimum.reduceat(values, begins),
        geometric,
        # What was found is not outside of what may be.
        np.where(has_chance, np.minimum(low, geometric), np.nan),
        np.where(has_chance, np.maximum(high, geometric), np.nan),
    ]
    lines = zip(*(column.tolist() for column in columns), strict=True)
    keys = [tuple(key) for key in ranked[begins].tolist()]
    return {key: _figures(*line) for key, line in zip(keys, lines, strict=True)}


def _intervals(draws: Draws, order: Codes, begins: Codes) -> tuple[Ends, Ends]:
    """Give the intervals of the geometric means of groups, which begin at these places of the order."""
    found = []
    for first in range(0, len(begins), _GROUPS):
        starts = begins[first : first + _GROUPS]
        end = begins[first + _GROUPS] if first + _GROUPS < len(begins) else len(order)
        sums = np.zeros((len(starts), draws.shape[1]))
        for at, (start, stop) in enumerate(zip(starts, [*starts[1:], end], strict=True)):
            draws[order[start:stop]].sum(axis=0, dtype=np.float64, out=sums[at])
            sums[at] /= stop - start
        found.append(gains.interval(sums))
    low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
    return low, high


def _figures(conditions: int, *figures: float) -> Figures:
    *known, low, high = figures
    return Figures(conditions, *known, *(None if np.isnan(end) else end for end in (low, high)))


# --- summary: best, mean and worst gain of each challenger ---


@dataclass(frozen=True)
class Case:
    """The gain of one condition."""

    condition: dict[str, Level]
    gain: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Summary:
    """What came out for one challenger over all conditions."""

    challenger: Level
    best: Case
    worst: Case
    overall: Figures
    at_least_1: int
    at_least_2: int
    """In how many conditions the gain is so."""
    faster: int
    """In how many it is clearly faster: its interval lies above 1, or without chance the gain does."""
    slower: int
    alike: int
    """In how many the gain is known and nearer to 1 than the least effect of interest."""
    equal: int
    """In how many the load takes exactly as long, whatever chance does."""
    undecided: int
    """In how many chance alone may explain the difference, or there are too few pairs to tell."""
    too_few: int
    """How many conditions have a gain that is left out, because too few loads of a side were completed."""
    less_often: int
    more_often: int
    """In how many of all, those that are left out too, it completed less, or more, of its loads than the
    baseline of its own."""


def summary(gains: Gains) -> Summary:
    """Sum up the gains of one challenger."""
    frame, gain = gains.frame, pl.col("gain")
    counts = frame.select(at_least_1=(gain >= 1).sum(), at_least_2=(gain >= 2).sum()).row(0, named=True)
    of = Counter(verdicts(frame))
    own, base = (pl.col(f"{side}_completed") / pl.col(f"{side}_runs") for side in ("variant", "baseline"))
    loads = gains.measured.select(less_often=(own < base).sum(), more_often=(own > base).sum())
    return Summary(
        challenger=frame[gains.question.compared][0],
        best=_case(gains, frame["gain"].arg_max()),
        worst=_case(gains, frame["gain"].arg_min()),
        overall=overall(gains),
        **counts,
        faster=of[FASTER],
        slower=of[SLOWER],
        alike=of[ALIKE],
        equal=of[EQUAL],
        undecided=of[UNDECIDED],
        too_few=len(gains.measured) - len(frame),
        **loads.row(0, named=True),
    )


def _case(gains: Gains, place: int | None) -> Case:
    row = gains.frame.row(place or 0, named=True)
    condition = {name: row[name] for name in gains.question.others}
    return Case(condition, row["gain"], row["low"], row["high"])


# --- what the gain depends on ---


@dataclass(frozen=True)
class Influence:
    """How much one factor has to do with the gain of one challenger."""

    factor: str
    explained: float
    """The share of the variance of ln(gain) over conditions that its levels' means explain: eta squared of
    one factor alone. Shares of several need not add up to 1: what is left over are combinations of factors
    and chance; in a filtered matrix factors go together, and each gets what they share."""
    by_luck: float
    """What a factor with as many levels explains on average if it has nothing to do with the gain."""
    lowest: tuple[Level, float]
    """The level with the least geometric mean of the gain, and that mean."""
    highest: tuple[Level, float]


def ranking(gains: Gains) -> list[Influence]:
    """Rank the factors by what each explains of one challenger's gains; one level explains nothing."""
    logs = np.log(gains.frame["gain"].to_numpy())
    if not _varies(logs):
        return []
    found = []
    for factor in gains.question.others:
        levels = levels_of(gains, factor)
        if len(levels) < 2:
            continue
        codes = codes_of(gains, factor)
        means = np.bincount(codes, logs) / np.bincount(codes)
        ends = [(levels[at], math.exp(means[at])) for at in (int(means.argmin()), int(means.argmax()))]
        by_luck = (len(levels) - 1) / (len(logs) - 1)
        found.append(Influence(factor, explained_variance(logs, codes), by_luck, ends[0], ends[1]))
    return sorted(found, key=lambda influence: -influence.explained)


def explained_variance(logs: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Give the share of the variance of `logs` that means of groups explain; `codes` numbers the groups."""
    if not _varies(logs):
        return 0.0
    counts = np.bincount(codes)
    means = np.bincount(codes, logs) / np.maximum(counts, 1)
    between = float((counts * (means - logs.mean()) ** 2).sum())
    return min(1.0, between / float(((logs - logs.mean()) ** 2).sum()))


def _varies(logs: NDArray[np.float64]) -> bool:
    # Logarithms of equal gains differ in their last digits only.
    return float(((logs - logs.mean()) ** 2).sum()) > 1e-20 * len(logs)


# --- accounts: where the time of both sides went ---


@dataclass(frozen=True)
class Accounts:
    """Where the time of both sides went, in ms: means over conditions, each the mean over its shared seeds.

    Means, because they add up: the parts to the page load time, and differences of parts to its difference.
    """

    challenger: Level
    conditions: int
    baseline: Account
    variant: Account

    @property
    def saved(self) -> Account:
        """Say what the challenger spends less; of what it spends more, below 0."""
        return {part: self.baseline[part] - self.variant[part] for part in PARTS}


def accounts(runs: pl.DataFrame, gains: Gains) -> list[Accounts]:
    """Give the accounts of each challenger and of the baseline, over the conditions whose gains count."""
    question = gains.question
    columns = [f"{part}_ms" for part in PARTS]
    sides = [[f"{side}_{column}" for column in columns] for side in ("baseline", "variant")]
    pairs = paired(runs, question, *columns).drop_nulls([name for side in sides for name in side])
    condition = [question.compared, *question.others]
    pairs = pairs.join(gains.frame, on=condition, how="semi", nulls_equal=True, maintain_order="left")
    pairs = pairs.with_columns(_pairs=pl.len().over(condition))
    found = []
    for challenger in question.challengers:
        own = pairs.filter(pl.col(question.compared) == challenger)
        if len(own):
            weights = (1 / own["_pairs"]).to_list()
            conditions = round(math.fsum(weights))
            means = [[_mean(own[name].to_list(), weights) for name in side] for side in sides]
            each = [dict(zip(PARTS, side, strict=True)) for side in means]
            found.append(Accounts(challenger, conditions, *each))
    return found


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Give the weighted mean, summed so that neither order nor threads change a digit."""
    products = (value * weight for value, weight in zip(values, weights, strict=True))
    return math.fsum(products) / math.fsum(weights)
