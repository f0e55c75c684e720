"""The summary of a matrix: best, mean and worst gain of each challenger, and how often it is faster."""

from collections import Counter
from dataclasses import dataclass

import polars as pl

from loadstone.analysis.cube import Figures, overall
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level
from loadstone.analysis.verdicts import ALIKE, EQUAL, FASTER, SLOWER, UNDECIDED, verdicts


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
    """In how many it is clearly faster: its interval lies above 1, or without chance the gain does."""
    slower: int
    alike: int
    """In how many the gain is known and nearer to 1 than the least effect of interest."""
    equal: int
    """In how many the load takes exactly as long, whatever chance does."""
    undecided: int
    """In how many chance alone may explain the difference, or there are too few pairs to tell."""
    too_few: int
    """How many conditions have a gain that is left out, because too few loads of a side were completed."""
    less_often: int
    more_often: int
    """In how many of all, those that are left out too, it completed less, or more, of its loads than the
    baseline of its own."""


def summary(gains: Gains) -> Summary:
    """Sum up the gains of one challenger."""
    frame, gain = gains.frame, pl.col("gain")
    counts = frame.select(at_least_1=(gain >= 1).sum(), at_least_2=(gain >= 2).sum()).row(0, named=True)
    of = Counter(verdicts(frame))
    own, base = (pl.col(f"{side}_completed") / pl.col(f"{side}_runs") for side in ("variant", "baseline"))
    loads = gains.measured.select(less_often=(own < base).sum(), more_often=(own > base).sum())
    return Summary(
        challenger=frame[gains.question.compared][0],
        best=_case(gains, frame["gain"].arg_max()),
        worst=_case(gains, frame["gain"].arg_min()),
        overall=overall(gains),
        **counts,
        faster=of[FASTER],
        slower=of[SLOWER],
        alike=of[ALIKE],
        equal=of[EQUAL],
        undecided=of[UNDECIDED],
        too_few=len(gains.measured) - len(frame),
        **loads.row(0, named=True),
    )


def _case(gains: Gains, place: int | None) -> Case:
    row = gains.frame.row(place or 0, named=True)
    condition = {name: row[name] for name in gains.question.others}
    return Case(condition, row["gain"], row["low"], row["high"])
