"""The decision tree of section 4.2.1: its rules, each held against all conditions that it is about."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from loadstone.analysis import tree
from loadstone.analysis.training_set import Bars
from loadstone.analysis.tree import Tree
from loadstone.reproduce.claims import Claims
from loadstone.reproduce.nsdi.loads import HTTP, SPDY, TCP_PLUS
from loadstone.reproduce.nsdi.synthetic import Synthetic
from loadstone.reproduce.results import Table

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
    """Of the conditions of a rule, how many have which label by the study's bars."""

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


def judge(swept: Synthetic, claims: Claims) -> Table:
    """Judge the rules: each leads to a protocol that is better by 10 % more often than the other is."""
    bars = Bars()
    rows = []
    for rule in _RULES:
        shares, plus = (_shares(swept, name, rule.where, bars) for name in (SPDY, TCP_PLUS))
        greatest = max(shares.spdy, shares.http)
        marked = greatest if greatest > bars.likelihood else None
        why = (
            "its label has more than the study's 0.75"
            if marked
            else "by the study's own bar of 0.75 the rule's conditions together would be marked equal"
        )
        claims.finding(rule.claim, shares.leads_to(rule.leads_to), shares.words(), why)
        rows.append([f"{rule.words}: {rule.leads_to}", *_row(shares), plus.words()])
    rows += [
        [words, *_row(_shares(swept, SPDY, where, bars)), _shares(swept, TCP_PLUS, where, bars).words()]
        for words, where in _BESIDE
    ]
    claims.same("NS29", f"{bars.faster}")
    claims.same("NS30", f"{bars.slower}")
    claims.same("NS31", f"{bars.likelihood}")
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


def _shares(swept: Synthetic, challenger: str, where: pl.Expr, bars: Bars) -> _Shares:
    ratios = swept.ratios(challenger).filter(where)["ratio"].to_numpy()
    return _Shares(
        len(ratios),
        float(np.mean(ratios < bars.faster)),
        float(np.mean(ratios > bars.slower)),
        float(np.median(ratios)),
    )


def _row(shares: _Shares) -> list[str]:
    equal = 1 - shares.spdy - shares.http
    return [
        f"{shares.conditions:,}",
        *(f"{share:.0%}" for share in (shares.spdy, shares.http, equal)),
        f"{shares.ratio:.2f}",
    ]
