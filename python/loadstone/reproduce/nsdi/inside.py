"""What the loads of pages look like from inside: idle connections, objects under way, bytes pushed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadstone import experiment
from loadstone._native import Outcome
from loadstone.pages import Page as Named
from loadstone.reproduce.nsdi.corpus import Page
from loadstone.reproduce.nsdi.loads import sweep
from loadstone.reproduce.nsdi.pages import Change
from loadstone.reproduce.study import Runner
from loadstone.sweep.matrix import Settings


@dataclass(frozen=True)
class Inside:
    """Of one load."""

    plt_ms: float
    idle: float
    """Share of the round trips of its connections in which nothing came, since each was established."""
    under_way: float
    """Objects that were asked for and had not come, on average over the load."""
    pushed: int
    """Bytes of objects that were pushed."""
    computing: float
    """Share of the load time that went into computing."""


def look(
    runner: Runner,
    corpus: Mapping[str, Page],
    change: Change,
    settings: Settings,
    network: tuple[int, int, float],
) -> list[Inside]:
    """Load every page once and look inside; `network` is round trip in ms, Mbit/s, loss in percent."""
    rtt, rate, loss = network
    common = {**sweep().common, **settings}
    common["network"] = common["network"].format(rtt=rtt, rate=rate, loss=loss)
    del common["page"]
    jobs = [
        experiment.cell(Named(name, json.dumps(change(page)), {}), experiment.chosen(common)).jobs(1, 1)[0]
        for name, page in corpus.items()
    ]
    return [_inside(outcome, rtt) for outcome in runner.outcomes(jobs) if outcome.completed]


def _inside(outcome: Outcome, rtt_ms: float) -> Inside:
    seen = outcome.waterfall()
    spans = [
        (connection, sent, first, last)
        for connection, sent, first, last in zip(
            seen["connection"], seen["sent_ms"], seen["first_byte_ms"], seen["last_byte_ms"], strict=True
        )
        if connection is not None and first is not None and last is not None
    ]
    account = outcome.account() or {}
    pushed = [
        size for size, found_by in zip(seen["bytes"], seen["found_by"], strict=True) if found_by == "push"
    ]
    return Inside(
        outcome.plt_ms,
        _idle(outcome, [(connection, first, last) for connection, _, first, last in spans], rtt_ms),
        sum(last - sent for _, sent, _, last in spans if sent is not None) / outcome.plt_ms,
        sum(pushed),
        account.get("computing", 0.0) / outcome.plt_ms,
    )


def _idle(outcome: Outcome, spans: Sequence[tuple[int, float, float]], rtt_ms: float) -> float:
    """Count the round trips of each connection, and those in which no part of a response came."""
    rounds = idle = 0
    for at, established in enumerate(outcome.connection_table()["established_ms"]):
        if established is None:
            continue
        own = [(first, last) for connection, first, last in spans if connection == at]
        begin = established
        while begin < outcome.plt_ms:
            rounds += 1
            idle += not any(first < begin + rtt_ms and last >= begin for first, last in own)
            begin += rtt_ms
    return idle / rounds if rounds else 0.0
