"""What chance alone might have made of many gains at once.

The runs of one seed are drawn together in all conditions, because they are not independent: one seed loses
the same packets in all of them. So the mean of the draws over conditions varies as much as their mean gain.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadstone import stats
from loadstone.stats.resampling import Resampled

Times: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = NDArray[np.float64]
"""Resampled gains: a row for each gain, `RESAMPLES` columns."""

RESAMPLES = 1_999
"""Draws that are kept, of those that single intervals are made of."""


def resample(
    baseline: Sequence[float], variant: Sequence[float], seed: int, confidence: float
) -> tuple[float, float, Times]:
    """Give the ends of a gain's interval, those of `stats.gain`, and draws of it.

    Its sides are milliseconds under the same seeds in the same order; `seed` is that of the draws.
    """
    resampled = Resampled.of(baseline, variant, stats.RESAMPLES, seed, paired=True)
    low, high = np.exp(resampled.interval(confidence))
    return float(low), float(high), np.exp(resampled.ln_gains(RESAMPLES))


def interval(drawn: Draws) -> tuple[Times, Times]:
    """Give the ends of the 95 % interval of each row of draws; NaN where there are none."""
    tail = (1 - stats.CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=-1)
    return low, high
