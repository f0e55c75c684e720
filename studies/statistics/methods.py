"""Ways to make a 95 % interval of a gain from runs, to be held against each other."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from questions import Times
from scipy import special, stats

from loadstone.stats import Resampled

RESAMPLES = 2_000
SEED = 1
TAILS = np.array([0.025, 0.975])
Z = float(special.ndtri(0.975))
NOTHING = 1e-12
"""By how much ln of a gain may miss an interval's end because of rounding."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Plain:
    """The plain bootstrap: runs drawn again, pair by pair or each side for itself."""

    gain: float
    """ln of the gain that was found; the other two draw by draw."""
    gains: Times
    errors: Times
    """An estimate of the standard error of each drawn gain (McKean and Schrader 1984)."""
    error: float
    skew: float
    """The acceleration of BCa, by the jackknife."""


@dataclass(frozen=True)
class Side:
    """One side of a plain bootstrap: medians of ln times, and the squares of their standard errors."""

    median: float
    medians: Times
    variances: Times
    variance: float
    jackknife: Times

    @classmethod
    def of(cls, times: Times, drawn: NDArray[np.uint8]) -> "Side":
        """Draw the median again; `drawn` is how often each run is drawn, run by draw."""
        count = len(times)
        order = np.argsort(times, kind="stable")
        ordered = np.log(times[order])
        low = max(1, round((count + 1) / 2 - np.sqrt(count)))
        wanted = [count // 2 + 1, (count + 1) // 2, low, count + 1 - low]
        total = np.cumsum(drawn[order], axis=0, dtype=np.uint8)
        upper, lower, least, most = (ordered[(total < rank).sum(axis=0)] for rank in wanted)
        width = 2 * float(special.ndtri(1 - stats.binom.cdf(low - 1, count, 0.5)))
        return cls(
            float(np.median(ordered)),
            (upper + lower) / 2,
            ((most - least) / width) ** 2,
            ((ordered[count - low] - ordered[low - 1]) / width) ** 2,
            np.array([np.median(np.delete(np.log(times), at)) for at in range(count)]),
        )


def draw(count: int, stream: int) -> NDArray[np.uint8]:
    """Give how often each of `count` runs is drawn, run by draw."""
    places = np.random.default_rng([SEED, stream, count]).integers(0, count, (RESAMPLES, count))
    return np.stack([(places == run).sum(axis=1) for run in range(count)]).astype(np.uint8)


def plain(baseline: Times, variant: Times, drawn: tuple[NDArray[np.uint8], NDArray[np.uint8]]) -> Plain:
    """Draw a gain again."""
    one, other = Side.of(baseline, drawn[0]), Side.of(variant, drawn[1])
    if drawn[0] is drawn[1]:
        jackknife = one.jackknife - other.jackknife
    else:
        jackknife = np.concatenate([one.jackknife - other.median, one.median - other.jackknife])
    away = jackknife.mean() - jackknife
    scale = (away**2).sum() ** 1.5
    return Plain(
        one.median - other.median,
        one.medians - other.medians,
        np.sqrt(one.variances + other.variances),
        float(np.sqrt(one.variance + other.variance)),
        float((away**3).sum() / (6 * scale)) if scale > 0 else 0.0,
    )


def percentile(drawn: Plain) -> Interval:
    """Take the quantiles of the drawn gains."""
    low, high = np.quantile(drawn.gains, TAILS)
    return low, high


def basic(drawn: Plain) -> Interval:
    """Take the quantiles, mirrored at the gain that was found, on the scale of ln."""
    low, high = np.quantile(drawn.gains, TAILS)
    return 2 * drawn.gain - high, 2 * drawn.gain - low


def normal(drawn: Plain) -> Interval:
    """Take two standard deviations of the drawn gains, on the scale of ln."""
    reach = Z * float(drawn.gains.std())
    return drawn.gain - reach, drawn.gain + reach


def bca(drawn: Plain) -> Interval:
    """Correct the quantiles for bias and skewness."""
    below = ((drawn.gains < drawn.gain).mean() + (drawn.gains <= drawn.gain).mean()) / 2
    bias = special.ndtri(np.clip(below, 0.001, 0.999))
    away = bias + np.array([-Z, Z])
    low, high = np.quantile(drawn.gains, special.ndtr(bias + away / (1 - drawn.skew * away)))
    return low, high


def studentised(drawn: Plain) -> Interval:
    """Take the quantiles of the drawn gains, each by its own standard error."""
    known = drawn.errors > 0
    if not known.any():
        return drawn.gain, drawn.gain
    low, high = np.quantile((drawn.gains - drawn.gain)[known] / drawn.errors[known], TAILS)
    return drawn.gain - high * drawn.error, drawn.gain - low * drawn.error


PLAIN: dict[str, Callable[[Plain], Interval]] = {
    "percentile": percentile,
    "basic, of ln": basic,
    "normal, of ln": normal,
    "BCa": bca,
    "studentised, of ln": studentised,
}
SMOOTHED = "smoothed"
SHIPPED = "smoothed and narrowed: `stats.gain`"


def intervals(
    baseline: Times, variant: Times, drawn: tuple[NDArray[np.uint8], NDArray[np.uint8]]
) -> dict[str, Interval]:
    """Give the interval of ln of the gain by each other method; both sides drawn alike are pairs."""
    again = plain(baseline, variant, drawn)
    found = {name: method(again) for name, method in PLAIN.items()}
    resampled = _resampled(baseline, variant, paired=drawn[0] is drawn[1])
    low, high = np.quantile(np.subtract(resampled.baseline, resampled.variant), TAILS)
    found[SMOOTHED] = low, high
    return found


def shipped(baseline: Times, variant: Times, *, paired: bool) -> Interval:
    """Give the interval of ln of the gain as it is shipped."""
    return _resampled(baseline, variant, paired=paired).interval(0.95)


def _resampled(baseline: Times, variant: Times, *, paired: bool) -> Resampled:
    first, second = (np.asarray(side).tolist() for side in (baseline, variant))
    return Resampled(first, second, SEED, paired=paired, resamples=RESAMPLES)
