"""Figures made of gains: of a condition the median load time of the base over that of an option."""

from collections.abc import Callable

import polars as pl

from loadstone.analysis.question import Level

from .laboratory import BASE, FACTORS

Number = Callable[[pl.DataFrame], float]
"""A number made of loads."""


def of(loads: pl.DataFrame, option: str) -> pl.DataFrame:
    """Give the gain of an option in each condition, in one order."""
    both = loads.filter(pl.col("option").is_in([BASE, option]))
    base, own = (pl.col("plt_ms").filter(pl.col("option") == each).median() for each in (BASE, option))
    return both.group_by(FACTORS).agg(gain=base / own).sort(FACTORS)


def where(**at: Level) -> pl.Expr:
    """Choose conditions by levels of their factors."""
    return pl.all_horizontal(pl.lit(value=True), *(pl.col(name) == level for name, level in at.items()))


def _number(option: str, what: pl.Expr, chosen: pl.Expr) -> Number:
    return lambda loads: float(of(loads, option).filter(chosen).select(what).item())


def mean(option: str, **at: Level) -> Number:
    """Give the mean gain over the conditions that are meant."""
    return _number(option, pl.col("gain").mean(), where(**at))


def least(option: str, **at: Level) -> Number:
    """Give the least one."""
    return _number(option, pl.col("gain").min(), where(**at))


def largest(option: str, **at: Level) -> Number:
    """Give the largest one."""
    return _number(option, pl.col("gain").max(), where(**at))


def share_at_least(option: str, bound: float, **at: Level) -> Number:
    """Give in how many of a hundred conditions the gain is as large."""
    return _number(option, 100 * (pl.col("gain") >= bound).mean(), where(**at))


GOOD = (pl.col("page") != "C") & (pl.col("loss_pct") == 0)
"""Pages A and B without loss: the subset of table 11."""


def mean_of_good(option: str) -> Number:
    """Give the mean gain over pages A and B without loss."""
    return _number(option, pl.col("gain").mean(), GOOD)


def reduction(gain: float) -> float:
    """Give by how many percent a load is shorter."""
    return 100 * (1 - 1 / gain)


def ahead(option: str, sign: int, **at: Level) -> Number:
    """Give by how much the gain at a place is above those of all others, or below them (`sign` -1)."""

    def number(loads: pl.DataFrame) -> float:
        found = of(loads, option).with_columns(signed=sign * pl.col("gain"))
        there = found.filter(where(**at))["signed"].max()
        elsewhere = found.filter(~where(**at))["signed"].max()
        assert isinstance(there, float) and isinstance(elsewhere, float)
        return there - elsewhere

    return number
