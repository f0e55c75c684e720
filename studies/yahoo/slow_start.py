"""Slow start: how the window grows, what a pause leaves of it, and what pipelining needs of it."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from loadstone import experiment, pages
from loadstone._native import Outcome, Scenario
from loadstone.reproduce.study import Cell, Runner, Table

from .initial_window import condition
from .laboratory import CLIENT, LINK, SERVER, front, scenario

if TYPE_CHECKING:
    import polars as pl


ROUNDS = 6
PAUSES_MS = (100, 500, 2000, 10_000)
RESTARTS = ("halving", "never")
BYTES = 100_000
_RTT_MS = 100
_MOST_PACKETS = 10_000


def growth(runner: Runner, client: dict[str, Any]) -> float:
    """Give the factor by which the window grows in a round trip, on average over the first six."""
    load = _load([{"url": "http://a.test/", "bytes": 1_000_000}], client=client)
    (outcome,) = runner.outcomes([(load, 1)], packets=_MOST_PACKETS)
    packets, _ = outcome.capture() or ("", 0)
    sent = [
        float(row["time_ms"])
        for row in csv.DictReader(io.StringIO(packets))
        if row["way"] == "down" and int(row["len"]) > 0
    ]
    rounds = Counter(int((time - sent[0]) // _RTT_MS) for time in sent)
    return float((rounds[ROUNDS - 1] / rounds[0]) ** (1 / (ROUNDS - 1)))


def single(runner: Runner) -> float:
    """Give the round trips that one object of a segment takes over a connection of its own."""
    (outcome,) = runner.outcomes([(_load([{"url": "http://a.test/", "bytes": 1000}], CLIENT), 1)])
    return outcome.plt_ms / _RTT_MS


def _load(objects: Sequence[dict[str, Any]], client: dict[str, Any], **tcp: Any) -> Scenario:
    variant = {"connections": 1, "tcp": {**SERVER, "iw": 3, **tcp}, "client_tcp": client}
    fields = {"network": LINK.format(loss="0"), "variant": variant}
    return experiment.scenario(pages.of_document({"objects": objects}), fields)


def after_pauses(runner: Runner) -> dict[tuple[int, str], float]:
    """Give the ms that a second object takes after a pause, by what a pause does to the window."""
    kinds = [(pause, restart) for pause in PAUSES_MS for restart in RESTARTS]
    jobs = [(_paused(pause, restart), 1) for pause, restart in kinds]
    return dict(zip(kinds, map(_second, runner.outcomes(jobs)), strict=True))


def _paused(pause: int, restart: str) -> Scenario:
    root = "http://a.test/"
    second = {
        "url": f"{root}second",
        "bytes": BYTES,
        "needs": [{"node": root, "on": "end", "ms": pause}],
    }
    first = {"url": root, "bytes": BYTES}
    return _load([first, second], CLIENT, mechanisms={"idle_restart": restart})


def _second(outcome: Outcome) -> float:
    return _took(outcome, 1)


def _took(outcome: Outcome, place: int) -> float:
    rows = outcome.waterfall()
    sent, last = rows["sent_ms"][place], rows["last_byte_ms"][place]
    assert sent is not None and last is not None, "the load was completed"
    return last - sent


def by_turn(runner: Runner) -> tuple[float, float]:
    """Give by which share window 16 shortens transfers against window 3: of first requests, of all."""
    few, many = runner.outcomes([(scenario(front(), iw), 1) for iw in (3, 16)])

    def share(*, only_first: bool) -> float:
        slow, quick = (
            mean(_took(outcome, place) for place in _places(outcome, only_first=only_first))
            for outcome in (few, many)
        )
        return 1 - quick / slow

    return share(only_first=True), share(only_first=False)


def _places(outcome: Outcome, *, only_first: bool) -> list[int]:
    rows = outcome.waterfall()
    order = sorted(range(len(rows["name"])), key=lambda place: rows["sent_ms"][place] or 0.0)
    if not only_first:
        return order
    first: dict[int | None, int] = {}
    for place in order:
        first.setdefault(rows["connection"][place], place)
    return list(first.values())


def table(found: dict[tuple[int, str], float]) -> Table:
    """Show what a pause costs the next object."""
    rows = [
        [
            f"{pause / 1000:g} s",
            *(f"{found[pause, restart]:.0f} ms" for restart in RESTARTS),
            f"{found[pause, 'halving'] / found[pause, 'never'] - 1:+.0%}",
        ]
        for pause in PAUSES_MS
    ]
    head = ["pause", "slow start after idle", "without", ""]
    note = f"{BYTES // 1000} KB over a connection that has had as much before, ICW 3, RTT 100 ms, no loss."
    return Table("after-idle", "What does slow start after idle cost?", head, rows, 1, note)


def cells(found: dict[tuple[int, str], float]) -> list[Cell]:
    """Give what follows pauses as cells; the study printed none."""
    factors = condition("after idle")
    return [
        Cell(factors, f"pause {pause} ms, restart {restart}", None, ours, "ms")
        for (pause, restart), ours in found.items()
    ]


# --- pipelining: windows that hold all that a domain has ---

PIPELINING_RTT_MS = 100
PIPELINING_WINDOWS = (3, 16, 32, 100, 300)
LARGEST = 300
ROUND_TRIPS = 4
"""Connect, HTML, connect to the other domain, all objects."""


def round_trips(runs: "pl.DataFrame", iw: int) -> float:
    """Give the load time in round trips, over a link that needs no time to send."""
    import polars as pl

    return float(runs.filter(pl.col("iw") == iw)["plt_ms"][0]) / PIPELINING_RTT_MS


def connections(runs: "pl.DataFrame") -> int:
    """Count the connections that were opened."""
    return int(runs["connections_opened"][0])


def pipelining_table(runs: "pl.DataFrame") -> Table:
    """Show round trips by window."""
    rows = [[f"ICW {iw}", f"{round_trips(runs, iw):.2f}"] for iw in PIPELINING_WINDOWS]
    note = (
        f"Over a link of 10 Gbit/s, with {connections(runs)} connections opened. What is above a whole "
        "number is sending and programs' time. The study has 4 with ICW 300."
    )
    return Table(
        "pipelining", "How many round trips does a pipelining client need?", ["", "RTT"], rows, 1, note
    )


def pipelining_cells(runs: "pl.DataFrame") -> list[Cell]:
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
