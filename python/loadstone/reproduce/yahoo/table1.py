"""Table 1 of the study `yahoo`: load times by initial window, without loss and with what goes with it."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.analysis.question import Level
from loadstone.reproduce.claims import NEAR, STUDIES, rows
from loadstone.reproduce.results import Cell, Table

if TYPE_CHECKING:
    import polars as pl

FOLDER = STUDIES / "yahoo"
FITTED = 3
"""The window whose load without loss sets the page's free number."""
OF_THEM = 5
"""The study's figure is the geometric mean of so many loads."""


@dataclass(frozen=True)
class Row:
    """A window: theirs and ours."""

    iw: int
    loss: float
    """Percent, of the round trip."""
    theirs: float
    """Seconds with that loss, and without."""
    theirs_clean: float
    loads: Sequence[float]
    """Ours with that loss, each under a seed."""
    clean: float

    @property
    def ours(self) -> float:
        """Give the geometric mean with loss."""
        return statistics.geometric_mean(self.loads)

    @property
    def spread(self) -> tuple[float, float]:
        """Say between which factors 19 of 20 geometric means of five loads lie, by the spread of ours."""
        deviation = statistics.stdev(map(math.log, self.loads)) / math.sqrt(OF_THEM)
        return math.exp(-1.96 * deviation), math.exp(1.96 * deviation)

    @property
    def misses(self) -> tuple[float, float]:
        """Say by which shares ours differ, without loss and with it."""
        return self.clean / self.theirs_clean - 1, self.ours / self.theirs - 1


def published() -> list[tuple[int, float, float, float]]:
    """Give the study's rows: window, loss in percent, seconds with it, seconds without."""
    return [
        (int(row["icw"]), float(row["loss_pct"]), float(row["load_s"]), float(row["clean_s"]))
        for row in rows(FOLDER / "table1.csv")
    ]


def each_way(loss: float) -> float:
    """Give the loss in percent of each direction, where `loss` percent of round trips fail."""
    return 100 * (1 - math.sqrt(1 - loss / 100))


def rows_of(runs: "pl.DataFrame", clean: "pl.DataFrame") -> list[Row]:
    """Set ours beside the study's."""
    return [
        Row(iw, loss, theirs, theirs_clean, seconds(runs, iw=iw), seconds(clean, iw=iw)[0])
        for iw, loss, theirs, theirs_clean in published()
    ]


def seconds(runs: "pl.DataFrame", **levels: Level) -> list[float]:
    """Give the load times of a cell that were completed."""
    import polars as pl

    chosen = runs.filter(*(pl.col(name) == level for name, level in levels.items()), pl.col("completed"))
    return [float(time) / 1000 for time in chosen["plt_ms"]]


def near(rows: Sequence[Row]) -> tuple[int, float]:
    """Count the 13 figures that come out within a quarter, and give the largest miss."""
    misses = [abs(row.misses[0]) for row in rows if row.iw != FITTED] + [abs(row.misses[1]) for row in rows]
    return sum(miss <= NEAR for miss in misses), max(misses)


def best(rows: Sequence[Row]) -> tuple[int, int]:
    """Give the windows of the shortest loads, without loss and with it."""
    return min(rows, key=lambda row: row.clean).iw, min(rows, key=lambda row: row.ours).iw


def table(rows: Sequence[Row]) -> Table:
    """Set it out as the study does."""
    head = ["ICW", "loss", "study", "ours", "", "five loads by chance", "no loss: study", "ours", ""]
    lines = []
    for row in rows:
        low, high = row.spread
        clean_miss, miss = row.misses
        with_loss = [f"{row.theirs:.2f} s", f"{row.ours:.2f} s", f"{miss:+.0%}"]
        chance = f"{row.ours * low:.1f}-{row.ours * high:.1f} s"
        without = [f"{row.theirs_clean:.2f} s", f"{row.clean:.2f} s", f"{clean_miss:+.0%}"]
        lines.append([str(row.iw), f"{row.loss:g}%", *with_loss, chance, *without])
    right, worst = near(rows)
    note = (
        f"{right} of 13 figures lie within a quarter of the study's, the worst {worst:.0%} off; window 3 "
        "without loss is what the browser's time was set by. 'Five loads by chance': where 19 of 20 "
        f"geometric means of five loads lie, by the spread of ours over {len(rows[0].loads)} seeds."
    )
    return Table("table-1", "How long does the front page take?", head, lines, 1, note)


def cells(rows: Sequence[Row]) -> list[Cell]:
    """Give every figure of the table as a cell."""
    made = []
    for row in rows:
        for loss, theirs, ours in ((row.loss, row.theirs, row.ours), (0.0, row.theirs_clean, row.clean)):
            made.append(Cell(condition("table 1", loss), f"ICW {row.iw}", theirs, ours, "s"))
    return made


def condition(experiment: str, loss: float = 0.0, rtt: int = 100) -> dict[str, Level]:
    """Name the condition of a cell; the loss is in percent of round trips."""
    return {"experiment": experiment, "loss": loss, "rtt": rtt}
