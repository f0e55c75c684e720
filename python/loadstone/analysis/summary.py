"""The summary of a matrix: best, mean and worst gain of each challenger, and how often it is faster."""

from dataclasses import dataclass

import polars as pl

from loadstone.analysis.cube import Figures, overall
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level


@dataclass(frozen=True)
class Case:
    """The gain of one condition."""

    condition: dict[str, Level]
    gain: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Summary:
    """What came out for one challenger over all conditions."""

    challenger: Level
    best: Case
    worst: Case
    overall: Figures
    at_least_1: int
    at_least_2: int
    """In how many conditions the gain is so."""
    faster: int
    """In how many it is clearly faster: its interval lies above 1, or chance has no part."""
    slower: int
    equal: int
    """In how many the load takes exactly as long, whatever chance does."""
    undecided: int
    """In how many chance alone may explain the difference, or there are too few pairs to tell."""


def summary(gains: Gains) -> Summary:
    """Sum up the gains of one challenger."""
    frame = gains.frame
    gain = pl.col("gain")
    # Without chance the gain is known exactly.
    low, high = (pl.when("is_random").then(end).otherwise("gain") for end in ("low", "high"))
    counts = frame.select(
        at_least_1=(gain >= 1).sum(),
        at_least_2=(gain >= 2).sum(),
        faster=(low > 1).sum(),
        slower=(high < 1).sum(),
        equal=((low == 1) & (high == 1)).sum(),
    ).row(0, named=True)
    decided = counts["faster"] + counts["slower"] + counts["equal"]
    return Summary(
        challenger=frame[gains.question.compared][0],
        best=_case(gains, frame["gain"].arg_max()),
        worst=_case(gains, frame["gain"].arg_min()),
        overall=overall(gains),
        undecided=len(frame) - decided,
        **counts,
    )


def _case(gains: Gains, place: int | None) -> Case:
    row = gains.frame.row(place or 0, named=True)
    condition = {name: row[name] for name in gains.question.others}
    return Case(condition, row["gain"], row["low"], row["high"])
