"""By what the simulator is judged: figures of groups of cells, their goals, and the accuracy accepted."""

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from loadstone.files import InputError
from loadstone.studies.validation import agreement, measurements
from loadstone.studies.validation.grid import OBJECT, Cell
from loadstone.studies.validation.measurements import Measured
from loadstone.studies.validation.score import Score, Validation

BBR = "bbr"

Scores = Sequence[Score]


@dataclass(frozen=True)
class Repeats:
    """Goals of cells without loss, in %."""

    median: float
    """The most that the median error may be."""
    near: float
    """How far from the range of the kernel's repeats a cell may lie."""
    share: float
    """How many cells at least lie no farther."""


@dataclass(frozen=True)
class Chance:
    """Goals of cells with loss, in %."""

    median: float = 3.0
    """How far from 0 the median of the signed errors may be."""
    rejected: float = 5.0
    """How many cells at most the test may reject."""
    spread: float = 25.0
    """How far the spread may be off at the median."""


@dataclass(frozen=True)
class Group:
    """Cells that are judged together."""

    name: str
    title: str
    goals: Repeats | Chance
    is_judged: bool = True
    """Whether the goals have to be met; otherwise the figures are for information."""


OBJECTS = Group("objects", "Single objects, no loss (Reno, CUBIC)", Repeats(1, 5, 95))
PAGES = Group("pages", "Page loads, no loss (Reno, CUBIC)", Repeats(3, 8, 95))
LOSSY = Group("loss", "With 1 % loss (Reno, CUBIC)", Chance())
BBR_OBJECTS = Group("bbr", "Single objects, no loss (BBR)", Repeats(5, 10, 90))
BBR_PAGES = Group("bbr pages", "Page loads, no loss (BBR)", Repeats(5, 10, 90), is_judged=False)
BBR_LOSSY = Group("bbr loss", "With 1 % loss (BBR)", Chance(), is_judged=False)

GROUPS = (OBJECTS, PAGES, LOSSY, BBR_OBJECTS, BBR_PAGES, BBR_LOSSY)


def group_of(cell: Cell) -> Group:
    """Say with which cells this one is judged."""
    is_bbr = cell.cc == BBR
    if cell.is_random:
        return BBR_LOSSY if is_bbr else LOSSY
    if cell.kind == OBJECT:
        return BBR_OBJECTS if is_bbr else OBJECTS
    return BBR_PAGES if is_bbr else PAGES


def grouped(scores: Iterable[Score]) -> dict[Group, list[Score]]:
    """Give each group's cells; those of none are left out."""
    groups: dict[Group, list[Score]] = {group: [] for group in GROUPS}
    for score in scores:
        groups[group_of(score.cell)].append(score)
    return {group: members for group, members in groups.items() if members}


class Goal(Enum):
    """Which side of its limit a figure has to be on; the limit itself is good enough."""

    AT_MOST = "at most"
    AT_LEAST = "at least"
    WITHIN = "within \N{PLUS-MINUS SIGN}"

    def allows(self, figure: float, limit: float) -> bool:
        """Say whether a figure meets it."""
        match self:
            case Goal.AT_MOST:
                return figure <= limit
            case Goal.AT_LEAST:
                return figure >= limit
            case Goal.WITHIN:
                return abs(figure) <= limit


@dataclass(frozen=True)
class Row:
    """A figure in % and what it has to be."""

    key: str
    """Its name in documents."""
    what: str
    figure: float
    goal: Goal | None = None
    limit: float = 0.0

    @property
    def is_met(self) -> bool | None:
        """Say whether the goal is met, `None` if there is none."""
        return None if self.goal is None else self.goal.allows(self.figure, self.limit)


def rows(group: Group, scores: Scores) -> list[Row]:
    """Judge the cells of a group."""
    goals = group.goals
    made = _of_repeats(goals, scores) if isinstance(goals, Repeats) else _of_chance(goals, scores)
    return made if group.is_judged else [Row(row.key, row.what, row.figure) for row in made]


def _of_repeats(goals: Repeats, scores: Scores) -> list[Row]:
    return [
        Row("median_error", "median error", median_error(scores), Goal.AT_MOST, goals.median),
        Row(
            "near",
            f"cells within {goals.near:g} % of the range of the kernel's repeats",
            share(scores, lambda score: abs(score.beyond_range) <= goals.near / 100),
            Goal.AT_LEAST,
            goals.share,
        ),
    ]


