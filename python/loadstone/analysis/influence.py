"""What the gain depends on: how much of its variance each factor explains by itself."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    if not _varies(logs):
        return []
    found = []
    for factor in gains.question.others:
        levels = levels_of(gains, factor)
        if len(levels) < 2:
            continue
        codes = codes_of(gains, factor)
        means = np.bincount(codes, logs) / np.bincount(codes)
        ends = [(levels[at], math.exp(means[at])) for at in (int(means.argmin()), int(means.argmax()))]
        by_luck = (len(levels) - 1) / (len(logs) - 1)
        found.append(Influence(factor, explained(logs, codes), by_luck, ends[0], ends[1]))
    return sorted(found, key=lambda influence: -influence.explained)


def explained(logs: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Give the share of the variance of `logs` that means of groups explain; `codes` numbers the groups."""
    if not _varies(logs):
        return 0.0
    counts = np.bincount(codes)
    means = np.bincount(codes, logs) / np.maximum(counts, 1)
    between = float((counts * (means - logs.mean()) ** 2).sum())
    return min(1.0, between / float(((logs - logs.mean()) ** 2).sum()))


def _varies(logs: NDArray[np.float64]) -> bool:
    # Logarithms of equal gains differ in their last digits only.
    return float(((logs - logs.mean()) ** 2).sum()) > 1e-20 * len(logs)
