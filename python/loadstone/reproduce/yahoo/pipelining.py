"""Pipelining: one connection to each domain, and windows that hold all that a domain has."""

from typing import TYPE_CHECKING

from loadstone.reproduce.results import Cell, Table
from loadstone.reproduce.yahoo.table1 import condition

if TYPE_CHECKING:
    import polars as pl

RTT_MS = 100
WINDOWS = (3, 16, 32, 100, 300)
LARGEST = 300
ROUND_TRIPS = 4
"""Connect, HTML, connect to the other domain, all objects."""


def round_trips(runs: "pl.DataFrame", iw: int) -> float:
    """Give the load time in round trips, over a link that needs no time to send."""
    import polars as pl

    return float(runs.filter(pl.col("iw") == iw)["plt_ms"][0]) / RTT_MS


def connections(runs: "pl.DataFrame") -> int:
    """Count the connections that were opened."""
    return int(runs["connections_opened"][0])


def table(runs: "pl.DataFrame") -> Table:
    """Show round trips by window."""
    rows = [[f"ICW {iw}", f"{round_trips(runs, iw):.2f}"] for iw in WINDOWS]
    note = (
        f"Over a link of 10 Gbit/s, with {connections(runs)} connections opened. What is above a whole "
        "number is sending and programs' time. The study has 4 with ICW 300."
    )
    return Table(
        "pipelining", "How many round trips does a pipelining client need?", ["", "RTT"], rows, 1, note
    )


def cells(runs: "pl.DataFrame") -> list[Cell]:
    """Give round trips as cells."""
    factors = condition("pipelining")
    return [
        Cell(
            factors,
            f"ICW {iw}",
            float(ROUND_TRIPS) if iw == LARGEST else None,
            round_trips(runs, iw),
            "RTT",
        )
        for iw in WINDOWS
    ]
