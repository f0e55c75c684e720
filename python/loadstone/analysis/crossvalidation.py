"""How far to trust a tree: grown on some conditions, asked about the others."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.analysis.labels import Bars, Sample

FOLDS = 10
MOST_DEPTH = 6
"""The most questions in a row, unless a depth is given: rules of more are read by nobody."""
_MOST_LEVELS = 50
_SEED = 7


@dataclass(frozen=True)
class Accuracy:
    """Shares of conditions that a tree says right which it has not seen."""

    folds: int
    marks: float
    """By the marks, which are what the rules say."""
    error: float
    """The standard error of that, over the folds."""
    commonest: float
    """By the commonest label of each leaf."""
    trivial: float
    """By always saying the label that is the commonest of all."""
    levels: dict[str, float]
    """By the marks, about each level of a factor from the other levels."""


def fit(sample: Sample, rows: Any, depth: int) -> Any:
    """Grow a tree on these conditions; a leaf has a hundredth of them at least, and two."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(
        max_depth=depth or 1,
        # A root that may not split is a tree of depth 0.
        min_samples_split=2 if depth else len(rows) + 2,
        min_samples_leaf=max(2, math.ceil(len(rows) / 100)),
        random_state=_SEED,
    )
    return tree.fit(sample.matrix[rows], sample.labels[rows])


def choose_depth(sample: Sample, bars: Bars) -> int:
    """Give the least depth whose marks are no worse than the best, but for one standard error of the best."""
    # Dealt otherwise than for the accuracy: what was chosen for a score looks better by it than it is.
    folds = _folds(sample, _SEED + 1)
    scores = [_shares(_right(sample, folds, depth, bars)[0], folds) for depth in range(MOST_DEPTH + 1)]
    means = [float(np.mean(row)) for row in scores]
    best = means.index(max(means))
    return next(at for at, mean in enumerate(means) if mean >= means[best] - _error(scores[best]))


def accuracy(sample: Sample, depth: int, bars: Bars) -> Accuracy:
    """Ask trees of this depth about the conditions that they were not grown on."""
    folds = _folds(sample, _SEED)
    marks, commonest = _right(sample, folds, depth, bars)
    shares = _shares(marks, folds)
    return Accuracy(
        folds=len(shares),
        marks=float(marks.mean()),
        error=_error(shares),
        commonest=float(commonest.mean()),
        trivial=max(sample.counts) / len(sample),
        levels={
            factor.name: float(_right(sample, _by_level(sample, at), depth, bars)[0].mean())
            for at, factor in enumerate(sample.factors)
        },
    )


def _right(sample: Sample, folds: Any, depth: int, bars: Bars) -> tuple[Any, Any]:
    """Say of each condition whether the tree of the other folds is right: by its marks, by its leaves."""
    by_mark = np.zeros(len(sample), dtype=bool)
    by_leaf = np.zeros(len(sample), dtype=bool)
    for k in range(folds.max() + 1):
        asked = folds == k
        tree = fit(sample, ~asked, depth)
        said, truth = _said(tree, sample, asked), sample.labels[asked]
        is_decided = tree.predict_proba(sample.matrix[asked]).max(axis=1) > bars.likelihood
        by_leaf[asked] = said == truth
        by_mark[asked] = np.where(is_decided, said, len(sample.classes) - 1) == truth
    return by_mark, by_leaf


def _shares(is_right: Any, folds: Any) -> list[float]:
    """Give the share of each fold that is right."""
    return [float(is_right[folds == k].mean()) for k in range(folds.max() + 1)]


def _said(tree: Any, sample: Sample, rows: Any) -> Any:
    return tree.predict(sample.matrix[rows])


def _folds(sample: Sample, seed: int) -> Any:
    """Deal the conditions of each label over the folds, so that each has about its share of every label."""
    order = np.random.default_rng(seed).permutation(len(sample))
    order = order[np.argsort(sample.labels[order], kind="stable")]
    folds = np.empty(len(sample), dtype=np.int64)
    folds[order] = np.arange(len(sample)) % min(FOLDS, len(sample))
    return folds


def _by_level(sample: Sample, factor: int) -> Any:
    """Put each level into a fold of its own; of more than 50, as pages may be, several share one.

    Each fold takes a tree, and one level in fifty hardly changes what a tree learns from the others.
    """
    return np.array([place[factor] for place in sample.places]) % _MOST_LEVELS


def _error(scores: list[float]) -> float:
    return float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else 0.0
