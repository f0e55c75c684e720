"""Gains of a matrix: in each condition, how much faster each challenger is than the baseline."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from loadstone.analysis import resampling
from loadstone.analysis.question import Level, Question
from loadstone.analysis.resampling import Draws, Times
from loadstone.files import InputError
from loadstone.stats import CONFIDENCE, LEAST_PAIRS

_BASELINE, _VARIANT = "baseline_ms", "variant_ms"
_PLACE = "_place"
"""Where a condition comes in the order of the runs."""


@dataclass(frozen=True)
class Gains:
    """The gains of all conditions in which both sides were completed, and what they are made of."""

    question: Question
    frame: pl.DataFrame
    """A row for each condition and challenger: the other factors, the challenger's level under the compared
    factor's name, `baseline_ms`, `variant_ms`, `gain`, `low`, `high`, `pairs`, `is_random`."""
    draws: Draws
    """Resampled gains, a row for each of the frame's: all the gain without chance, NaN with too few pairs."""
    medians: pl.DataFrame
    """A row for each cell: its factors, `cell`, `is_random`, `runs`, `completed`, `plt_ms` (the median)."""
    left_out: pl.DataFrame
    """A row for each condition and challenger that has no gain, with the reason, `why`."""

    def of(self, challenger: Level) -> "Gains":
        """Give those of one challenger."""
        compared = self.question.compared
        rows = self.frame.select(pl.col(compared) == challenger).to_series().to_numpy()
        return replace(
            self,
            frame=self.frame.filter(pl.Series(rows)),
            draws=self.draws[rows],
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
    pairs = paired(runs, question, "plt_ms")
    frame = pairs.group_by([_PLACE, *question.others, question.compared], maintain_order=True).agg(
        pl.col(_BASELINE), pl.col(_VARIANT), pl.col("seed"), pl.col("is_random").first()
    )
    frame = _in_order(frame, question)
    # As in a comparison, the first seed is also that of the draws.
    drawn, low, high = _resampled(frame, question, int(runs.select(pl.col("seed").min()).item() or 0))
    frame = frame.select(
        _PLACE,
        *question.others,
        question.compared,
        pl.col(_BASELINE).list.median(),
        pl.col(_VARIANT).list.median(),
        gain=pl.col(_BASELINE).list.median() / pl.col(_VARIANT).list.median(),
        low=_where_known(low),
        high=_where_known(high),
        pairs=pl.col("seed").list.len().cast(pl.Int64),
        is_random=pl.col("is_random"),
    )
    left_out = _left_out(_numbered(medians, question), frame, question)
    return Gains(question, frame.drop(_PLACE), drawn, medians, left_out)


def _medians(runs: pl.DataFrame, question: Question) -> pl.DataFrame:
    medians = runs.group_by([*question.factors, "cell", "is_random"], maintain_order=True).agg(
        runs=pl.len().cast(pl.Int64),
        completed=pl.col("completed").sum().cast(pl.Int64),
        plt_ms=pl.col("plt_ms").filter("completed").median(),
    )
    if medians.select(*question.others, question.compared).is_duplicated().any():
        raise InputError(
            f"--compare: {question.compared} has one level in several cells of a condition, because "
            f"{' and '.join(question.linked)} change with it: compare another factor"
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


def _in_order(frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Sort by condition, then by challenger, as the matrix has them; the pairs of each by seed."""
    rank = {level: at for at, level in enumerate(question.factors[question.compared])}
    by_seed = pl.col("seed").list.eval(pl.element().arg_sort())
    return (
        frame.with_columns(
            _rank=pl.col(question.compared).replace_strict(rank, default=len(rank), return_dtype=pl.Int64),
            _order=by_seed,
        )
        .sort(_PLACE, "_rank")
        .with_columns(pl.col(_BASELINE, _VARIANT, "seed").list.gather(pl.col("_order")))
    )


def _resampled(frame: pl.DataFrame, question: Question, seed: int) -> tuple[Draws, Times, Times]:
    """Draw the gains of all rows; give also the ends of their intervals."""
    drawn = np.full((len(frame), resampling.RESAMPLES), np.nan)
    low, high = np.full(len(frame), np.nan), np.full(len(frame), np.nan)
    rows = frame.select(_BASELINE, _VARIANT, "is_random").iter_rows()
    for at, (baseline, variant, is_random) in enumerate(rows):
        gain = statistics.median(baseline) / statistics.median(variant)
        if not is_random:
            drawn[at] = gain
        elif len(baseline) >= LEAST_PAIRS:
            # One looks several times where runs go on until the gains are known.
            until = question.until
            confidence = until.confidence_after(len(baseline)) if until else CONFIDENCE
            *ends, drawn[at] = resampling.resample(baseline, variant, seed, confidence)
            # What was found is not outside of what may be.
            low[at], high[at] = min(ends[0], gain), max(ends[1], gain)
    return drawn, low, high


def _where_known(values: Times) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64).fill_nan(None)


def _left_out(medians: pl.DataFrame, frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Say which conditions have no gain, and why."""
    compared, on = question.compared, [_PLACE, question.compared]
    sides = medians.select(*on, "completed")
    is_baseline = pl.col(compared) == question.baseline
    baselines = sides.filter(is_baseline).select(_PLACE, _baseline="completed")
    variants = sides.rename({"completed": "_variant"})
    challengers = sides.select(compared).filter(~is_baseline).unique(maintain_order=True)
    conditions = medians.select(_PLACE, *question.others).unique(_PLACE, maintain_order=True)
    wanted = (
        conditions.join(challengers, how="cross")
        .join(frame, on=on, how="anti", maintain_order="left")
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
        .otherwise(pl.lit("no seed completed both"))
    )
    return wanted.select(*question.others, compared, why=why)
