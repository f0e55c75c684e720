"""Gains: how much faster one variant is than another."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadstone.stats.resampling import Places, Resampled

CONFIDENCE = 0.95
RESAMPLES = 10_000
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
    saved: float | None = None
    """The share of the variance of ln gain that pairing saved, against runs of both sides under seeds apart;
    `None` without pairs or interval. Below 0 pairing did harm."""

    @property
    def is_clear(self) -> bool:
        """Say whether there is no doubt about the direction."""
        if self.is_exact:
            return self.ratio != 1.0
        return self.low is not None and self.high is not None and (self.low > 1.0 or self.high < 1.0)

    @property
    def half_width(self) -> float | None:
        """Give half of the interval relative to the gain, 0.01 for 1 %; 0 if it is exact."""
        if self.is_exact:
            return 0.0
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / (2 * self.ratio)


def gain(
    baseline: Sequence[float],
    variant: Sequence[float],
    seed: int,
    *,
    random: bool,
    paired: bool = True,
    confidence: float = CONFIDENCE,
    places: "Places | None" = None,
) -> Gain | None:
    """Compare two variants by their times in ms; `None` where one has none.

    Paired, the same place means the same seed; `places` are those of the runs among all seeds, where some are
    missing. The interval is by `resampling`. It is
    left out where chance has no part or where a side has fewer than `LEAST_PAIRS` runs.
    """
    if not baseline or not variant:
        return None
    made, _ = resampled(
        baseline, variant, seed, random=random, paired=paired, confidence=confidence, places=places
    )
    return made


def resampled(
    baseline: Sequence[float],
    variant: Sequence[float],
    seed: int,
    *,
    random: bool,
    paired: bool,
    confidence: float,
    places: "Places | None" = None,
) -> "tuple[Gain, Resampled | None]":
    """Give the gain of sides that have runs, and the draws of which its interval is, if it has one.

    `places` are those of the runs among all seeds, where some are missing.
    """
    ratio = statistics.median(baseline) / statistics.median(variant)
    if not random or min(len(baseline), len(variant)) < LEAST_PAIRS:
        return Gain(ratio, is_exact=not random), None
    from loadstone.stats.resampling import Resampled

    drawn = Resampled.of(baseline, variant, RESAMPLES, seed, paired=paired, places=places)
    low, high = drawn.interval(confidence)
    saved = drawn.saved() if paired else None
    # What was found is not outside of what may be.
    return Gain(ratio, min(math.exp(low), ratio), max(math.exp(high), ratio), saved=saved), drawn
