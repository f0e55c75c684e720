"""Decision rules: under which conditions a level is better than the baseline, learned from the gains.

In the manner of the NSDI study of 2014: a condition is labelled by the ratio of the load times, a decision
tree is grown over the factors, and a leaf is marked where one label is likely enough.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from loadstone import text
from loadstone.analysis import decision_rules, training_set
from loadstone.analysis.decision_rules import UNDECIDED, Node, Rule, branch, rule
from loadstone.analysis.question import Level, Question, named, spelled
from loadstone.analysis.sections import listed
from loadstone.analysis.training_set import EQUAL, Accuracy, Only, Sample, Thresholds
from loadstone.files import InputError

LEAST_CONDITIONS = 12
"""Of fewer conditions no rule is drawn: half of them would be two or three times two."""
DEEPEST = 20


@dataclass(frozen=True)
class Tree:
    """Rules that say which level is better when."""

    question: Question
    challengers: tuple[Level, ...]
    """Held against the baseline: one, or all for the question which is best."""
    only: Only
    """To which conditions it was restricted."""
    thresholds: Thresholds
    sample: Sample
    root: Node
    depth: int
    """How many questions in a row were allowed; of branches that say the same, less is left."""
    accuracy: Accuracy | None
    """How far to trust it; left out where nothing was learned."""
    note: str
    """Why there are no rules; empty where there are."""

    @property
    def title(self) -> str:
        """Give the question that the rules answer."""
        compared = self.question.compared
        levels = [named(compared, level) for level in (*self.challengers, self.question.baseline)]
        limits = [f"with {name} {_either(wanted)}" for name, wanted in self.only.items()]
        asked = (
            f"When is {levels[0]} faster than {levels[1]}"
            if len(levels) == 2
            else f"Which of {', '.join(levels[:-1])} and {levels[-1]} is best when"
        )
        return ", ".join([asked, *limits]) + "?"

    @property
    def rules(self) -> list[Rule]:
        """Give the rules: those for challengers, for the baseline, for neither; the widest first.

        A tree without branches has one, that says always the same; it is not shown.
        """
        if not len(self.sample):
            return []
        found = [rule(leaf, self.sample, self.thresholds) for leaf in self.root.leaves()]
        return sorted(found, key=lambda one: (self.sample.classes.index(one.mark), -one.support))

    @property
    def importance(self) -> list[tuple[str, float]]:
        """Say what share of what the rules tell apart is each factor's; the greatest first."""
        return decision_rules.importance(self.root, self.sample.factors)

    def text(self) -> str:
        """Write it for people."""
        return f"{_filled(self.title)}\n\n{self.body()}"

    def body(self) -> str:
        """Write it without its title."""
        blocks = [self._labels()]
        if self.note:
            blocks.append(self.note)
        if self.root.branches:
            about = (
                "Rules, each with the share of its conditions that have its label. Where no label has more "
                f"than {self.thresholds.likelihood:g}, it is {UNDECIDED}, which counts as {EQUAL}:"
            )
            blocks.append("\n".join([_filled(about), *(f"  {one}" for one in self.rules)]))
            blocks.append("\n".join(["The same as a tree", *self._lines(self.root, 1)]))
            shares = ", ".join(f"{name} {share:.0%}" for name, share in self.importance)
            blocks.append(f"What decides, by Gini's impurity: {shares}.")
            blocks.append(self.trust())
        return "\n\n".join(block if "\n" in block else _filled(block) for block in blocks)

    def _labels(self) -> str:
        base = named(self.question.compared, self.question.baseline)
        counts = [
            f"{count:,} {label}"
            for label, count in zip(self.sample.classes, self.sample.counts, strict=True)
            if count
        ]
        is_one = len(self.challengers) == 1
        who = named(self.question.compared, self.challengers[0]) if is_one else "The fastest"
        best = (
            ""
            if is_one
            else f" Of those within {1 / self.thresholds.faster - 1:.0%} of the fastest the first counts."
        )
        return (
            f"{who} is better where it takes less than {self.thresholds.faster:g} of the time of {base}, "
            f"{base} where it takes more than {self.thresholds.slower:g} of it; else they are {EQUAL}.{best} "
            f"{text.count(len(self.sample), 'condition')}{': ' if counts else ''}{', '.join(counts)}."
        )

    def _lines(self, node: Node, indent: int) -> Iterator[str]:
        for child in node.branches:
            words = branch(node, child, self.sample)
            end = "" if child.branches else f": {rule(child, self.sample, self.thresholds).verdict}"
            yield f"{'  ' * indent}{words}{end}"
            yield from self._lines(child, indent + 1)

    def trust(self) -> str:
        """Say how far the rules can be trusted, compared with a rule that always says the same."""
        known = self.accuracy
        if known is None or not self.root.branches:
            return ""
        counts = self.sample.counts
        commonest = self.sample.classes[counts.index(max(counts))]
        beyond = ", ".join(f"{name} {share:.0%}" for name, share in known.levels.items())
        worse = [f"levels of {name}" for name, share in known.levels.items() if share < known.trivial]
        worse += ["conditions left out at random"] if known.marks < known.trivial else []
        warning = f" The rules are worse than that for {listed(worse)}." if worse else ""
        return (
            f"How far to trust the rules, by cross-validation: of a level that was left out altogether when "
            f"they were made they are right about {beyond} of the conditions; always to say {commonest} is "
            f"right about {known.trivial:.1%}.{warning} Of conditions left out at random, "
            f"whose neighbours in the matrix are much alike, they are right about {known.marks:.1%} "
            f"({known.folds} folds, standard error {known.error:.1%}), the commonest label of each rule "
            f"about {known.commonest:.1%}."
        )

    def document(self) -> dict[str, Any]:
        """Give it as JSON."""
        # Where all are said to be the same there is no rule to be right or wrong.
        known = self.accuracy if self.root.branches else None
        return {
            "question": self.title,
            "compared": self.question.compared,
            "baseline": spelled(self.question.baseline),
            "challengers": [spelled(level) for level in self.challengers],
            "only": {name: _levels(wanted) for name, wanted in self.only.items()},
            "faster": self.thresholds.faster,
            "slower": self.thresholds.slower,
            "likelihood": self.thresholds.likelihood,
            "conditions": len(self.sample),
            "labels": dict(zip(self.sample.classes, self.sample.counts, strict=True)),
            "depth": self.depth,
            "note": self.note,
            "rules": [one.document() for one in self.rules] if self.root.branches else [],
            "importance": [{"factor": name, "share": share} for name, share in self.importance],
            "accuracy": known
            and {
                "folds": known.folds,
                "marks": known.marks,
                "standard_error": known.error,
                "commonest_label": known.commonest,
                "always_the_same": known.trivial,
                "level_left_out": known.levels,
            },
        }


