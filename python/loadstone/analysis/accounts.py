"""Why a challenger is faster or slower: the accounts of both sides, on average over all conditions."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from loadstone.account import PARTS, Account
from loadstone.analysis.gains import paired
from loadstone.analysis.question import Level, Question


@dataclass(frozen=True)
class Accounts:
    """Where the time of both sides went, in ms: means over conditions, each the mean over its shared seeds.

    Means, because they add up: the parts to the page load time, and differences of parts to its difference.
    """

    challenger: Level
    conditions: int
    baseline: Account
    variant: Account

    @property
    def saved(self) -> Account:
        """Say what the challenger spends less; of what it spends more, below 0."""
        return {part: self.baseline[part] - self.variant[part] for part in PARTS}


def accounts(runs: pl.DataFrame, question: Question) -> list[Accounts]:
    """Give the accounts of each challenger beside the baseline's."""
    columns = [f"{part}_ms" for part in PARTS]
    sides = [[f"{side}_{column}" for column in columns] for side in ("baseline", "variant")]
    pairs = paired(runs, question, *columns).drop_nulls([name for side in sides for name in side])
    by_condition = pairs.group_by([question.compared, *question.others], maintain_order=True).mean()
    means = by_condition.group_by(question.compared, maintain_order=True).agg(
        pl.len(), *(pl.col(name).mean() for side in sides for name in side)
    )
    found = {row[question.compared]: row for row in means.iter_rows(named=True)}
    return [
        Accounts(level, found[level]["len"], *(_account(found[level], side) for side in sides))
        for level in question.challengers
        if level in found
    ]


def _account(row: dict[str, float], columns: Sequence[str]) -> Account:
    return {part: row[column] for part, column in zip(PARTS, columns, strict=True)}
