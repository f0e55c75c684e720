"""The figures that an assertion can ask for."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadstone.gate.findings import COUNTS, NetworkFindings, VariantFindings

BEFORE = "before"
"""The function that asks for a figure of the comparison that was kept."""

_PERCENTILES = (10, 25, 75, 90, 95, 99)


@dataclass(frozen=True)
class Figure:
    """A figure of a variant on a network."""

    unit: str
    of: Callable[[VariantFindings, NetworkFindings], float | None]
    """`None` where there is none, though all loads were completed."""
    whose: Callable[[VariantFindings, NetworkFindings], Sequence[VariantFindings]] = lambda own, _: [own]
    """Whose loads have a part in it."""


def _median(field: str) -> Callable[[VariantFindings, NetworkFindings], float]:
    return lambda variant, _: statistics.median(load[field] for load in variant.loads)


def _mean(variant: VariantFindings, _: NetworkFindings) -> float:
    return statistics.fmean(load["plt_ms"] for load in variant.loads)


def _percentile(percent: int) -> Callable[[VariantFindings, NetworkFindings], float]:
    def of(variant: VariantFindings, _: NetworkFindings) -> float:
        times = [load["plt_ms"] for load in variant.loads]
        if len(times) == 1:
            return times[0]
        return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]

    return of


def _gain(bound: str) -> Callable[[VariantFindings, NetworkFindings], float | None]:
    def of(variant: VariantFindings, network: NetworkFindings) -> float | None:
        if variant.name == network.baseline:
            return 1.0
        # Where chance has no part the gain is exact.
        bounds = {"low": variant.gain_low, "high": variant.gain_high} if network.is_random else {}
        return bounds.get(bound, variant.gain)

    return of


def _with_baseline(variant: VariantFindings, network: NetworkFindings) -> Sequence[VariantFindings]:
    baseline = network.variants[network.baseline]
    return [variant] if variant is baseline else [baseline, variant]


FIGURES: dict[str, Figure] = {
    "plt": Figure("ms", _median("plt_ms")),
    "mean": Figure("ms", _mean),
    **{f"p{percent}": Figure("ms", _percentile(percent)) for percent in _PERCENTILES},
    "gain": Figure("", _gain("ratio"), _with_baseline),
    "gain_low": Figure("", _gain("low"), _with_baseline),
    "gain_high": Figure("", _gain("high"), _with_baseline),
    **{field: Figure("", _median(field)) for field in COUNTS},
}
"""What can be asked of a variant, by the name of the function."""

FUNCTIONS = (*FIGURES, BEFORE)
"""The functions of assertions."""
