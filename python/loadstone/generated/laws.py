"""Laws of chance by what is published of them: quantiles, means, shares. Each has values by quantile."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

_NORMAL = NormalDist()
_LARGEST = 1e15


class Law(Protocol):
    """A distribution of one number."""

    def at(self, z: float) -> float:
        """Give the value of which as much lies below as of the standard normal distribution below `z`."""


@dataclass(frozen=True)
class LogNormal:
    """A log-normal law: what is the product of many things."""

    mu: float
    sigma: float

    @classmethod
    def by_quantiles(cls, lower: tuple[float, float], upper: tuple[float, float]) -> "LogNormal":
        """Give the law with these two quantiles: share, and the value that this share lies below."""
        (share_1, value_1), (share_2, value_2) = lower, upper
        z_1, z_2 = map(_NORMAL.inv_cdf, (share_1, share_2))
        sigma = math.log(value_2 / value_1) / (z_2 - z_1)
        return cls(math.log(value_1) - sigma * z_1, sigma)

    @classmethod
    def by_half_of_sum(cls, quantile: tuple[float, float], half: float) -> "LogNormal":
        """Give the law with this quantile, of which half of the sum is in values of `half` or more.

        Of a log-normal law this is at exp(mu + sigma^2).
        """
        share, value = quantile
        z, ratio = _NORMAL.inv_cdf(share), math.log(half / value)
        sigma = (z + math.sqrt(z * z + 4 * ratio)) / 2
        return cls(math.log(value) - sigma * z, sigma)

    def at(self, z: float) -> float:
        """Give the value at a place of the standard normal distribution."""
        return min(math.exp(self.mu + self.sigma * z), _LARGEST)


@dataclass(frozen=True)
class Mostly:
    """One value for a share of all, and a law for the rest, which is larger."""

    share: float
    value: float
    rest: Law

    def at(self, z: float) -> float:
        """Give the value at a place of the standard normal distribution."""
        below = _NORMAL.cdf(z)
        if below < self.share:
            return self.value
        within = (below - self.share) / (1 - self.share)
        return self.rest.at(_NORMAL.inv_cdf(min(max(within, 1e-12), 1 - 1e-12)))


@dataclass(frozen=True)
class Geometric:
    """Whole numbers from `least` on, each as much rarer than the one before, with this mean."""

    least: int
    mean: float

    def at(self, z: float) -> float:
        """Give the value at a place of the standard normal distribution."""
        more = self.mean - self.least
        if more <= 0:
            return self.least
        above = 1 - _NORMAL.cdf(z)
        return self.least + math.floor(math.log(max(above, 1e-12)) / math.log(more / (1 + more)))
