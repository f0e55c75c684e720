"""What a list of times is like: its middle, its mean, its spread."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


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
