"""What the gain depends on: how much of its variance each factor explains by itself."""

import math
from dataclasses import dataclass

import numpy as np

from loadstone.analysis.cube import codes_of, levels_of
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level


@dataclass(frozen=True)
class Influence:
    """How much one factor has to do with the gain of one challenger."""

    factor: str
    explained: float
    """The share of the variance of ln(gain) over conditions that its levels' means explain: eta squared of
    one factor alone. Shares of several need not add up to 1: what is left over are combinations of factors
    and chance; in a filtered matrix factors go together, and each gets what they share."""
    by_luck: float
    """What a factor with as many levels explains on average if it has nothing to do with the gain."""
    lowest: tuple[Level, float]
    """The level with the least geometric mean of the gain, and that mean."""
    highest: tuple[Level, float]


def ranking(gains: Gains) -> list[Influence]:
    """Rank the factors by what each explains of one challenger's gains; one level explains nothing."""
    logs = np.log(gains.frame["gain"].to_numpy())
    total = float(((logs - logs.mean()) ** 2).sum())
    # Logarithms of equal gains differ in their last digits only.
    if total <= 1e-20 * len(logs):
        return []
    found = []
    for factor in gains.question.others:
        levels = levels_of(gains, factor)
        if len(levels) < 2:
            continue
        codes = codes_of(gains, factor)
        counts = np.bincount(codes)
        means = np.bincount(codes, logs) / counts
        between = float((counts * (means - logs.mean()) ** 2).sum())
        ends = [(levels[at], math.exp(means[at])) for at in (int(means.argmin()), int(means.argmax()))]
        by_luck = (len(levels) - 1) / (len(logs) - 1)
        found.append(Influence(factor, min(1.0, between / total), by_luck, ends[0], ends[1]))
    return sorted(found, key=lambda influence: -influence.explained)
