"""How much too widely the smoothed bootstrap spreads gains, for distributions whose medians are known.

    .venv/bin/python studies/statistics/narrowing.py > studies/statistics/narrowing.md     # 3 minutes

It says what `NARROWING` of crates/answer/src/bootstrap.rs would have to be for intervals that hold the
truth in just 95 %.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from loadstone.stats import Resampled

EXPERIMENTS = 2_000
RESAMPLES = 2_000
RUNS = (6, 11, 21, 51, 101)

Values = NDArray[np.float64]

SHAPES: dict[str, Callable[[Values], Values]] = {
    "normal": lambda z: z,
    "uniform": lambda z: special.ndtr(z) - 0.5,
    "Laplace": lambda z: -np.sign(z) * np.log1p(-np.abs(2 * special.ndtr(z) - 1)),
    "lognormal": lambda z: np.exp(0.8 * z) - 1,
}
"""ln of the times, made of normal deviates; the medians are 0."""
SPREAD = 0.1
WAYS = {"apart, alike": (1.0, 0.0), "apart, 2 : 1": (0.5, 0.0), "pairs, alike": (1.0, 0.8)}
"""How widely the variant spreads against the baseline, and the correlation of the deviates."""

ABOUT = """\
In % of 2,000 experiments how often 95 % intervals of the smoothed bootstrap hold the truth when they are not
narrowed; in brackets, the constant of the narrowing by which they would do so in 95 %. Sides spread alike or
one twice as widely; apart, or in pairs whose deviates are correlated by 0.8. The script is
[narrowing.py](narrowing.py). A constant is known within 0.5 or so.

"""


def experiment(
    count: int, shape: str, spread: float, correlation: float, rng: np.random.Generator
) -> Resampled:
    """Draw both sides, and draw them again."""
    one, own = rng.standard_normal((2, count))
    other = correlation * one + np.sqrt(1 - correlation**2) * own
    baseline, variant = (SPREAD * SHAPES[shape](side) for side in (one, other))
    times = np.exp(baseline), np.exp(spread * variant)
    first, second = (side.tolist() for side in times)
    return Resampled(first, second, 1, paired=correlation > 0, resamples=RESAMPLES)


def cell(count: int, shape: str, spread: float, correlation: float) -> str:
    """Give the coverage without narrowing, and the constant that would make it 95 %."""
    rng = np.random.default_rng([count, list(SHAPES).index(shape)])
    shares, balances = [], []
    for _ in range(EXPERIMENTS):
        resampled = experiment(count, shape, spread, correlation, rng)
        shares.append(np.mean(np.less(resampled.baseline, resampled.variant)))
        balances.append(resampled.balance())
    # In standard deviations, how far out of the draws the truth lies.
    away = np.abs(special.ndtri(np.clip(shares, 0.5 / RESAMPLES, 1 - 0.5 / RESAMPLES)))
    limit = special.ndtri(0.975)
    narrower = (limit / np.quantile(away, 0.95)) ** 2
    constant = (narrower - 1) / np.mean(balances) * np.sqrt(count)
    return f"{100 * np.mean(away <= limit):.1f} ({constant:.1f})"


def main() -> None:
    """Print the table."""
    head = ["runs", "shape", *WAYS]
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    for count in RUNS:
        for shape in SHAPES:
            lines.append(
                " | ".join([f"{count}", shape, *(cell(count, shape, *way) for way in WAYS.values())])
            )
    sys.stdout.write(ABOUT + "".join(f"| {line} |\n" for line in lines))


if __name__ == "__main__":
    main()
