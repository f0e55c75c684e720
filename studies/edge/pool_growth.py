"""What a pool behind an edge saves by waiting for connections that are soon free, and what that costs.

    .venv/bin/python studies/edge/pool_growth.py > studies/edge/pool_growth.md

simulates loads of the shipped pages through an edge that opens a connection for each request that finds none
free, through one that has at most six, and through one that grows as it saves. In ten seconds.
"""

import json
import statistics
import sys
from dataclasses import dataclass
from itertools import product

import polars as pl

from loadstone import Page, Scenario
from loadstone.experiment import execute

PAGES = ("shop", "news", "remote-ui")
NETWORKS = ("cable", "10/1mbit,100ms")
BACKHAULS = ("100mbit,20ms", "100mbit,80ms", "10mbit,80ms")
VISITORS = (1, 4)
"""Browsers that load the page at the same time, each behind an access link of its own."""
POOLS = {
    "at once": {"server_growth": "at-once"},
    "at most 6": {"server_growth": "at-once", "server_connections": 6},
    "as it saves": {"server_growth": "as-it-saves"},
}
RUNS = 5


@dataclass(frozen=True)
class GrowthCell:
    """A page loaded by some visitors through an edge."""

    page: str
    network: str
    backhaul: str
    visitors: int

    def scenario(self, pool: dict[str, object]) -> Scenario:
        """Give its loads with a pool behind the edge."""
        page = json.loads(Page.read(f"example:{self.page}").content.to_json())
        names = [f"visitor {at}" for at in range(self.visitors)]
        hosts = [{"name": name, "runs": "browser", "via": "edge"} for name in names]
        hosts += [{"name": "edge", "runs": "relay", **pool}, {"name": "servers", "runs": "origins"}]
        links = [{"name": f"access of {name}", "between": [name, "edge"]} for name in names]
        links.append({"name": "backhaul", "between": ["edge", "servers"], "network": self.backhaul})
        return Scenario(
            json.dumps(
                {
                    "page": page,
                    "network": self.network,
                    "variant": {"protocol": "h2", "tls": "1.3"},
                    "topology": {"hosts": hosts, "links": links},
                }
            )
        )


@dataclass(frozen=True)
class PoolLoads:
    """What the loads of a cell were with a pool; medians."""

    ms: float
    """Page load time of all visitors."""
    connections: float
    """Behind the edge."""


def loaded(cell: GrowthCell, pool: dict[str, object]) -> PoolLoads:
    """Load the page."""
    scenario = cell.scenario(pool)
    times, connections = [], []
    for outcome in execute([(scenario, seed) for seed in range(1, RUNS + 1)], None, packets=1_000_000):
        times += [outcome.plt_ms, *(ms for _, ms, _ in outcome.others)]
        table, left_out = outcome.capture() or ("", 1)
        if left_out:
            raise SystemExit(f"{cell}: too many packets")
        packets = pl.read_csv(table.encode(), infer_schema=False).filter(link="backhaul")
        connections.append(packets["connection"].n_unique())
    return PoolLoads(*map(statistics.median, (times, connections)))


def main() -> None:
    """Print a table, and what it says."""
    say = sys.stdout.write
    say("Page load time of all visitors and connections behind the edge, medians of five runs.\n\n")
    say("| page | network | backhaul | visitors |" + "".join(f" {name} |" for name in POOLS) + "\n")
    say("|---|---|---|--:|" + "--:|" * len(POOLS) + "\n")
    kept: list[list[PoolLoads]] = []
    for page, network, backhaul, visitors in product(PAGES, NETWORKS, BACKHAULS, VISITORS):
        cell = GrowthCell(page, network, backhaul, visitors)
        kept.append(of_cell := [loaded(cell, pool) for pool in POOLS.values()])
        shown = [f"{one.ms:,.0f} ms, {one.connections:.0f}" for one in of_cell]
        say(f"| {page} | {network} | {backhaul} | {visitors} | " + " | ".join(shown) + " |\n")
    say("\n| against `at once` | page load time, median | least | most | connections |\n")
    say("|---|--:|--:|--:|--:|\n")
    for at, name in enumerate(POOLS):
        longer = sorted(of_cell[at].ms / of_cell[0].ms - 1 for of_cell in kept)
        fewer = statistics.median(of_cell[at].connections / of_cell[0].connections for of_cell in kept)
        figures = [f"{one:+.1%}" for one in (statistics.median(longer), longer[0], longer[-1])]
        say(f"| {name} | {' | '.join(figures)} | {fewer:.0%} |\n")


if __name__ == "__main__":
    main()
