"""The initial window by round trip, by loss and by byte counting: figures of the study `yahoo`."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.reproduce.results import Cell, Table
from loadstone.reproduce.yahoo.table1 import condition, each_way, seconds

if TYPE_CHECKING:
    import polars as pl

WINDOWS = (1, 3, 5, 7, 10, 16, 32)
RTTS = (20, 50, 100, 200, 400)
LOSSES = (0, 1, 2, 5, 10, 15, 20, 25)
"""Percent of round trips."""
COUNTING = "variant.tcp.mechanisms.counting"
ABC = {"acks": "0", "bytes-1": "1", "bytes-2": "2"}
"""What the kernel calls each way of counting (`tcp_abc`)."""


@dataclass(frozen=True)
class ByLoss:
    """Load times of the windows by loss, seed by seed."""

    loads: dict[tuple[int, int], Sequence[float]]
    """Seconds, by window and loss."""

    def mean(self, iw: int, loss: int) -> float:
        """Give the geometric mean."""
        return statistics.geometric_mean(self.loads[iw, loss])

    def deviation(self, iw: int, loss: int) -> float:
        """Give the standard deviation; nothing is left to chance without loss."""
        return statistics.stdev(loads) if len(loads := self.loads[iw, loss]) > 1 else 0.0

    @property
    def is_convex(self) -> bool:
        """Whether time and variance rise by more from 10% to 20% than from nothing to 10%, at window 3."""
        means, squares = (
            [of(3, loss) for loss in (0, 10, 20)]
            for of in (self.mean, lambda iw, loss: self.deviation(iw, loss) ** 2)
        )
        return all(last - middle > middle - first for first, middle, last in (means, squares))


def by_loss(runs: "pl.DataFrame") -> ByLoss:
    """Read the runs of the matrix by loss."""
    return ByLoss(
        {(iw, loss): seconds(runs, iw=iw, loss=round(each_way(loss), 4)) for iw in WINDOWS for loss in LOSSES}
    )


def loss_table(found: ByLoss) -> Table:
    """Show load times by loss, and how they spread."""
    rows = [[f"ICW {iw}", *(f"{found.mean(iw, loss):.2f} s" for loss in LOSSES)] for iw in WINDOWS]
    rows.append(["best ICW", *(str(min(WINDOWS, key=lambda iw: found.mean(iw, loss))) for loss in LOSSES)])
    rows.append(["ICW 3, standard deviation", *(f"{found.deviation(3, loss):.2f} s" for loss in LOSSES)])
    note = "Percent of round trips; geometric means over 200 seeds."
    head = ["", *(f"loss {loss}%" for loss in LOSSES)]
    return Table("icw-by-loss", "What is the window worth at which loss?", head, rows, 1, note)


def rtt_table(runs: "pl.DataFrame") -> Table:
    """Show load times by round trip."""
    rows = [[f"ICW {iw}", *(f"{seconds(runs, iw=iw, rtt=rtt)[0]:.2f} s" for rtt in RTTS)] for iw in WINDOWS]
    rows.append(["ICW 3 to 16", *(f"{reduction(runs, rtt):.0%}" for rtt in RTTS)])
    head = ["", *(f"RTT {rtt} ms" for rtt in RTTS)]
    note = (
        "No loss. The last line is the reduction; the study has 27-38 % over round trips that are not given."
    )
    return Table("icw-by-rtt", "What is the window worth at which round trip?", head, rows, 1, note)


def reduction(runs: "pl.DataFrame", rtt: int) -> float:
    """Give the share by which a window of 16 shortens the load of window 3."""
    three, sixteen = (seconds(runs, iw=iw, rtt=rtt)[0] for iw in (3, 16))
    return 1 - sixteen / three


def abc_table(runs: "pl.DataFrame") -> Table:
    """Show load times by byte counting."""
    rows = [
        [f"ICW {iw}", *(f"{counted(runs, iw, way):.2f} s" for way in ABC), f"{abc_effect(runs, iw):+.0%}"]
        for iw in WINDOWS
    ]
    head = ["", *(f"tcp_abc {name}" for name in ABC.values()), "2 against 0"]
    return Table("byte-counting", "What does byte counting change?", head, rows, 1, "RTT 100 ms, no loss.")


def counted(runs: "pl.DataFrame", iw: int, way: str) -> float:
    """Give a load time in seconds by how acknowledgements count."""
    return seconds(runs, iw=iw, **{COUNTING: way})[0]


def abc_effect(runs: "pl.DataFrame", iw: int) -> float:
    """Give by which share counting bytes changes a load, two segments an acknowledgement."""
    return counted(runs, iw, "bytes-2") / counted(runs, iw, "acks") - 1


def cells(rtt: "pl.DataFrame", loss: ByLoss, abc: "pl.DataFrame") -> list[Cell]:
    """Give all figures as cells; the study printed none of them."""

    def cell(experiment: str, variant: str, ours: float, *, lost: float = 0.0, rtt: int = 100) -> Cell:
        return Cell(condition(experiment, lost, rtt), variant, None, ours, "s")

    made = [
        cell("ICW by RTT", f"ICW {iw}", seconds(rtt, iw=iw, rtt=at)[0], rtt=at)
        for at in RTTS
        for iw in WINDOWS
    ]
    made += [
        cell("ICW by loss", f"ICW {iw}", loss.mean(iw, lost), lost=float(lost))
        for lost in LOSSES
        for iw in WINDOWS
    ]
    made += [
        cell("byte counting", f"ICW {iw}, tcp_abc {name}", counted(abc, iw, way))
        for iw in WINDOWS
        for way, name in ABC.items()
    ]
    return made
