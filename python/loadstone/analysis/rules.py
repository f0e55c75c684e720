"""The rules of a tree in words: each leaf is one, and every condition falls under exactly one."""

import statistics
from dataclasses import dataclass
from typing import Any

from loadstone import text
from loadstone.analysis.branches import Node
from loadstone.analysis.features import Kind
from loadstone.analysis.labels import Bars, Sample
from loadstone.analysis.levels import spelled

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
        """Say what it comes to, with likelihood and support."""
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


def rule(leaf: Node, sample: Sample, bars: Bars) -> Rule:
    """Say in words what a leaf says."""
    parts = [
        (factor, kept)
        for factor, kept in zip(sample.factors, leaf.kept, strict=True)
        if len(kept) < len(factor.steps)
    ]
    counts = sorted(zip(sample.classes, leaf.counts, strict=True), key=lambda pair: -pair[1])
    mark = leaf.mark(bars)
    gains = sample.gains[list(leaf.rows)]
    shown = gains[:, mark] if mark < gains.shape[1] else gains.max(axis=1)
    return Rule(
        words=" and ".join(factor.words(kept) for factor, kept in parts) or ALWAYS,
        mark=sample.classes[mark],
        shares={label: count / leaf.support for label, count in counts if count},
        is_decided=leaf.is_decided(bars),
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
