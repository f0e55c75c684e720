"""How far a simulated time, or many, lie from those of the kernel."""

import statistics
from collections.abc import Sequence

ALLOWED_MS = 0.5
"""What two worlds may differ by without being said to: the kernel's timers and our clock are no finer."""

SIGNIFICANCE = 0.01
"""Of the Kolmogorov-Smirnov test."""


def error(simulated_ms: float, measured_ms: Sequence[float]) -> float:
    """Give the signed distance from the kernel's median, relative to it."""
    median = statistics.median(measured_ms)
    return (simulated_ms - median) / median


def beyond_range(simulated_ms: float, measured_ms: Sequence[float]) -> float:
    """Give the signed distance from the range of the kernel's repeats, relative to their median.

    The range is widened by `ALLOWED_MS` at both ends; within it the distance is 0.
    """
    low, high = min(measured_ms) - ALLOWED_MS, max(measured_ms) + ALLOWED_MS
    nearest = min(max(simulated_ms, low), high)
    return (simulated_ms - nearest) / statistics.median(measured_ms)


def ks_p_value(simulated_ms: Sequence[float], measured_ms: Sequence[float], allowed_ms: float) -> float:
    """Give the p-value of a two-sample Kolmogorov-Smirnov test with a tolerance of `allowed_ms`.

    Both one-sided tests (exact) are asked after the simulated times have been moved by `allowed_ms` to the
    kernel's advantage. Without that a cell in which hardly anything gets lost would be rejected for a tenth
    of a millisecond, since its simulated times are all but one number. With 0 it is the ordinary test.
    """
    from scipy import stats

    earlier = [ms - allowed_ms for ms in simulated_ms]
    later = [ms + allowed_ms for ms in simulated_ms]
    too_slow = stats.ks_2samp(measured_ms, earlier, alternative="greater", method="exact").pvalue
    too_fast = stats.ks_2samp(measured_ms, later, alternative="less", method="exact").pvalue
    return min(1.0, 2 * float(min(too_slow, too_fast)))


def spread_deviation(simulated_ms: Sequence[float], measured_ms: Sequence[float]) -> float:
    """Give how much wider (+) or narrower (-) the simulated times spread from 10 to 90 %.

    Relative to the kernel's spread; a difference of `ALLOWED_MS` is tolerated.
    """
    simulated, measured = _spread(simulated_ms), _spread(measured_ms)
    difference = simulated - measured
    excess = max(abs(difference) - ALLOWED_MS, 0.0)
    return (excess if difference > 0 else -excess) / max(measured, ALLOWED_MS)


def _spread(times_ms: Sequence[float]) -> float:
    tenths = statistics.quantiles(times_ms, n=10, method="inclusive")
    return tenths[-1] - tenths[0]


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value below which `share` of them lie, 0 to 1, between neighbours in proportion."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])
