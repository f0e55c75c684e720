"""Fairness: how many packets a long flow loses next to a short one with a large window, and why.

The study says 25 %, and not of what. Two figures of this test, three ways to read it: the reading that is
nearest is the one by which everything else is run.
"""

import math
import statistics
from dataclasses import dataclass

from loadstone import experiment, pages
from loadstone._native import Outcome
from loadstone.reproduce.study import Cell, Runner, Table

from .initial_window import condition, each_way
from .laboratory import CLIENT, LINK, SERVER

LOSS = 25
SHORT_BYTES = 48_000
LONG_MS = 300_000
SEEDS = 200
LONG, SHORT = 12.6, 59.1
"""The study's rates in KB/s."""
READINGS = {
    "round trips": lambda loss: f"{each_way(loss):.4f}",
    "packets to the client": lambda loss: f"{loss}%/0",
    "packets of each direction": lambda loss: f"{loss}",
}
"""What a loss is a share of, and what each direction of the link then loses, in percent."""


@dataclass(frozen=True)
class Rates:
    """What both flows had in KB/s (1,000 bytes), run by run."""

    long: list[float]
    short: list[float]

    @property
    def miss(self) -> float:
        """Give how far both medians are from the study, as the mean of |ln|."""
        pairs = ((self.long, LONG), (self.short, SHORT))
        return statistics.mean(abs(math.log(statistics.median(ours) / theirs)) for ours, theirs in pairs)


def measure(runner: Runner, reading: str) -> Rates:
    """Load 48 KB by window 32 when the other flow has gone for five minutes."""
    objects = [
        {"url": "http://root.test/", "bytes": 1},
        {"url": "http://long.test/", "bytes": 100_000_000, "needed": False},
        {
            "url": "http://short.test/",
            "bytes": SHORT_BYTES,
            "needs": [{"node": "http://root.test/", "on": "end", "ms": LONG_MS}],
        },
    ]
    fields = {
        "network": LINK.format(loss=READINGS[reading](LOSS)),
        "variant": {"tcp": {**SERVER, "iw": 32}, "client_tcp": CLIENT},
    }
    scenario = experiment.scenario(pages.of_document({"objects": objects}), fields)
    outcomes = runner.outcomes([(scenario, seed) for seed in range(1, SEEDS + 1)])
    completed = [outcome for outcome in outcomes if outcome.completed]
    return Rates(list(map(_long, completed)), list(map(_short, completed)))


def _long(outcome: Outcome) -> float:
    connections = outcome.connection_table()
    flow = connections["host"].index("long.test")
    took = outcome.plt_ms - float(connections["opened_ms"][flow])
    return float(connections["content_down"][flow]) / took


def _short(outcome: Outcome) -> float:
    """Give the rate from the request, which opens the connection, to the last byte."""
    rows = outcome.waterfall()
    found, last = rows["found_ms"][2], rows["last_byte_ms"][2]
    assert found is not None and last is not None, "the load was completed"
    return SHORT_BYTES / (last - found)


def nearest(rates: dict[str, Rates]) -> str:
    """Say which reading comes nearest to the study."""
    return min(rates, key=lambda reading: rates[reading].miss)


def table(rates: dict[str, Rates]) -> Table:
    """Show both flows by what the loss is taken to be of."""
    rows = [["the study", f"{LONG} KB/s", "", f"{SHORT} KB/s", "", ""]]
    for reading, found in rates.items():
        both = [(f"{statistics.median(each):.1f} KB/s", _middle(each)) for each in (found.long, found.short)]
        rows.append([f"25% of {reading}", *both[0], *both[1], f"{found.miss:.2f}"])
    head = ["loss", "long flow", "8 of 10", "48 KB", "8 of 10", "mean |ln|"]
    note = (
        f"Medians of {SEEDS} seeds; '8 of 10': between which rates eight of ten runs lie. The study made one "
        "run. The nearest reading is used for all the rest."
    )
    return Table(
        "fairness", "Who gets what next to a large window, and why are packets lost?", head, rows, 1, note
    )


def _middle(rates: list[float]) -> str:
    tenths = statistics.quantiles(rates, n=10)
    return f"{tenths[0]:.1f}-{tenths[-1]:.1f}"


def cells(rates: dict[str, Rates]) -> list[Cell]:
    """Give both flows as cells, by the reading that is used."""
    found = rates[nearest(rates)]
    factors = condition("fairness", float(LOSS))
    return [
        Cell(factors, name, theirs, statistics.median(ours), "KB/s")
        for name, theirs, ours in (("long flow", LONG, found.long), ("48 KB", SHORT, found.short))
    ]
