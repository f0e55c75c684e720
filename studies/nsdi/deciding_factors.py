"""Which factors decide: the decision tree of section 4.2.1, rule by rule, and three rankings, as tables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from loadstone.analysis import tree
from loadstone.analysis.gain_tables import ranking
from loadstone.analysis.training_set import MOST_DEPTH
from loadstone.analysis.tree import Tree
from loadstone.reproduce.study import Table

from .laboratory import FASTER, HTTP, SLOWER, SPDY, TCP_PLUS, Levels, among
from .synthetic import Synthetic

_MANY, _FEW = [64, 128, 512], [2, 8, 16, 32]
_SMALL, _LARGE = ["100B"], ["1KB", "10KB", "100KB", "1MB"]
_MUCH_LOSS, _LITTLE_LOSS = [1, 2], [0, 0.5]
_GOOD: Levels = {"rtt": [20], "rate": [10], "loss": _LITTLE_LOSS}


@dataclass(frozen=True)
class Rule:
    """A branch of the study's tree, as its text has it."""

    words: str
    leads_to: str
    only: Levels
    """Its conditions, by the study's thresholds for high and low."""


RULES = {
    "NS33": Rule("much loss", HTTP, {"loss": _MUCH_LOSS}),
    "NS34": Rule("many small objects", SPDY, {"objects": _MANY, "size": _SMALL}),
    "NS35": Rule("small objects, little loss", SPDY, {"size": _SMALL, "loss": _LITTLE_LOSS}),
    "NS36": Rule(
        "many large objects, little loss", SPDY, {"objects": _MANY, "size": _LARGE, "loss": _LITTLE_LOSS}
    ),
    "NS37": Rule("few objects, good network, large window", SPDY, {**_GOOD, "objects": _FEW, "iw": [21, 32]}),
}
_BESIDE: Mapping[str, Levels] = {
    "NS37 with windows below 21": {**_GOOD, "objects": _FEW, "iw": [3, 10]},
    "NS33 without many small objects: large ones": {"loss": _MUCH_LOSS, "size": _LARGE},
    "NS33 without many small objects: few small ones": {
        "loss": _MUCH_LOSS,
        "size": _SMALL,
        "objects": _FEW,
    },
    "NS33, objects of 10 KB and more": {"loss": _MUCH_LOSS, "size": _LARGE[1:]},
}
"""What explains them."""


@dataclass(frozen=True)
class _Shares:
    """Of the conditions of a rule, how many have which label by the study's thresholds."""

    conditions: int
    spdy: float
    http: float
    ratio: float
    """The median of SPDY's time over HTTP's."""

    def words(self) -> str:
        """Say it in short."""
        return f"SPDY {self.spdy:.0%}, HTTP {self.http:.0%}, ratio {self.ratio:.2f}"


def rules_table(swept: Synthetic) -> Table:
    """Show which labels the conditions of each rule have."""
    named: dict[str, Levels] = {
        f"{id} {rule.words}: {rule.leads_to}": rule.only for id, rule in RULES.items()
    }
    rows = [
        [words, *_row(_shares(swept, SPDY, only)), _shares(swept, TCP_PLUS, only).words()]
        for words, only in {**named, **_BESIDE}.items()
    ]
    head = ["rule", "conditions", "SPDY better", "HTTP better", "equal", "median ratio", "with TCP+"]
    return Table("rules", "Do the rules of the study's tree hold?", head, rows)


def supplemental(swept: Synthetic) -> tuple[Table, Tree]:
    """Grow a tree for each object size, whose levels as they are, and one for all of them."""
    question = swept.of(SPDY)
    asked = replace(question, high={})
    frame = swept.gains.of(SPDY).frame
    each = [tree.grow(frame, asked, only={"size": size}) for size in question.factors["size"]]
    whole = tree.grow(frame, asked)
    rows = [_tree_row(str(size), one) for size, one in zip(question.factors["size"], each, strict=True)]
    rows.append(_tree_row("all", whole))
    head = ["object size", "questions in a row", "right", "always the commonest label", "what decides"]
    note = "Right: about conditions that a tree was not grown on, by ten-fold cross-validation."
    return Table("trees", "How far can trees of some conditions be trusted?", head, rows, 1, note), whole


