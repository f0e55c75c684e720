"""The smoothed bootstrap of two medians (Banks 1988, "Histospline smoothing the Bayesian bootstrap").

The plain bootstrap draws runs again, so a drawn median is one of few times, and the interval's ends jump
between them. Here a draw gives each run a weight at random, and the drawn median is where half of the weight
lies below, between two neighbours in proportion. n times cut the line into n + 1 gaps, in each of which the
true median lies with a known probability; the weights are such that a drawn median lies there just as often.
So the interval of one median is exact whatever the times' distribution, as the sign test is.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]
Weights = NDArray[np.float32]

_WEIGHED = 256
"""Of more runs it is known well enough without weights where the median lies among them: see `_from_afar`."""

_NARROWING = 1.0
"""About the least that studies/statistics/narrowing.py finds: intervals rather a little wide than narrow. For
pairs that are much alike it could be several times as much."""


@dataclass(frozen=True)
class Resampled:
    """What the medians of both sides might have been: ln of the time in ms, draw by draw."""

    baseline: Array
    variant: Array
    runs: int
    """Of the side that has fewer."""

    @classmethod
    def of(
        cls, baseline: ArrayLike, variant: ArrayLike, resamples: int, seed: int, *, paired: bool
    ) -> "Resampled":
        """Draw both sides again; pairs keep together, the same place being the same seed."""
        first, second = np.log(baseline), np.log(variant)
        if paired and len(first) != len(second):
            raise ValueError(f"{len(first)} and {len(second)} runs are not pairs: give paired=False")
        if paired and len(first) > _WEIGHED:
            medians = _from_afar(first, second, resamples, seed)
        else:
            medians = (
                _medians(first, resamples, seed, 0),
                _medians(second, resamples, seed, 0 if paired else 1),
            )
        return cls(*medians, min(len(first), len(second)))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Give the ends of the interval of ln of the gain."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(self.baseline - self.variant, self._narrowed(np.array([tail, 1 - tail])))
        return float(low), float(high)

    def ln_gains(self, draws: int) -> Array:
        """Give ln of the gain in the first draws, such that their quantiles are the ends of intervals.

        The same seed draws the same places of lists of the same length. So draws of conditions that were run
        under the same seeds can be averaged draw by draw, for the interval of what several gains make; where
        runs have seeds apart, the seed of the draws has to differ too.
        """
        ln_gains = (self.baseline - self.variant)[:draws]
        order = np.argsort(ln_gains, kind="stable")
        ranks = np.arange(len(order))
        shares = self._narrowed((ranks + 0.5) / len(order))
        ln_gains[order] = np.interp(shares * (len(order) - 1), ranks, ln_gains[order])
        return ln_gains

    def saved(self) -> float | None:
        """Give the share of the variance of ln gain that pairing saved; `None` where nothing varies."""
        apart = self.baseline.var() + self.variant.var()
        return float(1.0 - (self.baseline - self.variant).var() / apart) if apart > 0 else None

    def _narrowed(self, shares: Array) -> Array:
        """Give the shares of the draws of a gain at which ends lie that shall have these shares below.

        One median's interval is exact though the draws of it spread too widely: how far neighbours happen to
        lie apart moves its ends, and the one makes up for the other. Two sides average such chance, so less
        of it has to be made up for, and the more alike they spread the less. By how much depends on little
        but the number of runs: studies/statistics/narrowing.py finds it for distributions of known medians.
        """
        narrower = np.sqrt(1.0 + _NARROWING * self.balance() / np.sqrt(self.runs))
        return np.asarray(special.ndtr(special.ndtri(shares) / narrower))

    def balance(self) -> float:
        """Say how alike both sides spread: 0 if one does not at all, 0.71 if they spread as widely."""
        variances = self.baseline.var(), self.variant.var()
        if not all(variances):
            return 0.0
        one, other = (variance / sum(variances) for variance in variances)
        return float(np.sqrt(one * other) * (np.sqrt(one) + np.sqrt(other)))


def _medians(values: Array, resamples: int, seed: int, stream: int) -> Array:
    """Draw the median of the values `resamples` times; the same seed and stream draw the same places."""
    if len(values) > _WEIGHED:
        return _at(values, _normals(resamples, seed, stream))
    order = np.argsort(values, kind="stable")
    return _crossings(values[order], order, *_weights(len(values), resamples, seed, stream))


@lru_cache(maxsize=8)
def _weights(runs: int, resamples: int, seed: int, stream: int) -> tuple[Weights, Weights]:
    """Give each run's weight in each draw, and the weight that is left, which lies beyond the last run."""
    rng = np.random.default_rng([seed, stream, runs])
    weights = rng.standard_exponential((runs + 1, resamples), dtype=np.float32)
    weights /= weights.sum(axis=0)
    return weights[1:], weights[0]


def _from_afar(first: Array, second: Array, resamples: int, seed: int) -> tuple[Array, Array]:
    """Draw the medians of many pairs.

    How many runs are below the true median is then as good as normal, and for both sides together what they
    have in common is in how many pairs both are below.
    """
    half = len(first) // 2
    one_below, other_below = (np.argsort(side, kind="stable")[:half] for side in (first, second))
    alike = 2 * len(np.intersect1d(one_below, other_below)) / half - 1
    one, other = (_normals(resamples, seed, stream) for stream in (0, 1))
    return _at(first, one), _at(second, alike * one + np.sqrt(1 - alike**2) * other)


def _normals(resamples: int, seed: int, stream: int) -> Array:
    return np.random.default_rng([seed, stream]).standard_normal(resamples)


def _at(values: Array, deviations: Array) -> Array:
    """Give the values so many standard deviations of their number away from the middle one."""
    count = len(values)
    places = (count - 1) / 2 + np.sqrt(count) / 2 * deviations
    return np.asarray(np.interp(places, np.arange(count), np.sort(values)))


def _crossings(ordered: Array, order: NDArray[np.intp], weights: Weights, left: Weights) -> Array:
    """Give where half of the weight lies below, draw by draw.

    A run's weight is that of the gap above it in every other draw, and the weight that is left that of the
    lowest gap; in the other draws it is that of the gap below it, and what is left that of the highest.
    """
    resamples = len(left)
    is_above = np.arange(resamples) % 2 == 0
    # What the runs' own weights have to add up to.
    half = np.where(is_above, np.float32(0.5) - left, np.float32(0.5))
    total, below = np.zeros_like(left), np.zeros_like(left)
    passed = np.zeros(resamples, dtype=np.int32)
    for run in order:
        total += weights[run]
        is_below = total < half
        passed += is_below
        np.copyto(below, total, where=is_below)
    last = len(ordered) - 1
    across = weights[order[np.minimum(passed, last)], np.arange(resamples)]
    share = np.clip((half - below) / across, 0.0, 1.0)
    low = np.clip(passed + is_above - 1, 0, last)
    high = np.clip(passed + is_above, 0, last)
    return np.asarray(ordered[low] + (ordered[high] - ordered[low]) * share)
