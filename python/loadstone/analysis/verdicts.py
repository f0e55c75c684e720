"""What the gain of a condition comes to: clearly faster, clearly slower, alike, or undecided."""

import polars as pl

FASTER, SLOWER, ALIKE, EQUAL, UNDECIDED = "faster", "slower", "alike", "equal", "undecided"

LEAST_EFFECT = 0.01
"""A gain that is known exactly and nearer to 1 counts as alike: nobody acts on less."""


def verdicts(gains: pl.DataFrame) -> pl.Series:
    """Say of each gain what it comes to.

    Where chance has a part, the interval has to leave 1 out, and too few loads for one leave it undecided.
    Without chance the gain is known, and has to differ by the least effect of interest.
    """
    gain, low, high = pl.col("gain"), pl.col("low"), pl.col("high")
    by_interval = (
        pl.when(low > 1).then(pl.lit(FASTER))
        .when(high < 1).then(pl.lit(SLOWER))
        .when((low == 1) & (high == 1)).then(pl.lit(EQUAL))
        .otherwise(pl.lit(UNDECIDED))
    )  # fmt: skip
    known = (
        pl.when(gain == 1).then(pl.lit(EQUAL))
        .when(gain >= 1 + LEAST_EFFECT).then(pl.lit(FASTER))
        .when(gain <= 1 / (1 + LEAST_EFFECT)).then(pl.lit(SLOWER))
        .otherwise(pl.lit(ALIKE))
    )  # fmt: skip
    return gains.select(verdict=pl.when("is_random").then(by_interval).otherwise(known)).to_series()
