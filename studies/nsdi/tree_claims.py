"""Section 4.2.1: whether the rules of the study's tree hold here, and whether the same factors decide."""

from functools import partial

import numpy as np
import polars as pl

from loadstone.analysis.training_set import FOLDS, Thresholds
from loadstone.reproduce.judge import Figure, Judge, above

from .deciding_factors import HIGH, RULES, Rule, grown, importance, labels
from .laboratory import FASTER, HTTP, SLOWER, SPDY, TCP_PLUS
from .otherwise import read
from .synthetic import SweepLoads, ratios

_MARK = Thresholds().likelihood
"""The study marks a leaf by a label that more than this share of its conditions has."""
_OFTEN = "a rule leads to what is better more often"
_BEHIND = ("rtt", "rate", "iw")
"""What the study names as less important than size and loss; of the number of objects it says nothing."""
_SUBSETS = ("bytes", "loss", "rtt", "rate", "objects")
"""Factors for each of whose levels a supplemental tree may have been grown: which the study does not say."""


def judge(loads: SweepLoads, judge: Judge) -> None:
    """Judge them."""
    for id, rule in RULES.items():
        evidence = read(loads.evidence(rule.only), "mark", _MARK, {_OFTEN: 0})
        judge.finding(id, evidence, partial(_rule, rule))
    everything = loads.evidence({})
    judge.finding("NS38", everything, _ranking, "a tree over the study's high and low factors")
    judge.finding(
        "NS58", loads.evidence({}, (HTTP, SPDY, TCP_PLUS)), _ranking_with, "of six factors; as the one before"
    )
    others = {f"a tree for each level of {name}": at for at, name in enumerate(_SUBSETS) if at}
    judge.number("NS32", read(everything, "subsets", 0, others), _least_accuracy, _FOLDED, digits=0)


_FOLDED = "the worst of the trees for each object size, about conditions that it was not grown on"


def _rule(rule: Rule, loads: pl.DataFrame) -> list[Figure]:
    found = ratios(loads)["ratio"].to_numpy()
    shares = {SPDY: float(np.mean(found < FASTER)), HTTP: float(np.mean(found > SLOWER))}
    other = shares[HTTP if rule.leads_to == SPDY else SPDY]
    mark = float(loads["mark"][0]) or other
    return [above(f"{rule.leads_to} is better in", 100 * shares[rule.leads_to], 100 * mark, 0, "%")]


def _ranking(loads: pl.DataFrame) -> list[Figure]:
    shares = importance(ratios(loads))
    next_to_size = max(share for name, share in shares.items() if name != "bytes")
    behind = max(shares[name] for name in _BEHIND)
    return [
        above("share of size, more than of any other,", shares["bytes"] - next_to_size, 0),
        above("of loss, more than of round trip, rate and window,", shares["loss"] - behind, 0),
    ]


def _ranking_with(loads: pl.DataFrame) -> list[Figure]:
    alone, plus = (importance(ratios(loads, name)) for name in (SPDY, TCP_PLUS))
    second = sorted(plus.values())[-2]
    return [
        above("loss' share less than with SPDY alone by", alone["loss"] - plus["loss"], 0),
        above("and than that of the second factor by", second - plus["loss"], 0),
    ]


def _least_accuracy(loads: pl.DataFrame) -> float:
    subsets = _SUBSETS[int(loads["subsets"][0])]
    found = ratios(loads).sort(*HIGH)
    return min(_accuracy(part) for _, part in found.group_by(subsets, maintain_order=True))


def _accuracy(found: pl.DataFrame) -> float:
    """Say in how many percent of the conditions a tree of the others is right, by ten folds."""
    features, known = found.select(*HIGH).to_numpy(), labels(found)
    folds = np.random.default_rng(0).integers(FOLDS, size=len(known))
    right = [
        grown(features[folds != fold], known[folds != fold]).predict(features[folds == fold])
        == known[folds == fold]
        for fold in range(FOLDS)
        if (folds == fold).any()
    ]
    return 100 * float(np.mean(np.concatenate(right)))
