"""What a decision tree learns from, and how far to trust what it has learned."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from loadstone.analysis import features
from loadstone.analysis.features import Factor, Feature
from loadstone.analysis.question import Level, Question, named, spelled
from loadstone.files import InputError

EQUAL = "equal"

Only = Mapping[str, Level | Sequence[Level]]
"""The levels of some factors, to which conditions are restricted."""


@dataclass(frozen=True)
class Thresholds:
    """When a level counts as better, and a leaf as decided; the defaults are those of the NSDI study."""

    faster: float = 0.9
    """The challenger is better if it takes less than this share of the baseline's time."""
    slower: float = 1.1
    """The baseline is better if the challenger takes more than this multiple of its time."""
    likelihood: float = 0.75
    """A leaf is marked by its commonest label if that has more than this share of it, otherwise equal."""

    def __post_init__(self) -> None:
        if not 0 < self.faster <= 1 <= self.slower:
            thresholds = f"{self.faster:g} and {self.slower:g}"
            raise InputError(f"bars: {thresholds} are not below and above 1: give for instance 0.9 and 1.1")
        if not 0 <= self.likelihood < 1:
            raise InputError(f"likelihood: {self.likelihood:g} is no share below 1: give for instance 0.75")


@dataclass(frozen=True)
class Sample:
    """Labelled conditions."""

    factors: list[Factor]
    features: list[Feature]
    classes: list[str]
    """What a label says: a challenger or the baseline is better, or, last, that they are equal."""
    places: list[tuple[int, ...]]
    """The step of each factor, by condition."""
    matrix: Any
    """The features, a row per condition."""
    labels: Any
    """The class of each condition, as its place in `classes`."""
    gains: Any
    """The gain of each challenger, a row per condition."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def counts(self) -> list[int]:
        """Say how many conditions have each label."""
        counts: list[int] = np.bincount(self.labels, minlength=len(self.classes)).tolist()
        return counts


def restricted(gains: pl.DataFrame, question: Question, only: Only) -> pl.DataFrame:
    """Keep the conditions at the levels of `only`."""
    for name, wanted in only.items():
        if name not in question.others:
            raise InputError(f"{name}: is no factor of a condition: give one of {', '.join(question.others)}")
        levels = [wanted] if isinstance(wanted, str | int | float) else list(wanted)
        known = {spelled(level) for level in question.factors[name]}
        if missing := [spelled(level) for level in levels if spelled(level) not in known]:
            raise InputError(f"{name}: has no level {missing[0]}: give one of {', '.join(sorted(known))}")
        gains = features.rows_at(gains, name, levels)
    return gains


def sample(
    gains: pl.DataFrame, question: Question, challengers: Sequence[Level], thresholds: Thresholds
) -> Sample:
    """Label the conditions in which all these challengers were held against the baseline."""
    wide = _wide(gains, question, challengers)
    ratios, gained = (
        wide.select(_column(what, at) for at in range(len(challengers))).to_numpy()
        for what in ("ratio", "gain")
    )
    read = features.factors(wide, question)
    columns = features.features(read)
    places = features.places(wide, read)
    matrix = np.array(
        [[column.value(at[read.index(column.factor)]) for column in columns] for at in places],
        dtype=np.float32,
    ).reshape(len(places), len(columns))
    return Sample(
        factors=read,
        features=columns,
        classes=[*(named(question.compared, level) for level in (*challengers, question.baseline)), EQUAL],
        places=places,
        matrix=matrix,
        labels=np.array([_label(row, thresholds) for row in ratios], dtype=np.int64),
        gains=gained,
    )


def _column(what: str, at: int) -> str:
    return f"{what} of challenger {at}"


def _wide(gains: pl.DataFrame, question: Question, challengers: Sequence[Level]) -> pl.DataFrame:
    """Put the gains of the challengers next to each other; the order of the conditions stays."""
    others = [name for name in question.others if name in gains.columns]
    parts = [
        features.rows_at(gains, question.compared, [level])
        .filter(pl.col("gain").is_finite() & (pl.col("gain") > 0))
        .select(
            *others,
            (pl.col("variant_ms") / pl.col("baseline_ms")).alias(_column("ratio", at)),
            pl.col("gain").alias(_column("gain", at)),
        )
        for at, level in enumerate(challengers)
    ]
    if not others:
        return pl.concat(parts, how="horizontal").drop_nulls()
    return reduce(
        lambda left, right: left.join(right, on=others, how="inner", nulls_equal=True, maintain_order="left"),
        parts,
    )


def _label(ratios: Any, thresholds: Thresholds) -> int:
    """Say which is better by the challengers' times over the baseline's.

    It is a challenger if one is faster by the bar: of those within that bar of the fastest the first in the
    matrix's order, so that a hair's breadth decides nothing. It is the baseline if all are slower by the bar.
    """
    count = len(ratios)
    best = ratios.min()
    if best < thresholds.faster:
        return next(
            at
            for at in range(count)
            if ratios[at] < thresholds.faster and ratios[at] * thresholds.faster <= best
        )
    return count if best > thresholds.slower else count + 1


# --- cross-validation ---

FOLDS = 10
MOST_DEPTH = 6
"""The most questions in a row, unless a depth is given: no one reads longer rules."""
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


def choose_depth(sample: Sample, thresholds: Thresholds) -> int:
    """Give the least depth whose accuracy is within one standard error of the best."""
    # Dealt otherwise than for the accuracy: what was chosen for a score looks better by it than it is.
    folds = _folds(sample, _SEED + 1)
    scores = [
        _shares(_out_of_fold(sample, folds, depth, thresholds)[0], folds) for depth in range(MOST_DEPTH + 1)
    ]
    means = [float(np.mean(row)) for row in scores]
    best = means.index(max(means))
    return next(at for at, mean in enumerate(means) if mean >= means[best] - _standard_error(scores[best]))


def accuracy(sample: Sample, depth: int, thresholds: Thresholds) -> Accuracy:
    """Ask trees of this depth about the conditions that they were not grown on."""
    folds = _folds(sample, _SEED)
    marks, commonest = _out_of_fold(sample, folds, depth, thresholds)
    shares = _shares(marks, folds)
    return Accuracy(
        folds=len(shares),
        marks=float(marks.mean()),
        error=_standard_error(shares),
        commonest=float(commonest.mean()),
        trivial=max(sample.counts) / len(sample),
        levels={
            factor.name: float(_out_of_fold(sample, _by_level(sample, at), depth, thresholds)[0].mean())
            for at, factor in enumerate(sample.factors)
        },
    )


def _out_of_fold(sample: Sample, folds: Any, depth: int, thresholds: Thresholds) -> tuple[Any, Any]:
    """Say of each condition whether the tree of the other folds is right: by its marks, by its leaves."""
    by_mark = np.zeros(len(sample), dtype=bool)
    by_leaf = np.zeros(len(sample), dtype=bool)
    for k in range(folds.max() + 1):
        asked = folds == k
        tree = fit(sample, ~asked, depth)
        said, truth = _predicted(tree, sample, asked), sample.labels[asked]
        is_decided = tree.predict_proba(sample.matrix[asked]).max(axis=1) > thresholds.likelihood
        by_leaf[asked] = said == truth
        by_mark[asked] = np.where(is_decided, said, len(sample.classes) - 1) == truth
    return by_mark, by_leaf


def _shares(is_right: Any, folds: Any) -> list[float]:
    """Give the share of each fold that is right."""
    return [float(is_right[folds == k].mean()) for k in range(folds.max() + 1)]


def _predicted(tree: Any, sample: Sample, rows: Any) -> Any:
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


def _standard_error(scores: list[float]) -> float:
    return float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else 0.0
