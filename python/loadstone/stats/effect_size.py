"""What runs are like, how much faster one variant is than another, and both in words."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone import text

if TYPE_CHECKING:
    from loadstone.stats.bootstrap import Places, Resampled


@dataclass(frozen=True)
class Summary:
    """Times of one kind in ms: page load times of one variant on one network."""

    count: int
    median: float
    mean: float
    geometric_mean: float
    least: float
    p10: float
    """The 10th percentile: a tenth of the times are shorter. Between two times it is interpolated."""
    p25: float
    p75: float
    p90: float
    p95: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary | None":
        """Summarise times in ms, which are above 0; `None` where there are none."""
        if not values:
            return None
        import numpy as np
        from scipy import stats

        least, p10, p25, p75, p90, p95, most = np.percentile(values, [0, 10, 25, 75, 90, 95, 100]).tolist()
        return cls(
            count=len(values),
            median=statistics.median(values),
            mean=statistics.fmean(values),
            geometric_mean=float(stats.gmean(values)),
            least=least,
            p10=p10,
            p25=p25,
            p75=p75,
            p90=p90,
            p95=p95,
            most=most,
        )


def median(values: Sequence[float]) -> float | None:
    """Give the median, or `None` where there are no values."""
    return statistics.median(values) if values else None


# --- gains ---

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
    missing. The interval is by `bootstrap`. It is
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
    from loadstone.stats.bootstrap import Resampled

    drawn = Resampled.of(baseline, variant, RESAMPLES, seed, paired=paired, places=places)
    low, high = drawn.interval(confidence)
    saved = drawn.saved() if paired else None
    # What was found is not outside of what may be.
    return Gain(ratio, min(math.exp(low), ratio), max(math.exp(high), ratio), saved=saved), drawn


# --- ranks ---


@dataclass(frozen=True)
class Ranks:
    """In how many pairs of loads, one of each side, the variant is faster, and whether chance does that."""

    pairs: int
    """Under the same seeds; or else each load of the one with each of the other."""
    is_paired: bool
    """Whether pairs share a seed."""
    faster: int
    slower: int
    p_value: float
    """How often chance would make the sides differ so much or more if they did not: Wilcoxon's signed ranks
    of ln of the ratios for pairs, else Mann-Whitney's U. 1 where all pairs are equal."""

    @property
    def share_faster(self) -> float:
        """Give the share of pairs in which the variant is faster, an equal one counting half."""
        equal = self.pairs - self.faster - self.slower
        return (self.faster + equal / 2) / self.pairs


def rank_test(baseline: Sequence[float], variant: Sequence[float], *, paired: bool = True) -> Ranks | None:
    """Compare times in ms rank by rank; `None` where a side has none."""
    if not baseline or not variant:
        return None
    import numpy as np
    from scipy import stats

    first, second = np.asarray(baseline), np.asarray(variant)
    if paired:
        ratios = np.log(first) - np.log(second)
        faster, slower = int((ratios > 0).sum()), int((ratios < 0).sum())
        # Pratt: equal pairs have ranks, though no sign.
        p_value = stats.wilcoxon(ratios, zero_method="pratt").pvalue if faster or slower else 1.0
        return Ranks(len(first), True, faster, slower, float(p_value))
    ordered = np.sort(second)
    faster = int(np.searchsorted(ordered, first, side="left").sum())
    slower = len(first) * len(second) - int(np.searchsorted(ordered, first, side="right").sum())
    p_value = stats.mannwhitneyu(first, second).pvalue if faster or slower else 1.0
    return Ranks(len(first) * len(second), False, faster, slower, float(p_value))


# --- effects in words, instead of bare p-values ---


def sentence(
    gain: Gain | None, baseline: Summary | None, variant: Summary | None, ranks: Ranks | None = None
) -> str:
    """Say what a variant is worth against its baseline, without a full stop.

    All are of the same runs; without `ranks` nothing is said of single loads.
    """
    if gain is None or baseline is None or variant is None:
        return "no load was completed by both, so nothing can be compared"
    if gain.is_exact:
        return "exactly as fast" if gain.ratio == 1 else f"{_times(gain)}: {_saving(baseline, variant)}"
    if gain.low is None or gain.high is None:
        runs = text.count(min(baseline.count, variant.count), "run")
        return f"{_times(gain)} in {runs}, which say nothing of chance: that takes {LEAST_PAIRS}"
    if gain.low == gain.high == 1:
        return "exactly as fast"
    if not gain.is_clear:
        runs = text.count(min(baseline.count, variant.count), "run")
        return f"no difference that {runs} could show; {_at_most(gain)}"
    parts = [f"{_times(gain)} (95 %: {gain.low:.2f} to {gain.high:.2f}): {_saving(baseline, variant)}"]
    if ranks is not None:
        parts.append(_pairs(ranks, is_faster=gain.ratio > 1))
    return "; ".join(parts)


def _times(gain: Gain) -> str:
    return f"{gain.ratio:.2f} times as fast"


def _saving(baseline: Summary, variant: Summary) -> str:
    # Of the medians as they are shown elsewhere, so that they add up.
    digits = 0 if min(baseline.median, variant.median) >= 100 else 1
    saved = round(baseline.median, digits) - round(variant.median, digits)
    if saved >= 0:
        return f"{text.ms(saved)} of {text.ms(baseline.median)} saved"
    return f"{text.ms(-saved)} more than {text.ms(baseline.median)}"


def _at_most(gain: Gain) -> str:
    """Say how large a difference may have gone unseen, rounded up."""
    assert gain.low is not None and gain.high is not None
    percent = 100 * (max(gain.high, 1 / gain.low) - 1)
    shown = f"{math.ceil(10 * percent) / 10:g}" if percent < 1 else f"{math.ceil(percent):,}"
    return f"at most {shown} % either way"


def _pairs(ranks: Ranks, *, is_faster: bool) -> str:
    word, count = ("faster", ranks.faster) if is_faster else ("slower", ranks.slower)
    if ranks.is_paired:
        return f"{word} under {count:,} of {text.count(ranks.pairs, 'seed')}"
    return f"{word} in {100 * count / ranks.pairs:.0f} % of pairs of loads"
