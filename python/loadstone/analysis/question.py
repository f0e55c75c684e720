"""What is asked of a store of runs: which factor is compared, against what, around which levels."""

from dataclasses import dataclass, field

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