def _tree_row(name: str, one: Tree) -> list[str]:
    known = one.accuracy
    right = [f"{known.commonest:.0%}", f"{known.trivial:.0%}"] if known else ["-", "-"]
    decides = ", ".join(f"{factor} {share:.0%}" for factor, share in one.importance[:4])
    return [name, str(one.depth), *right, decides]


def _shares(swept: Synthetic, challenger: str, only: Levels) -> _Shares:
    where = [among(name, levels) for name, levels in only.items()]
    ratios = swept.ratios(challenger).filter(*where)["ratio"].to_numpy()
    return _Shares(
        len(ratios),
        float(np.mean(ratios < FASTER)),
        float(np.mean(ratios > SLOWER)),
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

Shares = dict[str, float]
HIGH = {"rtt": 100, "rate": 10, "loss": 1, "iw": 21, "bytes": 1000, "objects": 64}
"""From where on the study calls a factor high; `bytes` is the size of an object."""


def rankings(swept: Synthetic) -> list[Table]:
    """Show how much each factor decides, by each way of asking."""
    return [_table(swept, name) for name in (SPDY, TCP_PLUS)]


def importance(ratios: pl.DataFrame, *, is_high: bool = True) -> Shares:
    """Give each factor's share of the order that a tree brings, the greatest first.

    The tree is grown out, but no leaf has less than a hundredth of the conditions. Factors are high or low,
    or have their levels.
    """
    columns = [
        (ratios[name] >= bar if is_high else ratios[name]).cast(pl.Float64).to_numpy()
        for name, bar in HIGH.items()
    ]
    shares = grown(np.column_stack(columns), labels(ratios)).feature_importances_
    return dict(sorted(zip(HIGH, map(float, shares), strict=True), key=lambda pair: -pair[1]))


def labels(ratios: pl.DataFrame) -> NDArray[np.int64]:
    """Say which is better by the study's bars: -1 SPDY, 1 HTTP, 0 neither."""
    each = ratios["ratio"].to_numpy()
    return (each > SLOWER).astype(np.int64) - (each < FASTER)


def grown(features: NDArray[np.float64], labels: NDArray[np.int64]) -> Any:
    """Grow a tree out."""
    from sklearn.tree import DecisionTreeClassifier

    leaf = max(2, math.ceil(len(labels) / 100))
    tree = DecisionTreeClassifier(max_depth=MOST_DEPTH, min_samples_leaf=leaf, random_state=0)
    return tree.fit(features, labels)


def total_effects(ratios: pl.DataFrame, factors: Sequence[str]) -> Shares:
    """Say what share of the variance of ln(ratio) is open where all factors but one are known."""
    logs = ratios.with_columns(log=pl.col("ratio").log())
    whole = float(np.var(logs["log"].to_numpy()))
    effects = {}
    for name in factors:
        within = logs.group_by([other for other in factors if other != name], maintain_order=True).agg(
            pl.col("log").var(ddof=0)
        )
        effects[name] = float(np.mean(within["log"].to_numpy())) / whole if whole else 0.0
    return effects


def _table(swept: Synthetic, challenger: str) -> Table:
    ratios = swept.ratios(challenger)
    trees = [importance(ratios, is_high=is_high) for is_high in (True, False)]
    total = total_effects(ratios.drop("size"), [*HIGH])
    alone = {one.factor: one.explained for one in ranking(swept.gains.of(challenger))}
    alone["bytes"] = alone["size"]
    rows = [
        ["size" if name == "bytes" else name, *(f"{each[name]:.0%}" for each in (*trees, total, alone))]
        for name in trees[0]
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
