"""Which factors decide: the decision tree of section 4.2.1, rule by rule, and three rankings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from loadstone.analysis import training_set, tree
from loadstone.analysis.gain_tables import ranking
from loadstone.analysis.training_set import Thresholds
from loadstone.analysis.tree import Tree
from loadstone.reproduce.claims import Claims
from loadstone.reproduce.study import Table

from .laboratory import HTTP, SPDY, TCP_PLUS
from .synthetic import FACTORS, Synthetic

_MANY, _SMALL, _LITTLE_LOSS = pl.col("objects") >= 64, pl.col("bytes") < 1000, pl.col("losses") < 1
_GOOD = (pl.col("rtt") < 100) & (pl.col("rate") >= 10) & _LITTLE_LOSS
_LARGE_WINDOW = pl.col("iw") >= 21


@dataclass(frozen=True)
class _Rule:
    claim: str
    words: str
    leads_to: str
    where: pl.Expr


# A condition falls under one rule of a tree: what the second says of many small objects the first does not.
_RULES = (
    _Rule("NS33", "much loss, but for many small objects", HTTP, ~_LITTLE_LOSS & ~(_MANY & _SMALL)),
    _Rule("NS34", "many small objects", SPDY, _MANY & _SMALL),
    _Rule("NS35", "small objects, little loss", SPDY, _SMALL & _LITTLE_LOSS),
    _Rule("NS36", "many large objects, little loss", SPDY, _MANY & ~_SMALL & _LITTLE_LOSS),
    _Rule("NS37", "few objects, good network, large window", SPDY, ~_MANY & _GOOD & _LARGE_WINDOW),
)
_BESIDE = (
    ("the same, window below 21", ~_MANY & _GOOD & ~_LARGE_WINDOW),
    ("much loss, objects of 10 KB and more", ~_LITTLE_LOSS & (pl.col("bytes") >= 10_000)),
    ("much loss, objects of 1 KB and less", ~_LITTLE_LOSS & (pl.col("bytes") < 10_000)),
)
"""What explains them."""


@dataclass(frozen=True)
class _Shares:
    """Of the conditions of a rule, how many have which label by the study's thresholds."""

    conditions: int
    spdy: float
    http: float
    ratio: float
    """The median of SPDY's time over HTTP's."""

    def leads_to(self, label: str) -> bool:
        """Say whether that protocol is better more often than the other, and at the median."""
        return (
            self.spdy > self.http and self.ratio < 1
            if label == SPDY
            else self.http > self.spdy and self.ratio > 1
        )

    def words(self) -> str:
        """Say it in short."""
        return f"SPDY {self.spdy:.0%}, HTTP {self.http:.0%}, ratio {self.ratio:.2f}"


def judge_rules(swept: Synthetic, claims: Claims) -> Table:
    """Judge the rules: each leads to a protocol that is better by 10 % more often than the other is."""
    thresholds = Thresholds()
    rows = []
    for rule in _RULES:
        shares, plus = (_shares(swept, name, rule.where, thresholds) for name in (SPDY, TCP_PLUS))
        greatest = max(shares.spdy, shares.http)
        marked = greatest if greatest > thresholds.likelihood else None
        why = (
            "its label has more than the study's 0.75"
            if marked
            else "by the study's own bar of 0.75 the rule's conditions together would be marked equal"
        )
        claims.finding(rule.claim, shares.leads_to(rule.leads_to), shares.words(), why)
        rows.append([f"{rule.words}: {rule.leads_to}", *_row(shares), plus.words()])
    rows += [
        [
            words,
            *_row(_shares(swept, SPDY, where, thresholds)),
            _shares(swept, TCP_PLUS, where, thresholds).words(),
        ]
        for words, where in _BESIDE
    ]
    claims.same("NS29", f"{thresholds.faster}")
    claims.same("NS30", f"{thresholds.slower}")
    claims.same("NS31", f"{thresholds.likelihood}")
    head = ["rule", "conditions", "SPDY better", "HTTP better", "equal", "median ratio", "with TCP+"]
    return Table("rules", "Do the rules of the study's tree hold?", head, rows)


def supplemental(swept: Synthetic, claims: Claims) -> tuple[Table, Tree]:
    """Grow a tree for each object size, whose levels as they are, and one for all of them."""
    question = swept.of(SPDY)
    asked = replace(question, high={})
    frame = swept.gains.of(SPDY).frame
    each = [tree.grow(frame, asked, only={"size": size}) for size in question.factors["size"]]
    whole = tree.grow(frame, asked)
    rows = [_tree_row(str(size), one) for size, one in zip(question.factors["size"], each, strict=True)]
    rows.append(_tree_row("all", whole))
    known = {
        str(size): 100 * one.accuracy.commonest
        for size, one in zip(question.factors["size"], each, strict=True)
        if one.accuracy
    }
    worst = min(known, key=lambda size: known[size])
    claims.number(
        "NS32",
        known[worst],
        f"a tree for each object size, by cross-validation; the worst is that of {worst}. On which subsets "
        "the study grew its trees it does not say",
        digits=0,
    )
    head = ["object size", "questions in a row", "right", "always the commonest label", "what decides"]
    note = "Right: about conditions that a tree was not grown on, by ten-fold cross-validation."
    return Table("trees", "How far can trees of some conditions be trusted?", head, rows, 1, note), whole


def _tree_row(name: str, one: Tree) -> list[str]:
    known = one.accuracy
    right = [f"{known.commonest:.0%}", f"{known.trivial:.0%}"] if known else ["-", "-"]
    decides = ", ".join(f"{factor} {share:.0%}" for factor, share in one.importance[:4])
    return [name, str(one.depth), *right, decides]


def _shares(swept: Synthetic, challenger: str, where: pl.Expr, thresholds: Thresholds) -> _Shares:
    ratios = swept.ratios(challenger).filter(where)["ratio"].to_numpy()
    return _Shares(
        len(ratios),
        float(np.mean(ratios < thresholds.faster)),
        float(np.mean(ratios > thresholds.slower)),
        float(np.median(ratios)),
    )


def _row(shares: _Shares) -> list[str]:
    equal = 1 - shares.spdy - shares.http
    return [
        f"{shares.conditions:,}",
        *(f"{share:.0%}" for share in (shares.spdy, shares.http, equal)),
        f"{shares.ratio:.2f}",
    ]


# --- rankings, asked in three ways, without TCP+ and with it ---

_BEHIND = ("rtt", "rate", "iw")
"""What the study names as less important than size and loss; of the number of objects it says nothing."""

Shares = dict[str, float]


def judge_ranking(swept: Synthetic, claims: Claims) -> list[Table]:
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
        swept.gains.of(challenger).frame, replace(question, high=high), [challenger], Thresholds()
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
