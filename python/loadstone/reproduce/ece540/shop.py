"""Cold and warm cache: a page of many hosts in place of the production site of the study `ece540`."""

from typing import TYPE_CHECKING

from loadstone.reproduce.ece540.labs import PROTOCOLS
from loadstone.reproduce.results import Cell, Table
from loadstone.reproduce.study import Runner

if TYPE_CHECKING:
    import polars as pl

CACHES = {"cold": "disabled", "warm": "enabled"}
"""What the study calls them."""
THEIRS = {
    ("spdy", "cold"): (2.535, 44.5),
    ("spdy", "warm"): (2.494, 31.5),
    ("http", "cold"): (5.639, 41.3),
    ("http", "warm"): (1.786, 15.6),
}
"""The study's means of ten loads: seconds, connections."""

Shop = dict[tuple[str, str], tuple[float, float]]
"""Seconds and connections by protocol and cache."""


def measure(runner: Runner) -> Shop:
    """Load it with both caches."""
    runs = runner.runs(runner.matrix("ece540", "shop.toml"))
    return {(protocol, cache): _figures(runs, protocol, cache) for protocol, cache in THEIRS}


def _figures(runs: "pl.DataFrame", protocol: str, cache: str) -> tuple[float, float]:
    import polars as pl

    loads = runs.filter(pl.col("page") == f"{cache}.page.json", pl.col("protocol") == PROTOCOLS[protocol])
    return float(loads["plt_ms"][0]) / 1000, float(loads["connections_opened"][0])


def table(found: Shop) -> Table:
    """Show times and connections."""
    lines = [
        [
            f"{protocol.upper()}, {cache}",
            f"{theirs[0]:.2f} s",
            f"{found[protocol, cache][0]:.2f} s",
            f"{theirs[1]:.1f}",
            f"{found[protocol, cache][1]:.0f}",
        ]
        for (protocol, cache), theirs in THEIRS.items()
    ]
    head = ["cache", "study", "ours", "connections: study", "ours"]
    note = (
        "The study loaded a production site, SPDY by Chrome and HTTP by Internet Explorer 10; ours is a "
        "stated page of ten hosts, with every seventh object not in the warm cache. Only the direction can "
        "be compared."
    )
    return Table("shop", "What does a warm cache change?", head, lines, 1, note)


def cells(found: Shop) -> list[Cell]:
    """Give times and connections as cells; the study's do not compare two protocols."""
    return [
        Cell(
            {"lab": f"site, {cache} cache", "quantity": quantity},
            protocol,
            theirs[place],
            found[protocol, cache][place],
            unit,
            is_sound=False,
        )
        for (protocol, cache), theirs in THEIRS.items()
        for place, (quantity, unit) in enumerate((("time_s", "s"), ("connections", "connections")))
    ]