def grow(
    gains: pl.DataFrame,
    question: Question,
    challenger: Level | None = None,
    *,
    depth: int | None = None,
    faster: float = Thresholds.faster,
    slower: float = Thresholds.slower,
    likelihood: float = Thresholds.likelihood,
    only: Only | None = None,
) -> Tree:
    """Grow the tree for a challenger; without one, of several, the tree that says which is best.

    `gains` has a row for each condition and challenger. The depth is chosen by cross-validation: the least
    that is within a standard error of the best. `only` restricts it to conditions at some levels.
    """
    thresholds = Thresholds(faster, slower, likelihood)
    if depth is not None and not 0 <= depth <= DEEPEST:
        raise InputError(f"--depth: {depth} is not from 0 to {DEEPEST}: give for instance 4, or leave it out")
    challengers = _challengers(question, challenger)
    chosen = training_set.restricted(gains, question, only or {})
    sample = training_set.sample(chosen, question, challengers, thresholds)
    note = _why_not(sample, question)
    if note:
        return Tree(
            question,
            challengers,
            only or {},
            thresholds,
            sample,
            decision_rules.only_leaf(sample),
            0,
            None,
            note,
        )
    depth = training_set.choose_depth(sample, thresholds) if depth is None else depth
    fitted = training_set.fit(sample, np.arange(len(sample)), depth)
    root = decision_rules.read(fitted, sample, thresholds)
    accuracy = training_set.accuracy(sample, depth, thresholds)
    unlearned = "" if root.branches else "No factor tells the labels apart well enough for a rule."
    return Tree(question, challengers, only or {}, thresholds, sample, root, depth, accuracy, unlearned)


def grow_all(gains: pl.DataFrame, question: Question, **how: Any) -> list[Tree]:
    """Grow a tree for each challenger and, of several, one for which is best; `how` as for `grow`."""
    each = [grow(gains, question, challenger, **how) for challenger in question.challengers]
    return each if len(each) == 1 else [*each, grow(gains, question, **how)]


def _challengers(question: Question, challenger: Level | None) -> tuple[Level, ...]:
    if challenger is None:
        return tuple(question.challengers)
    for level in question.challengers:
        if spelled(level) == spelled(challenger):
            return (level,)
    known = ", ".join(map(spelled, question.challengers))
    raise InputError(
        f"{question.compared}: {spelled(challenger)} is none of the challengers: give one of {known}"
    )


def _why_not(sample: Sample, question: Question) -> str:
    if not len(sample):
        base = named(question.compared, question.baseline)
        return f"No condition has loads of {base} and of what is held against it, so there is no rule."
    if len([count for count in sample.counts if count]) == 1:
        label = sample.classes[sample.counts.index(max(sample.counts))]
        what = "they are equal" if label == EQUAL else f"{label} is better"
        return f"In all conditions {what}: there is nothing to tell apart."
    if len(sample) < LEAST_CONDITIONS:
        few = text.count(len(sample), "condition")
        return f"{few} are too few for rules: at least {LEAST_CONDITIONS} are needed."
    if not sample.factors:
        return "No factor but the compared one varies, so no rule can tell conditions apart."
    return ""


def _levels(wanted: Level | Sequence[Level]) -> list[str]:
    return (
        [spelled(wanted)] if isinstance(wanted, str | int | float) else [spelled(level) for level in wanted]
    )


def _either(wanted: Level | Sequence[Level]) -> str:
    return " or ".join(_levels(wanted))


def _filled(block: str) -> str:
    return textwrap.fill(block, text.PIPED_WIDTH, break_long_words=False, break_on_hyphens=False)
