"""Gain tables: the greatest, mean and least gain by chosen factors, with all margins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadstone.analysis import resampling
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level
from loadstone.analysis.resampling import Draws, Ends

Codes: TypeAlias = NDArray[np.int64]

_GROUPS = 256
"""So many rows of a table have their draws in memory at a time."""

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
        found.append(resampling.interval(sums))
    low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
    return low, high


def _figures(conditions: int, *figures: float) -> Figures:
    *known, low, high = figures
    return Figures(conditions, *known, *(None if np.isnan(end) else end for end in (low, high)))
