"""How much faster one variant is than another, and in words."""

import math
import statistics
from collections.abc import Sequence

from loadstone import _native, text
from loadstone._native import CONFIDENCE, LEAST_PAIRS, Gain, Ranks, Summary


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
