"""Which factors decide, asked in three ways, without TCP+ and with it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from loadstone.analysis import training_set
from loadstone.analysis.gain_tables import ranking
from loadstone.analysis.training_set import Bars
from loadstone.reproduce.claims import Claims
from loadstone.reproduce.nsdi.loads import SPDY, TCP_PLUS
from loadstone.reproduce.nsdi.synthetic import FACTORS, Synthetic
from loadstone.reproduce.results import Table

_BEHIND = ("rtt", "rate", "iw")
"""What the study names as less important than size and loss; of the number of objects it says nothing."""

Shares = dict[str, float]


def judge(swept: Synthetic, claims: Claims) -> list[Table]:
    """Judge the ranking by a tree over the study's own factors, high and low, grown out."""
    trees = {name: importance(swept, name) for name in (SPDY, TCP_PLUS)}
    alone, plus = ([*trees[name]] for name in (SPDY, TCP_PLUS))
    ahead = all(trees[SPDY]["loss"] > trees[SPDY][name] for name in _BEHIND)
    claims.finding(
        "NS38",
        alone[0] == "size" and ahead,
        _words(trees[SPDY]),
        "shares of the order that a tree over the study's high and low factors brings; how far loss is "
        "ahead of the rate depends on the queue and on chance; by the levels as they are, the number of "
        "objects is second, of which the study says nothing",
    )
    claims.finding("NS58", "loss" not in plus[:2], _words(trees[TCP_PLUS]))
    return [_table(swept, name, trees[name]) for name in (SPDY, TCP_PLUS)]


def importance(swept: Synthetic, challenger: str, *, as_they_are: tuple[str, ...] = ()) -> Shares:
    """Give each factor's share of the order that a tree brings, the greatest first.

    The tree is grown out, but no leaf has less than a hundredth of the conditions. Factors are high or low by
    the study's thresholds, those of `as_they_are` have their levels.
    """
    question = swept.of(challenger)
    high = {name: value for name, value in question.high.items() if name not in as_they_are}
    sample = training_set.sample(
        swept.gains.of(challenger).frame, replace(question, high=high), [challenger], Bars()
    )
    grown = training_set.fit(sample, np.arange(len(sample)), training_set.MOST_DEPTH)
    shares = {
        one.factor.name: float(share)
        for one, share in zip(sample.features, grown.feature_importances_, strict=True)
    }
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def total_effects(ratios: pl.DataFrame, factors: Sequence[str]) -> Shares:
    """Say what share of the variance of ln(ratio) is open where all factors but one are known."""
    logs = ratios.with_columns(log=pl.col("ratio").log())
    whole = float(np.var(logs["log"].to_numpy()))
    effects = {}
    for name in factors:
        within = logs.group_by([other for other in factors if other != name], maintain_order=True).agg(
            pl.col("log").var(ddof=0)
        )
        effects[name] = float(np.mean(within["log"].to_numpy())) / whole
    return effects


def _table(swept: Synthetic, challenger: str, shares: Shares) -> Table:
    numbers = importance(swept, challenger, as_they_are=FACTORS)
    total = total_effects(swept.ratios(challenger), FACTORS)
    alone = {one.factor: one.explained for one in ranking(swept.gains.of(challenger))}
    rows = [
        [name, *(f"{each.get(name, 0):.0%}" for each in (shares, numbers, total, alone))] for name in shares
    ]
    return Table(
        f"ranking-{'tcp-plus' if challenger == TCP_PLUS else 'spdy'}",
        f"Which factors decide when {challenger} is faster than HTTP?",
        ["factor", "tree, high and low", "tree, levels as they are", "total effect", "by itself"],
        rows,
        1,
        "Trees: share of the order that questions about the factor bring. Total effect: share of the "
        "variance of ln(gain) that is open while this factor is unknown and all others are known; what "
        "factors do together counts for each. By itself: what its levels' means explain.",
    )


def _words(shares: Shares) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
