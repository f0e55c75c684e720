"""Gains of a matrix: in each condition, how much faster each challenger is than the baseline.

The runs of one seed are drawn together in all conditions, because they are not independent: one seed loses
the same packets in all of them. So the mean of the draws over conditions varies as much as their mean gain.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from loadstone import _native, stats
from loadstone.analysis.question import Level, Question
from loadstone.files import InputError
from loadstone.stats import CONFIDENCE, Gain

Ends: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = NDArray[np.float32]
"""ln of resampled gains: a row for each gain, `RESAMPLES` columns."""

RESAMPLES = 1_999
"""Draws that are kept, of those that single intervals are made of."""


def interval(drawn: NDArray[np.float64] | Draws) -> tuple[Ends, Ends]:
    """Give the ends of the 95 % interval of each row of draws, as gains; NaN where there are none."""
    tail = (1 - stats.CONFIDENCE) / 2
    low, high = np.exp(np.quantile(drawn, [tail, 1 - tail], axis=-1))
    return low, high


# --- the verdict on the gain of a condition ---

FASTER, SLOWER, ALIKE, EQUAL, UNDECIDED = "faster", "slower", "alike", "equal", "undecided"

LEAST_EFFECT = 0.01
"""A gain that is known exactly and nearer to 1 counts as alike: no one acts on less."""


def verdicts(gains: pl.DataFrame) -> pl.Series:
    """Give the verdict on each gain.

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


# --- gains of a matrix ---


_BASELINE, _VARIANT = "baseline_ms", "variant_ms"
_PLACE = "_place"
"""Where a condition comes in the order of the runs."""

ENOUGH_PERCENT = 90
"""Of the loads of a side that many have to be completed: those that survive say nothing of the others."""
TOO_FEW = f"less than {ENOUGH_PERCENT} % of the loads of a side were completed"


@dataclass(frozen=True)
class Gains:
    """The gains of all conditions, and what they are made of."""

    question: Question
    frame: pl.DataFrame
    """A row for each condition and challenger of whose loads enough were completed: the other factors, the
    challenger's level under the compared factor's name, `baseline_ms`, `variant_ms`, `gain`, `low`, `high`,
    `pairs`, `baseline_runs`, `baseline_completed`, `variant_runs`, `variant_completed`, `is_random`."""
    draws: Draws
    """ln of resampled gains, a row for each of the frame's: all that of the gain without chance, NaN with too
    few pairs."""
    measured: pl.DataFrame
    """The same as the frame, with those of whose loads too few were completed; `is_counted` tells them."""
    medians: pl.DataFrame
    """A row for each cell: its factors, `cell`, `is_random`, `runs`, `completed`, `plt_ms` (the median)."""
    left_out: pl.DataFrame
    """A row for each condition and challenger without a gain, or with one that does not count: `why`."""

    def of(self, challenger: Level) -> "Gains":
        """Give those of one challenger."""
        compared = self.question.compared
        rows = self.frame.select(pl.col(compared) == challenger).to_series().to_numpy()
        return replace(
            self,
            frame=self.frame.filter(pl.Series(rows)),
            draws=self.draws[rows],
            measured=self.measured.filter(pl.col(compared) == challenger),
            left_out=self.left_out.filter(pl.col(compared) == challenger),
        )

    def each(self) -> Iterator[tuple[Level, "Gains"]]:
        """Give the challengers that have gains, each with its own, in the order of the matrix."""
        for challenger in self.question.challengers:
            own = self.of(challenger)
            if len(own.frame):
                yield challenger, own


def measure(runs: pl.DataFrame, question: Question) -> Gains:
    """Hold every challenger against the baseline, in every condition that has both."""
    if missing := [name for name in question.factors if name not in runs.columns]:
        raise InputError(f"runs: there is no factor {missing[0]}: give the runs of the same matrix")
    medians = _medians(runs, question)
    numbered = _numbered(medians, question)
    sides = _unpaired(runs, question) if question.live else _pairs(runs, question)
    sides = _in_order(_with_loads(sides, numbered, question), question)
    # As in a comparison, the first seed is also that of the draws.
    measured, draws = _gains(sides, question, int(runs.select(pl.col("seed").min()).item() or 0))
    is_counted = measured["is_counted"]
    left_out = _left_out(numbered, measured, question)
    measured = measured.drop(_PLACE)
    counted = measured.filter(is_counted).drop("is_counted")
    return Gains(question, counted, draws[is_counted.to_numpy()], measured, medians, left_out)


