"""Two flows at 25 % loss, one long and one short, one after the other; and of what the loss is a share.

The study says 25 %, and not of what. Two figures of this test, three ways to read it: the reading that is
nearest is the one by which everything else is run, so these two figures confirm nothing else.
"""

import math
import statistics
from dataclasses import dataclass
from functools import cache

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Outcome, Scenario
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Judge
from loadstone.reproduce.study import Cell, Table

from .assumptions import READINGS
from .initial_window import condition
from .laboratory import CLIENT, LINK, SERVER, Laboratory

LOSS = 25
SHORT_BYTES = 48_000
LONG_MS = 300_000
SEEDS = 200
LONG, SHORT = 12.6, 59.1
"""The study's rates in KB/s."""
_USED = "round trips"


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


def measure(laboratory: Laboratory, reading: str, seeds: int = SEEDS) -> Rates:
    """Measure a long flow for five minutes, and 48 KB over an idle link, each by itself."""
    long, short = (
        [
            outcome
            for outcome in laboratory.outcomes([(load, seed) for seed in range(1, seeds + 1)])
            if outcome.completed
        ]
        for load in (_load(reading, is_long=True), _load(reading, is_long=False))
    )
    return Rates([_long(outcome) for outcome in long], [_short(outcome) for outcome in short])


def _load(reading: str, *, is_long: bool) -> Scenario:
    root = {"url": "http://root.test/", "bytes": 1}
    # The long flow is looked at when five minutes are over: a timer that the page needs.
    ends = {
        "url": "http://ends.test/",
        "bytes": 1,
        "needs": [{"node": root["url"], "on": "end", "ms": LONG_MS}],
    }
    flow = {"url": "http://long.test/", "bytes": 100_000_000, "needed": False}
    alone = {"url": "http://short.test/", "bytes": SHORT_BYTES}
    objects = [root, flow, ends] if is_long else [alone]
    fields = {
        "network": LINK.format(loss=READINGS[reading](LOSS)),
        "variant": {"tcp": {**SERVER, "iw": 32}, "client_tcp": CLIENT},
    }
    return experiment.scenario(pages.of_document({"objects": objects}), fields)


def _long(outcome: Outcome) -> float:
    connections = outcome.connection_table()
    flow = connections["host"].index("long.test")
    took = outcome.plt_ms - float(connections["opened_ms"][flow])
    return float(connections["content_down"][flow]) / took


def _short(outcome: Outcome) -> float:
    """Give the rate from the opening of the connection to the last byte."""
    return SHORT_BYTES / outcome.plt_ms


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
        "fairness", "What do a long and a short flow get at 25 % loss, by what is lost?", head, rows, 1, note
    )


def _middle(rates: list[float]) -> str:
    tenths = statistics.quantiles(rates, n=10)
    return f"{tenths[0]:.1f}-{tenths[-1]:.1f}"


def cells(rates: dict[str, Rates]) -> list[Cell]:
    """Give both flows as cells, by the reading that is used."""
    found = rates[_USED]
    factors = condition("fairness", float(LOSS))
    return [
        Cell(factors, name, theirs, statistics.median(ours), "KB/s")
        for name, theirs, ours in (("long flow", LONG, found.long), ("48 KB", SHORT, found.short))
    ]


def judge(judge: Judge, laboratory: Laboratory) -> None:
    """Judge both rates; other readings of the loss turn them."""

    @cache
    def run(seeds: int, assumption: str) -> pl.DataFrame:
        reading = _USED if assumption == AS_STATED else assumption
        rates = measure(laboratory, reading, seeds)
        rows = [
            {"flow": flow, "seed": seed, "rate": rate}
            for flow, each in (("long", rates.long), ("short", rates.short))
            for seed, rate in enumerate(each, start=1)
        ]
        return pl.DataFrame(rows)

    others = tuple(reading for reading in READINGS if reading != _USED)
    evidence = Evidence(run, ("rate",), "flow", 50, assumptions=others)
    for id, flow in (("YA52", "long"), ("YA54", "short")):
        judge.number(id, evidence, lambda runs, flow=flow: _median(runs, flow), digits=1)  # type: ignore[misc]
    judge.set_up("YA53", "arithmetic: 1,460 bytes in 100 ms are 14.3 KB/s of 1,024 bytes")


def _median(runs: pl.DataFrame, flow: str) -> float:
    return float(runs.filter(pl.col("flow") == flow)["rate"].median())  # type: ignore[arg-type]
