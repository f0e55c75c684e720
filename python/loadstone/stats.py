"""Statistics of runs: medians, and how much faster one variant is than another."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95
RESAMPLES = 9_999
LEAST_PAIRS = 6
"""Fewer pairs have no 95 % interval of a median: even the whole range of 5 covers it in 93.75 %."""


@dataclass(frozen=True)
class Gain:
    """How much faster a variant is: the baseline's median over the variant's, above 1 is faster."""

    ratio: float
    low: float | None = None
    high: float | None = None
    is_exact: bool = False
    """Whether chance had no part in it, so that there is no interval."""

    @property
    def is_clear(self) -> bool:
        """Say whether there is no doubt about the direction."""
        if self.is_exact:
            return self.ratio != 1.0
        return self.low is not None and self.high is not None and (self.low > 1.0 or self.high < 1.0)


def median(values: Sequence[float]) -> float | None:
    """Give the median, or `None` where there are no values."""
    return statistics.median(values) if values else None


def gain(baseline: Sequence[float], variant: Sequence[float], seed: int, *, random: bool) -> Gain | None:
    """Compare two variants whose runs are paired: the same place means the same seed.

    The interval is a percentile bootstrap over pairs. (A median's jackknife, which BCa needs, takes
    two values only, so BCa's correction would be noise.) It is left out where chance has no part or
    where there are fewer than `LEAST_PAIRS` pairs. `seed` decides the resampling.
    """
    if not baseline:
        return None
    ratio = statistics.median(baseline) / statistics.median(variant)
    if not random or len(baseline) < LEAST_PAIRS:
        return Gain(ratio, is_exact=not random)
    low, high = _interval(baseline, variant, seed)
    return Gain(ratio, low, high)


def _interval(baseline: Sequence[float], variant: Sequence[float], seed: int) -> tuple[float, float]:
    import numpy as np
    from scipy import stats

    def ratio(first: Any, second: Any, axis: int) -> Any:
        return np.median(first, axis=axis) / np.median(second, axis=axis)

    result = stats.bootstrap(
        (baseline, variant),
        ratio,
        paired=True,
        vectorized=True,
        method="percentile",
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(seed),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
