"""A decision tree as it is read: its nodes in steps of factors, and its leaves as rules in words."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone import text
from loadstone.analysis.features import Factor, Kind
from loadstone.analysis.question import spelled
from loadstone.analysis.training_set import Sample, Thresholds

Kept = tuple[frozenset[int], ...]
"""The steps of each factor at which a node's conditions are."""


@dataclass(frozen=True)
class Node:
    """Conditions that have taken the same branches."""

    kept: Kept
    rows: tuple[int, ...]
    """The conditions, as their places in the sample."""
    counts: tuple[int, ...]
    """How many of them have each label."""
    factor: int | None = None
    """The factor whose steps go apart below; `None` in a leaf."""
    branches: tuple["Node", ...] = ()
    """The lower steps, then the higher; of names, the one that is told from the others comes first."""

    @property
    def support(self) -> int:
        """Say how many conditions are here."""
        return len(self.rows)

    @property
    def commonest(self) -> int:
        """Give the label that most of them have; of equally many the first."""
        return self.counts.index(max(self.counts))

    @property
    def likelihood(self) -> float:
        """Give the share of them that has it."""
        return max(self.counts) / self.support if self.support else 0.0

    def is_decided(self, thresholds: Thresholds) -> bool:
        """Say whether the commonest label is common enough."""
        return self.likelihood > thresholds.likelihood

    def mark(self, thresholds: Thresholds) -> int:
        """Give the label by which the leaf is marked: the last, which is equal, if none is common enough."""
        return self.commonest if self.is_decided(thresholds) else len(self.counts) - 1

    def leaves(self) -> Iterator["Node"]:
        """Give the leaves, from the top down."""
        if not self.branches:
            yield self
        for branch in self.branches:
            yield from branch.leaves()

    def inner(self) -> Iterator["Node"]:
        """Give the nodes that are no leaves."""
        if self.branches:
            yield self
        for branch in self.branches:
            yield from branch.inner()

    def impurity(self) -> float:
        """Give Gini's impurity, times the number of conditions."""
        return self.support - sum(count**2 for count in self.counts) / self.support


def read(fitted: Any, sample: Sample, thresholds: Thresholds) -> Node:
    """Read the tree that scikit-learn has fitted to the sample; leaves that say the same become one."""
    whole = tuple(frozenset(range(len(factor.steps))) for factor in sample.factors)
    return _read(fitted.tree_, 0, sample, np.arange(len(sample)), whole, thresholds)


def only_leaf(sample: Sample) -> Node:
    """Give the tree without branches."""
    whole = tuple(frozenset(range(len(factor.steps))) for factor in sample.factors)
    return Node(whole, tuple(range(len(sample))), tuple(sample.counts))


def importance(root: Node, factors: list[Factor]) -> list[tuple[str, float]]:
    """Say what share of the order that the tree brings is each factor's; the greatest first."""
    gained = [0.0] * len(factors)
    for node in root.inner():
        if node.factor is not None:
            gained[node.factor] += node.impurity() - sum(branch.impurity() for branch in node.branches)
    total = sum(gained)
    shares = [(factor.name, part / total) for factor, part in zip(factors, gained, strict=True) if part > 0]
    return sorted(shares, key=lambda share: -share[1])


def _read(tree: Any, at: int, sample: Sample, rows: Any, kept: Kept, thresholds: Thresholds) -> Node:
    counts = tuple(np.bincount(sample.labels[rows], minlength=len(sample.classes)).tolist())
    leaf = Node(kept, tuple(rows.tolist()), counts)
    if tree.children_left[at] < 0:
        return leaf
    is_left = sample.matrix[rows, tree.feature[at]] <= tree.threshold[at]
    column, threshold, is_turned = _first_alike(sample, rows, is_left, tree, at)
    feature = sample.features[column]
    factor = sample.factors.index(feature.factor)
    below = feature.below(threshold)
    parts = []
    for is_below in (True, False):
        steps = kept[factor] & below if is_below else kept[factor] - below
        narrowed = (*kept[:factor], steps, *kept[factor + 1 :])
        is_first = is_below != is_turned
        child = (tree.children_left if is_first else tree.children_right)[at]
        parts.append(_read(tree, child, sample, rows[is_left == is_first], narrowed, thresholds))
    if feature.only is not None:
        parts.reverse()
    return leaf if _say_the_same(parts, thresholds) else Node(kept, leaf.rows, counts, factor, tuple(parts))


