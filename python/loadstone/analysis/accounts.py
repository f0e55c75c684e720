"""Why a challenger is faster or slower: the accounts of both sides, on average over all conditions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from loadstone.account import PARTS, Account
from loadstone.analysis.gains import Gains, paired
from loadstone.analysis.question import Level


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


def accounts(runs: pl.DataFrame, gains: Gains) -> list[Accounts]:
    """Give the accounts of each challenger beside the baseline's, over the conditions whose gains count."""
    question = gains.question
    columns = [f"{part}_ms" for part in PARTS]
    sides = [[f"{side}_{column}" for column in columns] for side in ("baseline", "variant")]
    pairs = paired(runs, question, *columns).drop_nulls([name for side in sides for name in side])
    condition = [question.compared, *question.others]
    pairs = pairs.join(gains.frame, on=condition, how="semi", nulls_equal=True, maintain_order="left")
    pairs = pairs.with_columns(_pairs=pl.len().over(condition))
    found = []
    for challenger in question.challengers:
        own = pairs.filter(pl.col(question.compared) == challenger)
        if len(own):
            weights = (1 / own["_pairs"]).to_list()
            conditions = round(math.fsum(weights))
            means = [[_mean(own[name].to_list(), weights) for name in side] for side in sides]
            each = [dict(zip(PARTS, side, strict=True)) for side in means]
            found.append(Accounts(challenger, conditions, *each))
    return found


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Give the weighted mean, summed so that neither order nor threads change a digit."""
    products = (value * weight for value, weight in zip(values, weights, strict=True))
    return math.fsum(products) / math.fsum(weights)
