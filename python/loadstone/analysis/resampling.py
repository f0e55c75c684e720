"""What chance alone might have made of many gains at once.

The runs of one seed are drawn together in all conditions, because they are not independent: one seed loses
the same packets in all of them. So the mean of the draws over conditions varies as much as their mean gain.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadstone.stats import CONFIDENCE, draws

Times: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = NDArray[np.float64]
"""Resampled gains: a row for each gain, `RESAMPLES` columns."""

RESAMPLES = 1_999
_SEED = 1


def resample(baseline: Sequence[float], variant: Sequence[float]) -> Times:
    """Give draws of a gain, whose sides are milliseconds under the same seeds in the same order."""
    return draws(baseline, variant, RESAMPLES, _SEED)


def interval(drawn: Draws, confidence: float = CONFIDENCE) -> tuple[Times, Times]:
    """Give the ends of the interval of each row of draws; NaN where there are none."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=-1)
    return low, high