def _first_alike(sample: Sample, rows: Any, is_left: Any, tree: Any, at: int) -> tuple[int, float, bool]:
    """Give the first column, in the matrix's order, that parts the rows alike; which is by no chance then.

    Linked factors part conditions alike, and scikit-learn takes any of them. Gives the threshold too, and
    whether what was left is above it.
    """
    for column in range(tree.feature[at]):
        values = sample.matrix[rows, column]
        left, right = values[is_left], values[~is_left]
        if left.max() < right.min():
            return column, (float(left.max()) + float(right.min())) / 2, False
        if right.max() < left.min():
            return column, (float(right.max()) + float(left.min())) / 2, True
    return int(tree.feature[at]), float(tree.threshold[at]), False


def _say_the_same(parts: list[Node], thresholds: Thresholds) -> bool:
    """Say whether all are leaves with one mark for one reason. The leaf made of them has it as well."""
    marks = {(part.mark(thresholds), part.is_decided(thresholds)) for part in parts}
    return len(marks) == 1 and not any(part.branches for part in parts)


# --- rules in words ---

ALWAYS = "always"
UNDECIDED = "undecided"
"""How a leaf is called that counts as equal because no label is likely enough."""


@dataclass(frozen=True)
class Rule:
    """What a leaf says."""

    words: str
    """When it holds."""
    mark: str
    """The level that is better then, or that they are equal."""
    shares: dict[str, float]
    """The share of its conditions that has each label; the greatest first, and none that is 0."""
    is_decided: bool
    """Whether the mark is what the commonest label says, because that is common enough."""
    support: int
    """How many conditions fall under it."""
    gain: float
    """The median over them: of the marked challenger; of the fastest where none is marked."""
    levels: dict[str, list[Any]]
    """The levels of each factor at which it holds; factors without a part in it are left out."""

    @property
    def likelihood(self) -> float:
        """Give the share of the commonest label."""
        return next(iter(self.shares.values()))

    @property
    def word(self) -> str:
        """Give the mark, or that it is one for want of a likely label."""
        return self.mark if self.is_decided else UNDECIDED

    @property
    def verdict(self) -> str:
        """Say what it decides, with likelihood and support."""
        mixed = ", ".join(f"{share:.2f} {label}" for label, share in self.shares.items())
        likelihood = f"{self.likelihood:.2f}" if self.is_decided else mixed
        conditions = text.count(self.support, "condition")
        return f"{self.word} ({likelihood} of {conditions}, median gain {self.gain:.2f})"

    def __str__(self) -> str:
        return f"{self.words}: {self.verdict}"

    def document(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "when": self.words,
            "levels": {name: [spelled(level) for level in levels] for name, levels in self.levels.items()},
            "mark": self.mark,
            "is_decided": self.is_decided,
            "shares": self.shares,
            "conditions": self.support,
            "median_gain": self.gain,
        }


def rule(leaf: Node, sample: Sample, thresholds: Thresholds) -> Rule:
    """Say in words what a leaf says."""
    parts = [
        (factor, kept)
        for factor, kept in zip(sample.factors, leaf.kept, strict=True)
        if len(kept) < len(factor.steps)
    ]
    counts = sorted(zip(sample.classes, leaf.counts, strict=True), key=lambda pair: -pair[1])
    mark = leaf.mark(thresholds)
    gains = sample.gains[list(leaf.rows)]
    shown = gains[:, mark] if mark < gains.shape[1] else gains.max(axis=1)
    return Rule(
        words=" and ".join(factor.words(kept) for factor, kept in parts) or ALWAYS,
        mark=sample.classes[mark],
        shares={label: count / leaf.support for label, count in counts if count},
        is_decided=leaf.is_decided(thresholds),
        support=leaf.support,
        gain=float(statistics.median(shown)),
        levels={
            factor.name: [level for at in sorted(kept) for level in factor.steps[at]]
            for factor, kept in parts
        },
    )


def branch(node: Node, child: Node, sample: Sample) -> str:
    """Say in words which way a branch goes, as briefly as tells it from the other."""
    assert node.factor is not None
    factor, kept = sample.factors[node.factor], child.kept[node.factor]
    is_first = child is node.branches[0]
    if factor.kind is Kind.NAME:
        return factor.words(kept) if is_first or len(factor.steps) == 2 else f"another {factor.name}"
    # What went another way higher up needs no words here.
    return factor.words(range(max(kept) + 1) if is_first else range(min(kept), len(factor.steps)))
