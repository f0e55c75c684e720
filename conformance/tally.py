"""What came of tests of one kind, and how all of it is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

COLUMNS = ("passed", "failed", "excused", "not judged")


@dataclass(frozen=True)
class Tally:
    """Tests of one kind: how many have passed, and what is to be said of the others, a line each."""

    name: str
    passed: int = 0
    failed: Sequence[str] = ()
    excused: Sequence[str] = ()
    """They ask for what a later standard forbids."""
    unjudged: Sequence[str] = ()
    binding: bool = True
    """Whether a failure is one of ours: a standard requires it."""
    named: bool = field(default=True, kw_only=True)
    """Whether each is worth a line."""

    @property
    def holds(self) -> bool:
        """Whether nothing has failed that must not; what ran no test holds nothing."""
        return not self.binding or (self.passed > 0 and not self.failed)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Give how many there are, by column."""
        return self.passed, len(self.failed), len(self.excused), len(self.unjudged)


def shown(tallies: Iterable[Tally]) -> str:
    """Write a table, below it what has not passed, and last, where a reader of a log looks, what fails."""
    rows = list(tallies)
    width = max((len(row.name) for row in rows), default=0)
    lines = [" " * width + "".join(f"{column:>12}" for column in COLUMNS)]
    lines += [f"{row.name:{width}}" + "".join(f"{count:>12}" for count in row.counts) for row in rows]
    for row in rows:
        allowed = () if row.binding else row.failed
        for column, said in zip(COLUMNS[1:], (allowed, row.excused, row.unjudged), strict=True):
            if said and row.named:
                lines += ["", f"{row.name}, {column}:", *(f"  {line}" for line in said)]
    for row in rows:
        if not row.holds:
            lines += [
                "",
                f"{row.name} fails:",
                *(f"  {line}" for line in row.failed or ["no test has passed"]),
            ]
    return "\n".join(lines) + "\n"
