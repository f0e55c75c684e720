"""A path that users share: what a large window does to its own losses, and to other flows.

The study could not see this in its laboratory, whose losses were given, and concludes it from its traffic.
Its paths are not known, so their rate, queue and load are assumed, and varied.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Outcome, Scenario
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below

from . import front_page
from .laboratory import CLIENT, SERVER, Laboratory

WINDOWS = (1, 3, 5, 7, 10, 16, 32)
_LARGE, _USUAL, _LARGER = 32, 3, 16
_MATTERS = 1.01
"""What changes a time by less does not matter."""
_RTT_MS = 100
_ACCESS_MS = 2


@dataclass(frozen=True)
class Path:
    """What is assumed of it."""

    rate: int = 10
    """Mbit/s."""
    queue: int = 100
    """Packets."""
    users: int = 16
    """How many load the front page within ten seconds."""
    neighbours: int = 4
    """How many short flows come at once, again and again."""


_AS_STATED = Path()
_WIDE = Path(rate=100, queue=1000)
"""A user's own, as in the study's laboratory."""
_OTHERWISE: Mapping[str, Path] = {
    "queue of 30 packets": replace(_AS_STATED, queue=30),
    "queue of 300 packets": replace(_AS_STATED, queue=300),
    "8 users": replace(_AS_STATED, users=8),
    "24 users": replace(_AS_STATED, users=24),
    "2 Mbit/s": replace(_AS_STATED, rate=2),
    "50 Mbit/s": replace(_AS_STATED, rate=50),
    "2 short flows at once": replace(_AS_STATED, neighbours=2),
    "8 short flows at once": replace(_AS_STATED, neighbours=8),
}


def _path(assumption: str) -> Path:
    return _AS_STATED if assumption == AS_STATED else _OTHERWISE[assumption]


# --- many users load the front page over one link ---

_WITHIN_MS = 10_000


def crowd(path: Path, users: int, iw: int, seed: int) -> Scenario:
    """Let users load the front page, each at a moment of ten seconds; the one in the middle is measured."""
    chance = random.Random(f"{seed}")
    moments = [_WITHIN_MS / 2, *(chance.uniform(0, _WITHIN_MS) for _ in range(users - 1))]
    hosts = [
        {"name": f"user-{at}", "runs": "browser", "page": _at(moment, at)}
        for at, moment in enumerate(moments)
    ]
    links = [
        {"name": f"access-{at}", "between": [f"user-{at}", "exchange"], "network": f"100mbit,{_ACCESS_MS}ms"}
        for at in range(users)
    ]
    shared = f"{path.rate}mbit,{_RTT_MS - _ACCESS_MS}ms,queue={path.queue}p"
    topology = {
        "hosts": [*hosts, {"name": "exchange", "runs": "junction"}, {"name": "servers", "runs": "origins"}],
        "links": [*links, {"name": "shared", "between": ["exchange", "servers"], "network": shared}],
    }
    fields = {"variant": _variant(iw), "topology": topology, "network": shared}
    return experiment.scenario(pages.of_document(_at(moments[0], 0)), fields)


def _at(moment: float, user: int) -> dict[str, Any]:
    """Let a user load the front page at a moment."""
    start = {"url": f"http://start-{user}.test/", "bytes": 1}
    root, *others = front_page.front()["objects"]
    waits = {**root, "needs": [{"node": start["url"], "on": "end", "ms": round(moment, 3)}]}
    return {"objects": [start, waits, *others]}


def _variant(iw: int) -> dict[str, Any]:
    return {"tcp": {**SERVER, "iw": iw}, "client_tcp": CLIENT}


def _row_of_crowd(outcome: Outcome) -> dict[str, float]:
    sent = outcome.waterfall()["sent_ms"][1]
    assert sent is not None, "the load was completed"
    return {
        "seconds": (outcome.plt_ms - sent) / 1000,
        "sent_again": 100 * outcome.retransmissions / outcome.packets_down,
    }


def crowds(laboratory: Laboratory) -> Evidence:
    """Give loads of one user, alone and among others, by initial window."""

    @cache
    def run(seeds: int, assumption: str) -> pl.DataFrame:
        path = _path(assumption)
        cells = [
            (users, iw, seed)
            for users in (1, path.users)
            for iw in WINDOWS
            for seed in range(1, seeds + 1 if users > 1 else 2)
        ]
        outcomes = laboratory.outcomes(
            [(crowd(path if users > 1 else _WIDE, users, iw, seed), seed) for users, iw, seed in cells]
        )
        rows = [
            {"path": "crowd" if users > 1 else "alone", "iw": iw, "seed": seed, **_row_of_crowd(outcome)}
            for (users, iw, seed), outcome in zip(cells, outcomes, strict=True)
            if outcome.completed
        ]
        return pl.DataFrame(rows)

    return Evidence(
        run,
        ("seconds", "sent_again"),
        "iw",
        20,
        320,
        tuple(name for name in _OTHERWISE if "users" in name or "queue" in name),
    )


def mean(runs: pl.DataFrame, measure: str, **levels: object) -> float:
    """Give the mean of a measure over some levels."""
    found = runs.filter(*(pl.col(name) == level for name, level in levels.items()))[measure].mean()
    assert isinstance(found, float)
    return found


def suffers(runs: pl.DataFrame) -> Figure:
    """Say by how much the largest window is slower than the best smaller one, among other users."""
    smaller = min(mean(runs, "seconds", path="crowd", iw=iw) for iw in WINDOWS[:-1])
    return above(
        "among many users 32 for the best", mean(runs, "seconds", path="crowd", iw=_LARGE) / smaller, 1
    )


def _no_one_window(runs: pl.DataFrame) -> list[Figure]:
    alone = [mean(runs, "seconds", path="alone", iw=iw) for iw in (_LARGE, _USUAL)]
    return [below("alone 32 for 3", alone[0] / alone[1], 1), suffers(runs)]


def _raises_losses(runs: pl.DataFrame) -> list[Figure]:
    small, large = (mean(runs, "sent_again", path="crowd", iw=iw) for iw in (_USUAL, _LARGER))
    return [above(f"sent again {small:.1f} % with 3; more with 16", large - small, 0, unit="%")]


# --- short flows come at once beside a long one, and beside one that keeps a small window ---

_LONG_BYTES = 4_000_000
_SHORT_BYTES = 48_000
_FIRST_MS = (500, 1500)
_EVERY_MS = 1000
_WAVES = 4
_KEEPS_3_IN, _BEFORE_MS = 2, 500
"""Before which of them the short flow comes that is measured, and by how much at most."""


def meeting(path: Path, iw: int, seed: int, *, with_long: bool) -> Scenario:
    """Let short flows of that window come again and again, beside one that keeps 3, and a long one."""
    chance = random.Random(f"{seed}")
    first, before = chance.uniform(*_FIRST_MS), chance.uniform(0, _BEFORE_MS)
    start = {"url": "http://start.test/", "bytes": 1}

    def short(host: str, ms: float) -> dict[str, Any]:
        needs = [{"node": start["url"], "on": "end", "ms": round(ms, 3)}]
        return {"url": f"http://{host}/", "bytes": _SHORT_BYTES, "needs": needs}

    moments = [first + wave * _EVERY_MS for wave in range(_WAVES)]
    large = {f"{ms:.0f}-{at}.test": ms for ms in moments for at in range(path.neighbours)}
    small = short("keeps-3.test", moments[_KEEPS_3_IN] - before)
    objects = [start, small, *(short(host, ms) for host, ms in large.items())]
    long = {"url": "http://long.test/", "bytes": _LONG_BYTES, "needs": []}
    variant = {**_variant(_USUAL), "tcp_of": {host: {**SERVER, "iw": iw} for host in large}}
    page = pages.of_document({"objects": [*objects, long] if with_long else objects})
    network = f"{path.rate}mbit,{_RTT_MS}ms,queue={path.queue}p"
    return experiment.scenario(page, {"network": network, "variant": variant})


_BESIDE_A_LONG_ONE = "a long flow beside them"


def meetings(laboratory: Laboratory, flow: str) -> Evidence:
    """Give how long a `long` flow, or a `short` one that keeps 3, takes by the window of those that come."""
    paths = [name for name in _OTHERWISE if "users" not in name]

    @cache
    def run(seeds: int, assumption: str) -> pl.DataFrame:
        with_long = flow == "long" or assumption == _BESIDE_A_LONG_ONE
        path = _AS_STATED if assumption == _BESIDE_A_LONG_ONE else _path(assumption)
        cells = [(iw, seed) for iw in (_USUAL, _LARGE) for seed in range(1, seeds + 1)]
        loads = [(meeting(path, iw, seed, with_long=with_long), seed) for iw, seed in cells]
        place = -1 if flow == "long" else 1
        rows = [
            {"window": iw, "seed": seed, "seconds": _took(outcome, place) / 1000}
            for (iw, seed), outcome in zip(cells, laboratory.outcomes(loads), strict=True)
        ]
        return pl.DataFrame(rows)

    others = (*paths, _BESIDE_A_LONG_ONE) if flow == "short" else tuple(paths)
    return Evidence(run, ("seconds",), "window", 20, 640, others)


def _took(outcome: Outcome, place: int) -> float:
    rows = outcome.waterfall()
    found, last = rows["found_ms"][place], rows["last_byte_ms"][place]
    assert found is not None and last is not None, "the load was completed"
    return last - found


def judge(judge: Judge, laboratory: Laboratory) -> None:
    """Judge what is said of users that share a path."""
    users = crowds(laboratory)
    judge.finding("YA04", users, _no_one_window)
    judge.finding("YA76", users, _raises_losses)
    for id, flow in (("YA05", "long"), ("YA77", "short")):
        judge.finding(id, meetings(laboratory, flow), _takes_longer)


def _takes_longer(runs: pl.DataFrame) -> list[Figure]:
    large, usual = (mean(runs, "seconds", window=iw) for iw in (_LARGE, _USUAL))
    return [above(f"{usual:.2f} s beside windows of 3; beside 32 times", large / usual, _MATTERS, 3)]
