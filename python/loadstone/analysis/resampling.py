"""What chance alone might have made of many gains at once.

The runs of one seed are drawn together in all conditions, because they are not independent: one seed loses
the same packets in all of them. So the mean of the draws over conditions varies as much as their mean gain.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadstone import stats

Ends: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = NDArray[np.float32]
"""ln of resampled gains: a row for each gain, `RESAMPLES` columns."""

RESAMPLES = 1_999
"""Draws that are kept, of those that single intervals are made of."""


def interval(drawn: NDArray[np.float64] | Draws) -> tuple[Ends, Ends]:
    """Give the ends of the 95 % interval of each row of draws, as gains; NaN where there are none."""
    tail = (1 - stats.CONFIDENCE) / 2
    low, high = np.exp(np.quantile(drawn, [tail, 1 - tail], axis=-1))
    return low, high
