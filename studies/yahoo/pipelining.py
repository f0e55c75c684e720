"""Pipelining: windows that hold all that a domain has, and how many round trips are left."""

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Scenario
from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.study import Cell, Table

from . import front_page
from .front_page import BROWSER_MS
from .initial_window import condition
from .laboratory import CLIENT, FOLDER, SERVER, Laboratory
from .slow_start import without_chance

PIPELINING_RTT_MS = 100
PIPELINING_WINDOWS = (3, 16, 32, 100, 300)
LARGEST = 300
ROUND_TRIPS = 4
"""Connect, HTML, connect to the other domain, all objects."""


def clients(laboratory: Laboratory) -> Evidence:
    """Give how long the page takes, by clients.

    They pipeline, or open a connection for each object, or are the browser, with its own time and without.
    """

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        piped = laboratory.runner.runs(laboratory.runner.matrix(FOLDER / "pipelining.toml"))
        took = {f"pipelining, {iw}": ms for iw, ms in piped.select("iw", "plt_ms").iter_rows()}
        [each] = laboratory.outcomes([(_a_connection_for_each(), 1)])
        took["a connection for each, 300"] = each.plt_ms
        browser = laboratory.runs("rtt", only={"rtt": [PIPELINING_RTT_MS], "iw": [3, 32]})
        for iw, ms in browser.select("iw", "plt_ms").iter_rows():
            took[f"browser, {iw}"] = ms
            took[f"browser without its time, {iw}"] = ms - BROWSER_MS
        return without_chance([{"client": client, "ms": ms} for client, ms in took.items()])

    return Evidence(run, ("ms",), "client")


def _a_connection_for_each() -> Scenario:
    page = front_page.listed()
    variant = {
        "protocol": "http/1.1",
        "connections": len(page["objects"]),
        "tcp": {**SERVER, "iw": LARGEST},
        "client_tcp": CLIENT,
    }
    return experiment.scenario(
        pages.of_document(page), {"network": f"10gbit,{PIPELINING_RTT_MS}ms,queue=1000p", "variant": variant}
    )


def ms_of(runs: pl.DataFrame, client: str) -> float:
    """Give the time of a client."""
    return float(runs.filter(client=client)["ms"][0])


def trips_of(runs: pl.DataFrame, client: str) -> int:
    """Give the whole round trips of a client; what is over is sending."""
    return int(ms_of(runs, client) // PIPELINING_RTT_MS)


def round_trips(runs: pl.DataFrame, iw: int) -> float:
    """Give the load time in round trips, over a link that needs no time to send."""
    return float(runs.filter(pl.col("iw") == iw)["plt_ms"][0]) / PIPELINING_RTT_MS


def opened(runs: pl.DataFrame) -> int:
    """Count the connections that were opened."""
    return int(runs["connections_opened"][0])


def pipelining_table(runs: pl.DataFrame) -> Table:
    """Show round trips by window."""
    rows = [[f"ICW {iw}", f"{round_trips(runs, iw):.2f}"] for iw in PIPELINING_WINDOWS]
    note = (
        f"Over a link of 10 Gbit/s, with {opened(runs)} connections opened. What is above a whole "
        "number is sending and programs' time. The study has 4 with ICW 300."
    )
    return Table(
        "pipelining", "How many round trips does a pipelining client need?", ["", "RTT"], rows, 1, note
    )


def pipelining_cells(runs: pl.DataFrame) -> list[Cell]:
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
        for iw in PIPELINING_WINDOWS
    ]
