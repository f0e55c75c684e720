"""How much table 1 of the study `yahoo` depends on what it leaves open."""

from loadstone.reproduce.evidence import AS_STATED
from loadstone.reproduce.study import Table

from . import initial_window
from .assumptions import AS_IT_IS, ASSUMPTIONS
from .initial_window import Row
from .laboratory import Laboratory

SEEDS = 100


def rows(laboratory: Laboratory, assumption: str, seeds: int = SEEDS) -> list[Row]:
    """Give table 1 by an assumption."""
    lossy = laboratory.runs("table1", assumption, seeds)
    return initial_window.rows_of(lossy, laboratory.runs("rtt", assumption, only={"rtt": [100]}))


def table(laboratory: Laboratory) -> Table:
    """Show what comes of each."""
    lines = []
    for name, assumption in {AS_STATED: AS_IT_IS, **ASSUMPTIONS}.items():
        found = rows(laboratory, name)
        right, worst = initial_window.near(found)
        clean, lossy = initial_window.best(found)
        number = f"{laboratory.numbers[name]:,} {assumption.unit}"
        lines.append([name, number, f"{right} of 13", f"{worst:.0%}", str(clean), str(lossy)])
    head = ["", "free number", "within a quarter", "worst", "best ICW", "with loss"]
    note = f"Each time the free number is set by window 3 without loss, and nothing else; {SEEDS} seeds."
    return Table("assumptions", "How much does it depend on what is not known?", head, lines, 1, note)
