"""The smoothed bootstrap of two medians (Banks 1988, "Histospline smoothing the Bayesian bootstrap").

The plain bootstrap draws runs again, so a drawn median is one of few times, and the interval's ends jump
between them. Here a draw gives each run a weight at random, and the drawn median is where half of the weight
lies below, between two neighbours in proportion. n times cut the line into n + 1 gaps, in each of which the
true median lies with a known probability; the weights are such that a drawn median lies there just as often.
So the interval of one median is exact whatever the times' distribution, as the sign test is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]
Weights = NDArray[np.float32]
Places = Sequence[int] | NDArray[np.intp]
"""Which of all seeds runs are of, counted from the first seed."""

_WEIGHED = 255
"""Of more runs the normal approximation says well enough where the median lies among them."""

_MOST_WEIGHTS = 2_048
"""Runs that lie this many places apart share a weight, so that a table of weights has an end."""

_STREAM = 21
"""Any number would do."""

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
        cls,
        baseline: ArrayLike,
        variant: ArrayLike,
        resamples: int,
        seed: int,
        *,
        paired: bool,
        places: Places | None = None,
    ) -> "Resampled":
        """Draw both sides again; pairs keep together, each pair drawn by its place.

        `places` says which of all seeds the pairs are of, where some are missing; without it they are the
        first ones.
        """
        first, second = np.log(baseline), np.log(variant)
        if paired and len(first) != len(second):
            raise ValueError(f"{len(first)} and {len(second)} runs are not pairs: give paired=False")
        medians = (
            _medians(first, places, resamples, seed, 0),
            _medians(second, places, resamples, seed, 0 if paired else 1),
        )
        return cls(*medians, min(len(first), len(second)))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Give the ends of the interval of ln of the gain."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(self.baseline - self.variant, self._narrowed(np.array([tail, 1 - tail])))
        return float(low), float(high)

    def ln_gains(self, draws: int) -> Array:
        """Give ln of the gain in the first draws, such that their quantiles are the ends of intervals.

        A place has the same weight in every list, however many there are in it. So draws of conditions that
        were run under the same seeds, or some of them, can be averaged draw by draw, for the interval of what
        several gains make; where runs have seeds apart, the seed of the draws has to differ too.
        """
        ln_gains = (self.baseline - self.variant)[:draws]
        order = np.argsort(ln_gains, kind="stable")
        deviations = _deviations(len(order))
        shares = special.ndtr(deviations / self._inflation())
        ln_gains[order] = np.interp(shares * (len(order) - 1), np.arange(len(order)), ln_gains[order])
        return ln_gains

    def saved(self) -> float | None:
        """Give the share of the variance of ln gain that pairing saved; `None` where nothing varies."""
        apart = sum(self._variances)
        return float(1.0 - (self.baseline - self.variant).var() / apart) if apart > 0 else None

    def _narrowed(self, shares: Array) -> Array:
        """Give the shares of the draws of a gain at which ends lie that shall have these shares below.

        One median's interval is exact though the draws of it spread too widely: how far neighbours happen to
        lie apart moves its ends, and the one makes up for the other. Two sides average such chance, so less
        of it has to be made up for, and the more alike they spread the less. By how much depends on little
        but the number of runs: studies/statistics/narrowing.py finds it for distributions of known medians.
        """
        return np.asarray(special.ndtr(special.ndtri(shares) / self._inflation()))

    @cached_property
    def _variances(self) -> tuple[float, float]:
        return float(self.baseline.var()), float(self.variant.var())

    def _inflation(self) -> float:
        """Say how many times too widely the draws spread."""
        return float(np.sqrt(1.0 + _NARROWING * self.balance() / np.sqrt(self.runs)))

    def balance(self) -> float:
        """Say how alike both sides spread: 0 if one does not at all, 0.71 if they spread as widely."""
        variances = self._variances
        if not all(variances):
            return 0.0
        one, other = (variance / sum(variances) for variance in variances)
        return float(np.sqrt(one * other) * (np.sqrt(one) + np.sqrt(other)))


def _medians(values: Array, places: Places | None, resamples: int, seed: int, stream: int) -> Array:
    """Draw the median of the values `resamples` times; the same seed and stream weigh the same places."""
    at = np.arange(len(values)) if places is None else np.asarray(places)
    at = at % _MOST_WEIGHTS
    # A table for somewhat more places serves the next list too.
    known = 1 << (max(31, int(at.max()))).bit_length()
    weights = _weights(known, resamples, seed, stream)
    order = np.argsort(values, kind="stable")
    if len(values) > _WEIGHED:
        return _normal_approximation(values[order], 1 + at[order], weights)
    return _weighted_medians(values[order], 1 + at[order], weights)


@lru_cache(maxsize=4)
def _weights(places: int, resamples: int, seed: int, stream: int) -> Weights:
    """Give the weight that lies beyond the last run, then that of each place, draw by draw.

    Row by row, so that a longer table begins with the shorter one. They are to be held against their sum
    over the runs that there are.
    """
    rng = np.random.default_rng([seed, stream, _STREAM])
    return rng.standard_exponential((places + 1, resamples), dtype=np.float32)


@lru_cache(maxsize=4)
def _deviations(draws: int) -> Array:
    """Give which normal deviates have the ranks of this many draws."""
    return np.asarray(special.ndtri((np.arange(draws) + 0.5) / draws))


def _normal_approximation(ordered: Array, rows: NDArray[np.intp], weights: Weights) -> Array:
    """Draw the median of many runs, given in order.

    By how much more weight lies in the upper half than in the lower one it is known how many places away
    from the middle half of the weight lies below; this many runs make that as good as normal.
    """
    count, half = len(ordered), len(ordered) // 2
    lower, upper = np.zeros((2, weights.shape[1]), np.float32)
    # One by one, because sums of libraries for matrices differ from machine to machine.
    for at, row in enumerate(rows):
        side = lower if at < half else upper
        side += weights[row]
    signs = np.bincount(rows, np.where(np.arange(count) < half, -1.0, 1.0))
    deviations = (upper.astype(np.float64) - lower - signs.sum()) / np.sqrt((signs**2).sum())
    away = (count - 1) / 2 + np.sqrt(count) / 2 * deviations
    return np.asarray(np.interp(away, np.arange(count), ordered))


def _weighted_medians(ordered: Array, rows: NDArray[np.intp], weights: Weights) -> Array:
    """Give where half of the weight lies below, draw by draw; `rows` are those of the weights, in order.

    A run's weight is that of the gap above it in every other draw, and the weight that is left that of the
    lowest gap; in the other draws it is that of the gap below it, and what is left that of the highest.
    """
    runs, draws = len(rows), weights.shape[1]
    is_above = np.arange(draws) % 2 == 0
    totals = np.zeros((runs + 1, draws), np.float32)
    for at, row in enumerate(rows):
        np.add(totals[at], weights[row], out=totals[at + 1])
    left = weights[0]
    # What the runs' own weights have to add up to.
    half = (totals[-1] + left) / 2
    np.subtract(half, left, out=half, where=is_above)
    passed = np.zeros(draws, np.uint8)
    for total in totals[1:]:
        passed += (total < half).view(np.uint8)
    places = passed.astype(np.intp)
    each = np.arange(draws)
    # Where all are passed, none is crossed: the share is cut to 1.
    across = weights.ravel().take(rows[np.minimum(places, runs - 1)] * draws + each)
    share = np.clip((half - totals.ravel().take(places * draws + each)) / across, 0.0, 1.0)
    places += is_above
    # The ends have no neighbour beyond.
    ends = np.concatenate([ordered[:1], ordered, ordered[-1:], ordered[-1:]])
    return np.asarray(ends[places] + np.diff(ends)[places] * share)