def _medians(runs: pl.DataFrame, question: Question) -> pl.DataFrame:
    medians = runs.group_by([*question.factors, "cell", "is_random"], maintain_order=True).agg(
        runs=pl.len().cast(pl.Int64),
        completed=pl.col("completed").sum().cast(pl.Int64),
        plt_ms=pl.col("plt_ms").filter("completed").median(),
    )
    if medians.select(*question.others, question.compared).is_duplicated().any():
        linked = " and ".join(question.linked) or "something that is no factor"
        raise InputError(
            f"--compare: {question.compared} has one level in several cells of a condition, because "
            f"of {linked}, which changes with it: compare another factor"
        )
    return medians


def paired(runs: pl.DataFrame, question: Question, *columns: str) -> pl.DataFrame:
    """Put both sides of every gain into one row for each seed under which both were completed.

    Of each column there is one for either side, for page load times `baseline_ms` and `variant_ms`, else
    `baseline_` and `variant_` before the name. A cell without chance has one run, which is its run under
    every seed.
    """
    others, compared = question.others, question.compared
    runs = _spread(_numbered(runs, question), compared).filter("completed")
    is_baseline = pl.col(compared) == question.baseline

    def side(name: str) -> list[pl.Expr]:
        sided = {column: f"{name}_ms" if column == "plt_ms" else f"{name}_{column}" for column in columns}
        return [pl.col(column).alias(title) for column, title in sided.items()]

    keys = [_PLACE, "seed"]
    baselines = runs.filter(is_baseline).select(*keys, *side("baseline"), _has_chance="is_random")
    variants = runs.filter(~is_baseline).select(*keys, *others, compared, *side("variant"), "is_random")
    joined = variants.join(baselines, on=keys, how="inner", maintain_order="left")
    return joined.with_columns(pl.col("is_random") | pl.col("_has_chance")).drop("_has_chance")


