"""Bootstrap of many gains at once: what chance alone might have made of each.

The runs of one seed are drawn together in all conditions, because they are not independent: one seed loses
the same packets in all of them. So the mean of the draws over conditions varies as much as their mean gain.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadstone.stats import CONFIDENCE

Times: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = NDArray[np.float64]
"""Resampled gains: a row for each gain, `RESAMPLES` columns."""

RESAMPLES = 999
_SEED = 1
_AT_ONCE = 256
"""Gains that are drawn at a time, so that memory does not grow with them."""


def resample(baselines: Times, variants: Times) -> tuple[Draws, Times, Times]:
    """Give resampled gains, and the ends of the interval of each.

    A gain is a row of `baselines` and one of `variants`: milliseconds under the same seeds in the same order.
    """
    gains, pairs = baselines.shape
    counts = _counts(pairs)
    drawn = np.empty((gains, RESAMPLES))
    low, high = np.empty(gains), np.empty(gains)
    for begin in range(0, gains, _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        drawn[some] = _medians(baselines[some], counts) / _medians(variants[some], counts)
        low[some], high[some] = interval(drawn[some])
    return drawn, low, high


def interval(drawn: Draws) -> tuple[Times, Times]:
    """Give the ends of the percentile interval of each row; NaN where there are no draws."""
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=-1)
    return low, high


def _counts(pairs: int) -> NDArray[np.unsignedinteger]:
    """Say how often each resample holds each pair: a row for each pair."""
    rng = np.random.default_rng((_SEED, pairs))
    counts = rng.multinomial(pairs, np.full(pairs, 1 / pairs), RESAMPLES)
    return np.ascontiguousarray(counts.T, _counter(pairs))


def _counter(most: int) -> type[np.unsignedinteger]:
    return np.uint8 if most < 1 << 8 else np.uint32


def _medians(times: Times, counts: NDArray[np.unsignedinteger]) -> Times:
    """Give the median of every resample of every row, by counting its ranked values up to the middle."""
    pairs, resamples = counts.shape
    order = np.argsort(times, axis=1, kind="stable")
    ranked = np.take_along_axis(times, order, axis=1)
    seen = np.zeros((len(times), resamples), counts.dtype)
    lower, upper = np.zeros_like(seen), np.zeros_like(seen)
    for rank in range(pairs):
        seen += counts[order[:, rank]]
        lower += seen <= (pairs - 1) // 2
        upper += seen <= pairs // 2
    low, high = (np.take_along_axis(ranked, at.astype(np.intp), axis=1) for at in (lower, upper))
    return (low + high) / 2
