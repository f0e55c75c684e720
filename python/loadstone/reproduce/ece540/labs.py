"""The two laboratories of the study `ece540`: the same page over HTTP and SPDY, beside its 20 repetitions."""

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.reproduce.claims import STUDIES, rows
from loadstone.reproduce.results import Cell, Table
from loadstone.reproduce.study import Runner

if TYPE_CHECKING:
    import polars as pl

LABS = {"ec2": "Amazon EC2", "virtual": "virtual laboratory"}
PROTOCOLS = {"http": "http/1.1", "spdy": "spdy/2"}
QUANTITIES = {
    "time_s": "s",
    "mbps": "Mbit/s",
    "bytes": "MB",
    "packets": "packets",
    "connections": "connections",
}
"""What was measured, and in which unit it is shown."""

Figures = dict[str, float]
"""Means of the repetitions by quantity."""


@dataclass(frozen=True)
class Lab:
    """Both protocols in one laboratory: theirs and ours."""

    theirs: dict[str, Figures]
    ours: dict[str, Figures]

    def reduction(self, quantity: str, of: dict[str, Figures] | None = None) -> float:
        """Give the percentage by which SPDY has less; ours unless said."""
        figures = of or self.ours
        return 100 * (1 - figures["spdy"][quantity] / figures["http"][quantity])


def measure(runner: Runner) -> dict[str, Lab]:
    """Load the page in both."""
    labs = {}
    for lab in LABS:
        runs = runner.runs(runner.matrix("ece540", f"{lab}.toml"))
        labs[lab] = Lab(
            {name: _theirs(lab, name) for name in PROTOCOLS},
            {name: _ours(runs, protocol) for name, protocol in PROTOCOLS.items()},
        )
    return labs


def _theirs(lab: str, protocol: str) -> Figures:
    """Give the study's means; the rate is bytes by time, since 11 rates of the study are not."""
    repetitions = [
        {name: float(value) for name, value in row.items() if name not in ("lab", "protocol")}
        for row in rows(STUDIES / "ece540" / "repetitions.csv")
        if (row["lab"], row["protocol"]) == (lab, protocol)
    ]
    times, sizes = ([one[name] for one in repetitions] for name in ("time_s", "bytes"))
    return {
        "time_s": statistics.mean(times),
        "mbps": statistics.mean(size * 8e-6 / time for size, time in zip(sizes, times, strict=True)),
        "bytes": statistics.mean(sizes) / 1e6,
        "packets": statistics.mean(one["packets"] for one in repetitions),
        "connections": statistics.mean(one["connections"] for one in repetitions),
    }


def _ours(runs: "pl.DataFrame", protocol: str) -> Figures:
    import polars as pl

    loads = runs.filter(pl.col("protocol") == protocol, pl.col("completed"))
    moved = (pl.col("bytes_down") + pl.col("bytes_up")) / 1e6
    means = loads.select(
        time_s=pl.col("plt_ms").mean() / 1000,
        mbps=(moved * 8000 / pl.col("plt_ms")).mean(),
        bytes=moved.mean(),
        packets=(pl.col("packets_down") + pl.col("packets_up")).mean(),
        connections=pl.col("connections_opened").mean(),
    )
    return {name: float(value) for name, value in means.row(0, named=True).items()}


def table(lab: str, found: Lab) -> Table:
    """Show every quantity of both protocols."""
    head = ["", "HTTP: study", "ours", "SPDY: study", "ours", "SPDY for HTTP: study", "ours"]
    lines = []
    for quantity, unit in QUANTITIES.items():
        figures = [
            f"{of[protocol][quantity]:,.{0 if quantity == 'packets' else 2}f}"
            for protocol in PROTOCOLS
            for of in (found.theirs, found.ours)
        ]
        shares = [f"{-found.reduction(quantity, of):+.1f} %" for of in (found.theirs, found.ours)]
        lines.append([unit, *figures, *shares])
    note = "Means of 20 repetitions" + ("; ours are all alike without loss." if lab == "virtual" else ".")
    if lab == "virtual":
        note += " The study's packets were counted before they were cut up, so they cannot be compared."
    return Table(f"lab-{lab}", f"HTTP and SPDY: {LABS[lab]}", head, lines, 1, note)


def cells(labs: dict[str, Lab]) -> list[Cell]:
    """Give every figure as a cell; packets of the virtual laboratory are not credible."""
    return [
        Cell(
            {"lab": lab, "quantity": quantity},
            protocol,
            found.theirs[protocol][quantity],
            found.ours[protocol][quantity],
            unit,
            is_sound=(lab, quantity) != ("virtual", "packets"),
        )
        for lab, found in labs.items()
        for quantity, unit in QUANTITIES.items()
        for protocol in PROTOCOLS
    ]
