"""How much faster one variant is than another."""

import statistics
from collections.abc import Sequence

from loadstone import _native
from loadstone._native import CONFIDENCE, Gain


def median(values: Sequence[float]) -> float | None:
    """Give the median, or `None` where there are no values."""
    return statistics.median(values) if values else None


def gain(
    baseline: Sequence[float],
    variant: Sequence[float],
    seed: int,
    *,
    random: bool,
    paired: bool = True,
    confidence: float = CONFIDENCE,
    places: Sequence[int] | None = None,
) -> Gain | None:
    """Compare two variants by their times in ms; `None` where one has none.

    Paired, the same place means the same seed; `places` are those of the runs among all seeds, where some are
    missing. The interval is left out where chance has no part or where a side has fewer than `LEAST_PAIRS`
    runs.
    """
    made = _native.gain(
        baseline, variant, seed, random=random, paired=paired, confidence=confidence, places=places
    )
    return None if made is None else made[0]
