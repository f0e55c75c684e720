"""The 72 cells of the study's first comparison: SPDY against HTTPS, initial window 3.

Prints a Markdown table of both laboratories side by side, each of our cells with what the accounts of its
median runs say: `.venv/bin/python studies/cablelabs/spdy.py`.
"""

import csv
import itertools
import statistics
from dataclasses import dataclass
from pathlib import Path

import click

from loadstone import account, experiment, pages
from loadstone._native import Outcome
from loadstone.account import PARTS, Account
from loadstone.pages import Page

RUNS = 20
"""Runs of a cell with loss, as in the study."""
SUSPECT = "s"
"""Marks cells whose published times are not credible: 1 % loss and several servers on Windows 7."""

Key = tuple[str, int, int, int, int]
"""Page, servers, Mbit/s down (a tenth of it up), round trip in ms, loss in %."""


@dataclass(frozen=True)
class Cell:
    """Both laboratories' figures of one cell, in ms."""

    published: tuple[float, float]
    ours: tuple[float, float]
    accounts: tuple[Account, Account]

    @property
    def gains(self) -> tuple[float, float]:
        """Give HTTPS over SPDY: the study's, and ours."""
        return self.published[0] / self.published[1], self.ours[0] / self.ours[1]


def published() -> dict[Key, tuple[float, float]]:
    """Read the study's medians (appendix A.3): HTTPS, SPDY."""
    with (Path(__file__).parent / "published.csv").open(encoding="utf-8") as file:
        return {
            _key(row): (float(row["https_iw3_ms"]), float(row["spdy_iw3_ms"])) for row in csv.DictReader(file)
        }


def _key(row: dict[str, str]) -> Key:
    servers, rate, rtt, loss = (int(row[name]) for name in ("servers", "down_mbps", "rtt_ms", "loss_pct"))
    return row["page"], servers, rate, rtt, loss


def run(page: Page, key: Key, protocol: str) -> list[Outcome]:
    """Load the page as the study did, as far as is known."""
    _, servers, rate, rtt, loss = key
    cell = experiment.cell(
        page,
        {
            "network": f"{rate}/{rate / 10:g}mbit,{rtt}ms,loss={loss}%",
            "variant.protocol": protocol,
            # Handshakes of that time took two round trips.
            "variant.tls": "1.2",
            "variant.servers": servers,
            "variant.tcp.profile": "linux-2.6",
            "variant.client_tcp.profile": "windows-7",
            "variant.tcp.iw": 3,
        },
    )
    return experiment.execute(cell.jobs(RUNS if loss else 1, 1), None)


def cells() -> dict[Key, Cell]:
    """Run everything."""
    figures = published()
    read = {name: pages.read(f"synthetic:{name}") for name in "ABC"}
    keys = itertools.product("ABC", (1, 2, 4), (10, 20), (20, 100), (0, 1))
    made = {}
    for key in keys:
        outcomes = [run(read[key[0]], key, protocol) for protocol in ("http/1.1", "spdy/3.1")]
        https, spdy = (statistics.median(outcome.plt_ms for outcome in each) for each in outcomes)
        accounts = [account.of_median(each) for each in outcomes]
        if accounts[0] is None or accounts[1] is None:
            raise SystemExit(f"{key}: no run was completed")
        made[key] = Cell(figures[key], (https, spdy), (accounts[0], accounts[1]))
    return made


def difference(cell: Cell) -> str:
    """Name the parts in which SPDY differs most from HTTPS, in ms: + is more time over SPDY."""
    https, spdy = cell.accounts
    parts = sorted(PARTS, key=lambda part: -abs(spdy[part] - https[part]))
    named = [f"{PARTS[part].label.lower()} {spdy[part] - https[part]:+,.0f}" for part in parts[:3]]
    return ", ".join(named)


def _mean_gains(made: dict[Key, Cell], wanted: dict[int, object]) -> tuple[float, float]:
    chosen = [
        cell.gains for key, cell in made.items() if all(key[at] == value for at, value in wanted.items())
    ]
    return statistics.mean(gain for gain, _ in chosen), statistics.mean(gain for _, gain in chosen)


def print_margins(made: dict[Key, Cell]) -> None:
    """Print mean gains by page, servers and loss."""
    click.echo("| page | loss | 1 server | 2 servers | 4 servers |\n|---|---|---|---|---|")
    for page, loss in itertools.product("ABC", (0, 1)):
        gains = [_mean_gains(made, {0: page, 1: servers, 4: loss}) for servers in (1, 2, 4)]
        shown = [f"{theirs:.2f} / {ours:.2f}" for theirs, ours in gains]
        click.echo(f"| {page} | {loss} % | {' | '.join(shown)} |")


def print_cells(made: dict[Key, Cell]) -> None:
    """Print all cells."""
    click.echo(
        "\n| page | servers | Mbit/s | RTT | loss | study: HTTPS, SPDY | gain | ours: HTTPS, SPDY | gain "
        "| SPDY's account less HTTPS's, ms |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for (page, servers, rate, rtt, loss), cell in made.items():
        mark = f" {SUSPECT}" if loss and servers > 1 else ""
        theirs, ours = (f"{https:,.0f}, {spdy:,.0f}" for https, spdy in (cell.published, cell.ours))
        click.echo(
            f"| {page} | {servers} | {rate} | {rtt} | {loss} % | {theirs}{mark} | {cell.gains[0]:.2f} "
            f"| {ours} | {cell.gains[1]:.2f} | {difference(cell)} |"
        )


if __name__ == "__main__":
    everything = cells()
    print_margins(everything)
    print_cells(everything)
