"""Statistics of runs: what they are like, how much faster one variant is than another, and how sure that is.

docs/statistics.md says what is computed and why, and how often the intervals hold the truth.
"""

from loadstone.stats.gains import CONFIDENCE, LEAST_PAIRS, RESAMPLES, Gain, gain
from loadstone.stats.ranks import Ranks, rank_test
from loadstone.stats.sequential import Until
from loadstone.stats.summary import Summary, median

__all__ = [
    "CONFIDENCE",
    "LEAST_PAIRS",
    "RESAMPLES",
    "Gain",
    "Ranks",
    "Summary",
    "Until",
    "gain",
    "median",
    "rank_test",
]