def _of_chance(goals: Chance, scores: Scores) -> list[Row]:
    spreads = [abs(score.spread_deviation) for score in scores]
    loads = [abs(error) for score in scores for error in score.load_errors]
    return [
        Row("signed_error", "median of the signed errors", signed_error(scores), Goal.WITHIN, goals.median),
        Row(
            "rejected",
            "cells that a Kolmogorov-Smirnov test at 1 % rejects",
            share(scores, lambda score: score.is_rejected),
            Goal.AT_MOST,
            goals.rejected,
        ),
        Row(
            "rejected_strictly",
            "the same test without the 0.5 ms that are forgiven",
            share(scores, _is_rejected_strictly),
        ),
        Row(
            "spread",
            "deviation of the 10-90 % spread, median",
            100 * statistics.median(spreads),
            Goal.AT_MOST,
            goals.spread,
        ),
        Row(
            "load_median",
            "error of a single load that loses the same packets, median",
            100 * statistics.median(loads),
        ),
        Row("load_p90", "the same for nine of ten loads, at most", 100 * agreement.percentile(loads, 0.9)),
    ]


def _is_rejected_strictly(score: Score) -> bool:
    return score.same_distribution(allowed_ms=0.0) < agreement.SIGNIFICANCE


def median_error(scores: Scores) -> float:
    """Give the median of the errors without their signs, in %."""
    return 100 * statistics.median(abs(score.error) for score in scores)


def signed_error(scores: Scores) -> float:
    """Give the median of the errors with their signs, in %."""
    return 100 * statistics.median(score.error for score in scores)


def percentile_error(scores: Scores, at: float) -> float:
    """Give the error, without its sign, that this share of cells does not exceed, in %."""
    return 100 * agreement.percentile([abs(score.error) for score in scores], at)


def share(scores: Scores, is_so: Callable[[Score], bool]) -> float:
    """Give of how many cells in a hundred something is so."""
    return 100 * sum(map(is_so, scores)) / len(scores)


def is_good(score: Score) -> bool:
    """Say whether a cell by itself is what its group's goals ask for."""
    goals = group_of(score.cell).goals
    if isinstance(goals, Repeats):
        return abs(score.beyond_range) <= goals.near / 100
    return not score.is_rejected


def worst(scores: Scores, count: int) -> list[Score]:
    """Give the cells that are farthest off what the kernel's own scatter explains."""
    return sorted(scores, key=lambda score: (-abs(score.miss), repr(score.cell)))[:count]


# --- the accuracy that was accepted, not to get worse ---

FOLDER = Path(__file__).parent
"""Where a checkout keeps measurements and the accuracy that was accepted."""

ACCEPTED = FOLDER / "accuracy.json"

_ROUNDING = 0.0101
"""Figures are written to a hundredth of a per cent; one step of that is no change."""

Accuracy = dict[str, dict[str, float]]
"""Figures in %, by group."""


def read(path: str | None) -> Measured:
    """Read measurements: those that are kept, unless a file is named."""
    return measurements.read(_kept() if path is None else path)


def _kept() -> str:
    found = sorted(map(str, FOLDER.glob("linux-*.csv*")))
    if not found:
        raise InputError(
            "no measurements are kept here: use a checkout that has studies/validation/linux-*.csv.gz, "
            "or name a file with --measurements"
        )
    if len(found) > 1:
        raise InputError(f"{len(found)} files of measurements are kept: name one of {', '.join(found)}")
    return found[0]


def of(validation: Validation) -> Accuracy:
    """Give what is written down of a validation."""
    groups = grouped(validation.scores)
    return {group.name: _figures(group, scores) for group, scores in groups.items()}


def _figures(group: Group, scores: Scores) -> dict[str, float]:
    figures = {f"p{at}": percentile_error(scores, at / 100) for at in (50, 90, 95)}
    figures |= {row.key: row.figure for row in rows(group, scores)}
    return {"cells": len(scores), **{key: round(figure, 2) for key, figure in figures.items()}}


def accept(accuracy: Accuracy) -> None:
    """Write an accuracy down, to be held to from now on."""
    ACCEPTED.write_text(json.dumps(accuracy, indent=2) + "\n")


def worse(now: Accuracy) -> list[str]:
    """Say which figures are worse than what was accepted."""
    if not ACCEPTED.exists():
        return ["none was accepted yet"]
    accepted: Accuracy = json.loads(ACCEPTED.read_text())
    found = []
    for group, figures in accepted.items():
        if group not in now:
            found.append(f"{group}: no cell is left")
            continue
        for key, was in figures.items():
            if _is_worse(key, was, now[group][key]):
                found.append(f"{group}: {key} {was:g}, now {now[group][key]:g}")
    return found


def _is_worse(key: str, was: float, now: float) -> bool:
    more_is_better = key in ("cells", "near")
    change = was - now if more_is_better else abs(now) - abs(was)
    return change > _ROUNDING
