"""What is asked of a store of runs: which factor is compared, against what, in which part of the matrix."""

from dataclasses import dataclass, field

import polars as pl

from loadstone import text
from loadstone.expression import Condition
from loadstone.files import InputError
from loadstone.stats import Until

Level = str | int | float | bool
"""One of the values that a factor takes."""


@dataclass(frozen=True)
class Question:
    """What an analysis asks of the runs of a matrix."""

    factors: dict[str, tuple[Level, ...]]
    """All factors of the matrix by name, each with its levels, both in the matrix's order."""
    compared: str
    """The factor whose levels are held against each other: `variant`, `protocol`."""
    baseline: Level
    """The level of it that the others are held against."""
    around: dict[str, Level] = field(default_factory=dict)
    """The level of each other factor around which trends are drawn; of one left out, its middle level."""
    high: dict[str, float] = field(default_factory=dict)
    """From which level on a factor counts as high, for rules in those words; of one left out, as it is."""
    title: str = ""
    """What the matrix is to find out, in the words of its author; may be empty."""
    linked: tuple[str, ...] = ()
    """Factors that change together with the compared one, so that they are part of no condition."""

    until: Until | None = None
    """How well every gain was to be known, if runs went on until they were."""
    live: bool = False
    """Whether loads went over the kernel, where seeds pair nothing and no load can be had again."""

    @property
    def others(self) -> list[str]:
        """Give the factors that make a condition: all but the compared one and what changes with it."""
        return [name for name in self.factors if name != self.compared and name not in self.linked]

    @property
    def challengers(self) -> list[Level]:
        """Give the compared factor's levels without the baseline."""
        return [level for level in self.factors[self.compared] if level != self.baseline]


# --- levels in words ---


def spelled(level: Level | None) -> str:
    """Write a level as a matrix has it."""
    if level is None:
        return "none"
    if isinstance(level, bool):
        return "true" if level else "false"
    return f"{level:.15g}" if isinstance(level, float) else text.harmless(f"{level}")


def named(factor: str, level: Level) -> str:
    """Write a level so that it says what it is of: `h2`, but `iw 10`."""
    says_little = isinstance(level, int | float) or not level[:1].isalpha()
    return f"{text.harmless(factor)} {spelled(level)}" if says_little else spelled(level)


# --- a part of a matrix ---


def part_of(runs: pl.DataFrame, question: Question, expression: str | None) -> pl.DataFrame:
    """Give the runs of those cells for which the expression holds; all, if there is none."""
    if expression is None:
        return runs
    names = [*question.factors]
    condition = Condition(expression, "--where", names)
    cells = runs.select(names).unique(maintain_order=True)
    holds = [condition.holds(levels) for levels in cells.iter_rows(named=True)]
    chosen = runs.join(cells.filter(holds), on=names, how="semi", nulls_equal=True, maintain_order="left")
    if not len(chosen):
        raise InputError(f"--where: '{expression}' holds for no cell: give what holds for some")
    left = chosen[question.compared].unique().to_list()
    base = named(question.compared, question.baseline)
    if question.baseline not in left:
        raise InputError(
            f"--where: '{expression}' leaves no cell of the baseline, {base}: let it stay, or give another "
            "--baseline"
        )
    if len(left) < 2:
        raise InputError(f"--where: '{expression}' leaves nothing to hold against {base}: let more stay")
    return chosen
