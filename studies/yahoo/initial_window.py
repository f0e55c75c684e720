"""Load times by initial window: table 1, and by round trip, loss and byte counting."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.claims import NEAR, rows
from loadstone.reproduce.study import Cell, Table

from .laboratory import FOLDER

FITTED = 3
"""The window whose load without loss sets the page's free number."""
OF_THEM = 5
"""The study's figure is the geometric mean of this many loads."""


@dataclass(frozen=True)
class Row:
    """A window: theirs and ours."""

    iw: int
    loss: int
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


def rows_of(lossy: pl.DataFrame, clean: pl.DataFrame) -> list[Row]:
    """Compare ours with the study's."""
    published = [
        (int(row["icw"]), int(row["loss_pct"]), float(row["load_s"]), float(row["clean_s"]))
        for row in rows(FOLDER / "table1.csv")
    ]
    return [
        Row(iw, loss, theirs, theirs_clean, seconds(lossy, iw=iw), mean(clean, iw=iw, rtt=100))
        for iw, loss, theirs, theirs_clean in published
    ]


def seconds(runs: pl.DataFrame, **levels: Level) -> list[float]:
    """Give the load times of some levels."""
    return [*runs.filter(*(pl.col(name) == level for name, level in levels.items()))["seconds"]]


def mean(runs: pl.DataFrame, **levels: Level) -> float:
    """Give the geometric mean of the load times of some levels, as the study does."""
    return statistics.geometric_mean(seconds(runs, **levels))


def near(rows: Sequence[Row]) -> tuple[int, float]:
    """Count the 13 figures that come out within a quarter, and give the largest miss."""
    misses = [abs(row.misses[0]) for row in rows if row.iw != FITTED] + [abs(row.misses[1]) for row in rows]
    return sum(miss <= NEAR for miss in misses), max(misses)


def best(rows: Sequence[Row]) -> tuple[int, int]:
    """Give the windows of the shortest loads, without loss and with it."""
    return min(rows, key=lambda row: row.clean).iw, min(rows, key=lambda row: row.ours).iw


def table_1(rows: Sequence[Row]) -> Table:
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
        f"From the first request to the last acknowledgement. {right} of 13 figures lie within a quarter of "
        f"the study's, the worst {worst:.0%} off; window 3 without loss is what the browser's time was set "
        "by. 'Five loads by chance': where 19 of 20 geometric means of five loads lie, by the spread of ours "
        f"over {len(rows[0].loads)} seeds."
    )
    return Table("table-1", "How long does the front page take?", head, lines, 1, note)


def table_1_cells(rows: Sequence[Row]) -> list[Cell]:
    """Give every figure of the table as a cell."""
    made = []
    for row in rows:
        for loss, theirs, ours in ((row.loss, row.theirs, row.ours), (0, row.theirs_clean, row.clean)):
            made.append(Cell(condition("table 1", loss), f"ICW {row.iw}", theirs, ours, "s"))
    return made


def condition(experiment: str, loss: float = 0.0, rtt: int = 100) -> dict[str, Level]:
    """Name the condition of a cell; the loss is in percent of round trips."""
    return {"experiment": experiment, "loss": float(loss), "rtt": rtt}


# --- by round trip, by loss and by byte counting ---

WINDOWS = (1, 3, 5, 7, 10, 16, 32)
RTTS = (20, 50, 100, 200, 400)
LOSSES = (0, 1, 2, 5, 10, 15, 20, 25)
"""Percent of round trips."""
COUNTING = "variant.tcp.mechanisms.counting"
ABC = {"acks": "0", "bytes-1": "1", "bytes-2": "2"}
"""What the kernel calls each way of counting (`tcp_abc`)."""


def loss_table(runs: pl.DataFrame) -> Table:
    """Show load times by loss, and how they spread."""
    rows = [[f"ICW {iw}", *(f"{mean(runs, iw=iw, loss=loss):.2f} s" for loss in LOSSES)] for iw in WINDOWS]
    best_of = [str(min(WINDOWS, key=lambda iw: mean(runs, iw=iw, loss=loss))) for loss in LOSSES]
    rows.append(["best ICW", *best_of])
    scatter = [seconds(runs, iw=3, loss=loss) for loss in LOSSES]
    deviations = [statistics.stdev(loads) if len(loads) > 1 else 0.0 for loads in scatter]
    rows.append(["ICW 3, standard deviation", *(f"{each:.2f} s" for each in deviations)])
    note = "Percent of round trips; geometric means over 200 seeds."
    head = ["", *(f"loss {loss}%" for loss in LOSSES)]
    return Table("icw-by-loss", "What is the window worth at which loss?", head, rows, 1, note)


def rtt_table(runs: pl.DataFrame) -> Table:
    """Show load times by round trip."""
    rows = [[f"ICW {iw}", *(f"{mean(runs, iw=iw, rtt=rtt):.2f} s" for rtt in RTTS)] for iw in WINDOWS]
    rows.append(["ICW 3 to 16", *(f"{reduction(runs, rtt):.0f} %" for rtt in RTTS)])
    head = ["", *(f"RTT {rtt} ms" for rtt in RTTS)]
    note = (
        "No loss. The last line is the reduction; the study has 27-38 % over round trips that are not given."
    )
    return Table("icw-by-rtt", "What is the window worth at which round trip?", head, rows, 1, note)


def reduction(runs: pl.DataFrame, rtt: Level, small: int = 3, large: int = 16) -> float:
    """Give by how many percent the larger window shortens the load of the smaller one."""
    return 100 * (1 - mean(runs, iw=large, rtt=rtt) / mean(runs, iw=small, rtt=rtt))


def abc_table(runs: pl.DataFrame) -> Table:
    """Show load times by byte counting."""
    rows = [
        [
            f"ICW {iw}",
            *(f"{mean(runs, iw=iw, **{COUNTING: way}):.2f} s" for way in ABC),
            f"{abc_effect(runs, iw):+.0f} %",
        ]
        for iw in WINDOWS
    ]
    head = ["", *(f"tcp_abc {name}" for name in ABC.values()), "2 against 0"]
    return Table("byte-counting", "What does byte counting change?", head, rows, 1, "RTT 100 ms, no loss.")


def abc_effect(runs: pl.DataFrame, iw: int) -> float:
    """Give by how many percent counting bytes changes a load, two segments an acknowledgement."""
    with_it, without = (mean(runs, iw=iw, **{COUNTING: way}) for way in ("bytes-2", "acks"))
    return 100 * (with_it / without - 1)


def figure_cells(rtt: pl.DataFrame, loss: pl.DataFrame, abc: pl.DataFrame) -> list[Cell]:
    """Give all figures as cells; the study printed none of them."""

    def cell(experiment: str, variant: str, ours: float, *, lost: float = 0.0, rtt: int = 100) -> Cell:
        return Cell(condition(experiment, lost, rtt), variant, None, ours, "s")

    made = [
        cell("ICW by RTT", f"ICW {iw}", mean(rtt, iw=iw, rtt=at), rtt=at) for at in RTTS for iw in WINDOWS
    ]
    made += [
        cell("ICW by loss", f"ICW {iw}", mean(loss, iw=iw, loss=lost), lost=lost)
        for lost in LOSSES
        for iw in WINDOWS
    ]
    made += [
        cell("byte counting", f"ICW {iw}, tcp_abc {name}", mean(abc, iw=iw, **{COUNTING: way}))
        for iw in WINDOWS
        for way, name in ABC.items()
    ]
    return made
