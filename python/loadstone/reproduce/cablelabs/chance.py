"""Whether chance might turn a verdict: judged is only what is larger than that.

A `Sample` is a figure with what the seeds might have made of it: first what came out, then what came of each
draw of the bootstrap. One seed has the same weight in all conditions of a draw (`analysis.gains`), so
differences, products and counts of samples are made element by element and keep what they share.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from loadstone import stats
from loadstone.analysis.gains import Gains
from loadstone.reproduce.claims import Claims

Sample: TypeAlias = NDArray[np.float64]

EVERYWHERE = pl.lit(value=True)
_PLACE = "_place"
_NONE = 1e-9
"""An interval is as wide through rounding where nothing is left to chance."""


def mean(own: Gains, where: pl.Expr = EVERYWHERE) -> Sample:
    """Give the mean gain of the conditions that are meant."""
    return _of(own, where, lambda gains: gains.mean(axis=0))


def least(own: Gains, where: pl.Expr = EVERYWHERE) -> Sample:
    """Give the least gain of the conditions that are meant."""
    return _of(own, where, lambda gains: gains.min(axis=0))


def at_least_1(own: Gains) -> Sample:
    """Give in how many conditions the gain is 1 or more."""
    return _of(own, EVERYWHERE, lambda gains: (gains >= 1).sum(axis=0).astype(np.float64))


def known(value: float) -> Sample:
    """Give a figure in which chance has no part."""
    return np.array([value])


def _of(own: Gains, where: pl.Expr, what: Callable[[Sample], Sample]) -> Sample:
    """Make a figure of gains, of those that came out and of each draw of them.

    Chance makes ratios too large on average, those that came out and, once more, their draws. So of the
    draws it is taken how widely they spread, and not where.
    """
    frame = own.frame.with_row_index(_PLACE).filter(where)
    came = frame["gain"].to_numpy()[:, None]
    drawn = np.exp(own.draws[frame[_PLACE].to_numpy()].astype(np.float64))
    drawn = np.where(frame["is_random"].to_numpy()[:, None], drawn, came)
    value, draws = what(came), what(drawn)
    return np.concatenate([value, draws + (value - draws.mean())])


def number(claims: Claims, id: str, sample: Sample, why: str = "", *, digits: int = 2) -> None:
    """Judge a number by its relation, unless chance might turn the verdict."""
    ours, spread = float(sample[0]), _spread(sample, 1, digits)
    if holds([np.array([claims.holds(id, float(each)) for each in sample])]) is None:
        open_why = f"chance might turn the verdict: {spread}"
        claims.not_testable(id, _joined(open_why, why), claims.in_unit(id, ours, digits))
    else:
        claims.number(id, ours, _joined(why, spread), digits=digits)


def finding(claims: Claims, id: str, margins: Mapping[str, Sample], ours: str, why: str = "") -> None:
    """Judge a claim that holds if every margin is above 0, unless chance might turn the verdict.

    Margins are named by what they are of.
    """
    spreads = {name: _spread(margin, len(margins)) for name, margin in margins.items()}
    said = "; ".join(f"{name} {margins[name][0]:+.2f} ({each})" for name, each in spreads.items() if each)
    does = holds([margin > 0 for margin in margins.values()])
    if does is None:
        claims.not_testable(id, _joined(f"within chance: {said}", why), ours)
    else:
        claims.finding(id, does, ours, _joined(why, said))


def holds(parts: Sequence[NDArray[np.bool_]]) -> bool | None:
    """Say whether a claim holds, by the draws in which each of its parts does.

    `None` if chance might turn it. It holds if each part clearly does, and does not if one clearly does not.
    """
    tail = _tail(len(parts))
    least = min(float(part.mean()) for part in parts)
    if least >= 1 - tail:
        return True
    return False if least <= tail else None


def _tail(parts: int) -> float:
    """Give the share of draws beyond either end: the more parts, the likelier one is there by chance."""
    return (1 - stats.CONFIDENCE) / 2 / parts


def _spread(sample: Sample, parts: int, digits: int = 2) -> str:
    """Write between what ends it lies by chance, if chance has a part in it."""
    tail = _tail(parts)
    low, high = np.quantile(sample, [tail, 1 - tail])
    return f"{low:.{digits}f} to {high:.{digits}f} by chance" if high - low > _NONE else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