def _numbered(cells: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Give each condition a number, in the order in which they come."""
    others = question.others
    if not others:
        return cells.with_columns(pl.lit(0, pl.UInt32).alias(_PLACE))
    conditions = cells.select(others).unique(maintain_order=True).with_row_index(_PLACE)
    return cells.join(conditions, on=others, how="left", nulls_equal=True, maintain_order="left")


def _spread(runs: pl.DataFrame, compared: str) -> pl.DataFrame:
    """Give cells without chance a run under every seed of their condition."""
    drawn, fixed = runs.filter("is_random"), runs.filter(~pl.col("is_random"))
    seeds = drawn.select(_PLACE, "seed").unique(maintain_order=True)
    fixed = fixed.unique([_PLACE, compared], keep="first", maintain_order=True).drop("seed")
    fixed = fixed.join(seeds, on=_PLACE, how="left", maintain_order="left")
    zero = pl.lit(0, runs.schema["seed"])
    return pl.concat([drawn, fixed.with_columns(pl.col("seed").fill_null(zero)).select(drawn.columns)])


def _pairs(runs: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Give both sides of every gain as lists, those of the seeds under which both were completed."""
    keys = [_PLACE, *question.others, question.compared]
    by_seed = pl.col("seed").list.eval(pl.element().arg_sort())
    return (
        paired(runs, question, "plt_ms")
        .group_by(keys, maintain_order=True)
        .agg(pl.col(_BASELINE), pl.col(_VARIANT), pl.col("seed"), pl.col("is_random").first())
        .with_columns(_order=by_seed)
        .with_columns(pl.col(_BASELINE, _VARIANT, "seed").list.gather(pl.col("_order")))
        .drop("_order")
    )


def _unpaired(runs: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Give both sides of every gain as lists of all their completed loads, which are no pairs."""
    compared, keys = question.compared, [_PLACE, *question.others, question.compared]
    loads = (
        _numbered(runs, question)
        .filter("completed")
        .sort("seed", maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("plt_ms"), pl.col("seed"), pl.col("is_random").first())
    )
    is_baseline = pl.col(compared) == question.baseline
    baselines = loads.filter(is_baseline).select(_PLACE, pl.col("plt_ms").alias(_BASELINE))
    variants = loads.filter(~is_baseline).rename({"plt_ms": _VARIANT})
    return variants.join(baselines, on=_PLACE, how="inner", maintain_order="left")


def _with_loads(sides: pl.DataFrame, cells: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Add how many loads there are of either side, how many were completed, and whether those are enough."""
    compared = question.compared
    counts = cells.select(_PLACE, compared, "runs", "completed")

    def side(name: str) -> list[pl.Expr]:
        return [pl.col("runs").alias(f"{name}_runs"), pl.col("completed").alias(f"{name}_completed")]

    baselines = counts.filter(pl.col(compared) == question.baseline).select(_PLACE, *side("baseline"))
    variants = counts.select(_PLACE, compared, *side("variant"))
    enough = [
        pl.col(f"{name}_completed") * 100 >= pl.col(f"{name}_runs") * ENOUGH_PERCENT
        for name in ("baseline", "variant")
    ]
    return (
        sides.join(baselines, on=_PLACE, how="left", maintain_order="left")
        .join(variants, on=[_PLACE, compared], how="left", maintain_order="left")
        .with_columns(is_counted=pl.all_horizontal(enough))
    )


def _in_order(frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Sort by condition, then by challenger, as the matrix has them."""
    rank = {level: at for at, level in enumerate(question.factors[question.compared])}
    ranked = pl.col(question.compared).replace_strict(rank, default=len(rank), return_dtype=pl.Int64)
    return frame.with_columns(_rank=ranked).sort(_PLACE, "_rank").drop("_rank")


def _gains(sides: pl.DataFrame, question: Question, seed: int) -> tuple[pl.DataFrame, Draws]:
    """Give the gains with their intervals, and the draws of them; `seed` is the first of the runs."""
    places = pl.col("seed").list.eval((pl.element() - seed) % 2**32).cast(pl.List(pl.Int64))
    columns = sides.select(_BASELINE, _VARIANT, places, "is_random", "baseline_runs", "variant_runs")
    draws = np.full((len(sides), RESAMPLES), np.nan, np.float32)
    found: list[Gain] = []
    for at, (baseline, variant, seeds, is_random, *runs) in enumerate(columns.iter_rows()):
        until = question.until
        made = _native.gain(
            baseline,
            variant,
            # Over a kernel nothing is shared, not even between conditions.
            seed + at if question.live else seed,
            random=is_random,
            paired=not question.live,
            # One looks several times where runs go on until the gains are known.
            confidence=until.confidence_after(max(runs)) if until else CONFIDENCE,
            places=None if question.live else seeds,
        )
        assert made is not None, "both sides have runs"
        gain, drawn = made
        if drawn is not None:
            draws[at] = drawn.ln_gains(RESAMPLES)
        elif gain.is_exact:
            draws[at] = np.log(gain.ratio)
        found.append(gain)
    frame = sides.select(
        _PLACE,
        *question.others,
        question.compared,
        pl.col(_BASELINE, _VARIANT).list.median(),
        gain=pl.Series([gain.ratio for gain in found], dtype=pl.Float64),
        low=pl.Series([gain.low for gain in found], dtype=pl.Float64),
        high=pl.Series([gain.high for gain in found], dtype=pl.Float64),
        pairs=pl.min_horizontal(pl.col(_BASELINE, _VARIANT).list.len()).cast(pl.Int64),
        baseline_runs="baseline_runs",
        baseline_completed="baseline_completed",
        variant_runs="variant_runs",
        variant_completed="variant_completed",
        is_random="is_random",
        is_counted="is_counted",
    )
    return frame, draws


def _left_out(medians: pl.DataFrame, measured: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Say which conditions have no gain or none that counts, and why."""
    compared, on = question.compared, [_PLACE, question.compared]
    sides = medians.select(*on, "completed")
    is_baseline = pl.col(compared) == question.baseline
    baselines = sides.filter(is_baseline).select(_PLACE, _baseline="completed")
    variants = sides.rename({"completed": "_variant"})
    challengers = sides.select(compared).filter(~is_baseline).unique(maintain_order=True)
    conditions = medians.select(_PLACE, *question.others).unique(_PLACE, maintain_order=True)
    wanted = (
        conditions.join(challengers, how="cross")
        .join(measured.filter("is_counted"), on=on, how="anti", maintain_order="left")
        .join(measured.select(*on, "gain"), on=on, how="left", maintain_order="left")
        .join(baselines, on=_PLACE, how="left", maintain_order="left")
        .join(variants, on=on, how="left", maintain_order="left")
    )
    why = (
        pl.when(pl.col("_baseline").is_null())
        .then(pl.lit("the baseline was not run"))
        .when(pl.col("_variant").is_null())
        .then(pl.lit("it was not run"))
        .when(pl.col("_baseline") == 0)
        .then(pl.lit("no load of the baseline was completed"))
        .when(pl.col("_variant") == 0)
        .then(pl.lit("no load was completed"))
        .when(pl.col("gain").is_not_null())
        .then(pl.lit(TOO_FEW))
        .otherwise(pl.lit("no seed completed both"))
    )
    return wanted.select(*question.others, compared, why=why)
