"""What a study that was run again gives: cells beside published ones, tables, verdicts, explanations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loadstone.analysis.question import Level
from loadstone.reproduce.claims import Judged

if TYPE_CHECKING:
    from loadstone.analysis.plots import Plot


@dataclass(frozen=True)
class Cell:
    """One published figure and ours."""

    factors: dict[str, Level]
    """The condition: page, servers, rtt, ...; the same names in all cells of a study, in one order."""
    variant: str
    """What was compared there: `HTTPS IW 3`."""
    published: float | None
    """`None` where the study printed none."""
    ours: float | None
    """`None` where none can be had."""
    unit: str
    is_sound: bool = True
    """Whether the published figure is credible; what is not is shown and counts for nothing."""


@dataclass(frozen=True)
class Table:
    """A table, ours beside the study's."""

    name: str
    """What it is called among others: `table-5`."""
    title: str
    """The question that it answers."""
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    """How many columns are words."""
    note: str = ""


@dataclass(frozen=True)
class Passage:
    """Something explained: an assumption, a cause, what it is worth."""

    title: str
    text: str
    """Paragraphs, parted by empty lines."""
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Results:
    """All that a study gave."""

    cells: Sequence[Cell]
    tables: Sequence[Table]
    judged: Sequence[Judged]
    """Every claim that a laboratory can test, in the order of the study's list."""
    passages: Sequence[Passage] = ()
    plots: "Sequence[Plot]" = field(default=())
