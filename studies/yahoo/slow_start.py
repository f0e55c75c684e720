"""Slow start: how the window grows, what a pause leaves of it, what it does to single objects."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Outcome, Scenario
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.study import Cell, Runner, Table

from .assumptions import ASSUMPTIONS
from .initial_window import condition
from .laboratory import CLIENT, LINK, SERVER, Laboratory, scenario

ROUNDS = 6
PAUSES_MS = (100, 500, 2000, 10_000)
RESTARTS = ("halving", "never")
BYTES = 100_000
_RTT_MS = 100
_MOST_PACKETS = 10_000


def without_chance(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Give loads in which chance has no part as evidence has them."""
    return pl.DataFrame([{**row, "seed": 1} for row in rows])


def growth(laboratory: Laboratory) -> Evidence:
    """Give the factor by which the window grows in a round trip, by how the client acknowledges."""
    clients = {"delayed": CLIENT, "every segment": {"profile": "linux-6"}}

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        rows = [
            {"acknowledges": name, "growth": _growth(laboratory.runner, client)}
            for name, client in clients.items()
        ]
        return without_chance(rows)

    return Evidence(run, ("growth",), "acknowledges")


def _growth(runner: Runner, client: dict[str, Any]) -> float:
    """Give the factor on average over the first six."""
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


def connections(laboratory: Laboratory) -> Evidence:
    """Give the round trips of a small object, over a connection of its own and over one that is open."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        first = {"url": "http://a.test/", "bytes": 1000}
        second = {
            "url": "http://a.test/2",
            "bytes": 1000,
            "needs": [{"node": first["url"], "on": "end", "ms": 0}],
        }
        [outcome] = laboratory.outcomes([(_load([first, second], CLIENT), 1)])
        own = outcome.waterfall()["last_byte_ms"][0]
        assert own is not None, "the load was completed"
        trips = {"of its own": own / _RTT_MS, "open": (outcome.plt_ms - own) / _RTT_MS}
        return without_chance([{"connection": name, "trips": each} for name, each in trips.items()])

    return Evidence(run, ("trips",), "connection")


SIZES = {"20 KB": 20_000, "1 MB": 1_000_000}


def counting(laboratory: Laboratory) -> Evidence:
    """Give how long an object takes by how the server counts acknowledgements."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        cells = [(name, way) for name in SIZES for way in ("acks", "bytes-2")]
        loads = [
            (
                _load(
                    [{"url": "http://a.test/", "bytes": SIZES[name]}], CLIENT, mechanisms={"counting": way}
                ),
                1,
            )
            for name, way in cells
        ]
        took = [outcome.plt_ms for outcome in laboratory.outcomes(loads)]
        rows = [
            {"size": name, "counting": way, "ms": ms} for (name, way), ms in zip(cells, took, strict=True)
        ]
        return without_chance(rows)

    return Evidence(run, ("ms",), "counting")


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


def transfers(laboratory: Laboratory) -> Evidence:
    """Give how long each object of the front page takes from its request on, by initial window."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        page = laboratory.page(assumption)
        common = ASSUMPTIONS[assumption].common if assumption != AS_STATED else {}
        windows = (3, 16, 32)
        outcomes = laboratory.outcomes([(scenario(page, iw, common=common), 1) for iw in windows])
        rows = []
        for iw, outcome in zip(windows, outcomes, strict=True):
            first = _first_requests(outcome)
            rows += [
                {"object": place, "iw": iw, "is_first": place in first, "ms": _took(outcome, place)}
                for place in range(len(page["objects"]))
            ]
        # An object may come first on its connection with one window, and not with another one.
        turn = {row["object"]: row["is_first"] for row in rows if row["iw"] == windows[0]}
        return without_chance([{**row, "is_first": turn[row["object"]]} for row in rows])

    losses = {name for name, assumed in ASSUMPTIONS.items() if assumed.reading != "round trips"}
    return Evidence(run, ("ms",), "iw", assumptions=tuple(name for name in ASSUMPTIONS if name not in losses))


def _first_requests(outcome: Outcome) -> set[int]:
    rows = outcome.waterfall()
    order = sorted(range(len(rows["name"])), key=lambda place: rows["sent_ms"][place] or 0.0)
    first: dict[int | None, int] = {}
    for place in order:
        first.setdefault(rows["connection"][place], place)
    return {*first.values()}


def handshakes(laboratory: Laboratory) -> Evidence:
    """Give how long connections took to open in loads with loss, by whether a packet of it was lost."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        page = laboratory.page(AS_STATED)
        loads = [(scenario(page, 3, "9.4461%"), seed) for seed in range(1, seeds + 1)]
        rows = []
        for outcome in laboratory.outcomes(loads):
            table = outcome.connection_table()
            for opened, established in zip(table["opened_ms"], table["established_ms"], strict=True):
                if opened is not None and established is not None:
                    took = established - opened
                    rows.append({"lost": took > 1.5 * _RTT_MS, "seed": outcome.seed, "ms": took})
        return pl.DataFrame(rows)

    return Evidence(run, ("ms",), "lost")


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
