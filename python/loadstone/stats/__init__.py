"""Statistics of runs: what they are like, how much faster one variant is than another, and how sure that is.

docs/statistics.md says what is computed and why, and how often the intervals hold the truth.
"""

from loadstone._native import CONFIDENCE, LEAST_PAIRS, RESAMPLES, Gain, Ranks, Resampled, Summary, rank_test
from loadstone.stats.effect_size import gain, median
from loadstone.stats.sequential import Until

__all__ = [
    "CONFIDENCE",
    "LEAST_PAIRS",
    "RESAMPLES",
    "Gain",
    "Ranks",
    "Resampled",
    "Summary",
    "Until",
    "gain",
    "median",
    "rank_test",
]
