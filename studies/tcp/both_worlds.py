"""Experiments on TCP in both worlds, the simulator's times compared with the kernel's.

    .venv/bin/python studies/tcp/both_worlds.py > studies/tcp/both_worlds.md  # simulates; kernel's are kept
    .venv/bin/python studies/tcp/both_worlds.py --measure                     # measures them again

A second object after a pause, with and without restart; and a long flow that loses packets next to a short
one with a large initial window (the fairness test of the study `yahoo`, section 4.1.3).
"""

import json
from collections.abc import Iterator
from typing import Any

from worlds import Experiment, study

from loadstone._native import Outcome, Scenario

PAUSES_MS = (50, 500, 2000)
NETWORKS = ("10mbit,100ms", "20mbit,20ms")
REPEATS = 3
FAIRNESS = "10mbit,100ms,loss=25%/0%,queue=1000p"
SHORT_BYTES = 48_000
SEEDS = 21
AT_ONCE = 6


def pause(network: str, ms: int, restart: str) -> Scenario:
    """Make a load of two objects of 300 KB over one connection, with a pause between them."""
    objects: list[dict[str, Any]] = [
        {"url": "http://a.test/", "bytes": 300_000},
        {
            "url": "http://a.test/second",
            "bytes": 300_000,
            "needs": [{"node": "http://a.test/", "on": "end", "ms": ms}],
        },
    ]
    variant = {"connections": 1, "tcp": {"mechanisms": {"idle_restart": restart}}}
    return Scenario(json.dumps({"page": {"objects": objects}, "network": network, "variant": variant}))


def fairness() -> Scenario:
    """Make a load of a long flow, and of a short one after 20 s, each from a host of its own."""
    objects: list[dict[str, Any]] = [
        {"url": "http://root.test/", "bytes": 1},
        {"url": "http://long.test/", "bytes": 100_000_000, "needed": False},
        {
            "url": "http://short.test/",
            "bytes": SHORT_BYTES,
            "needs": [{"node": "http://root.test/", "on": "end", "ms": 20_000}],
        },
    ]
    variant = {"tcp": {"iw": 32}}
    return Scenario(json.dumps({"page": {"objects": objects}, "network": FAIRNESS, "variant": variant}))


def long_rate(outcome: Outcome) -> float:
    """Give the long flow's rate in kbit/s, over all its time."""
    connections = outcome.connection_table()
    flow = connections["host"].index("long.test")
    return float(connections["content_down"][flow]) * 8 / (outcome.plt_ms - connections["opened_ms"][flow])


def short_rate(outcome: Outcome) -> float:
    """Give the short flow's rate in kbit/s, from its request to its last byte."""
    rows = outcome.waterfall()
    took = rows["last_byte_ms"][2] - rows["found_ms"][2]
    return SHORT_BYTES * 8 / took


def experiments() -> Iterator[Experiment]:
    """Give the pauses, then both flows' figures of the fairness test."""
    for network in NETWORKS:
        for ms in PAUSES_MS:
            for restart in ("halving", "never"):
                scenario = pause(network, ms, restart)
                name = f"{network}, pause {ms} ms, restart {restart}, ms"
                repeats = [(scenario, seed) for seed in range(1, REPEATS + 1)]
                yield Experiment(name, repeats, repeats[:1], lambda outcome: outcome.plt_ms)
    scenario = fairness()
    # The median of so few random runs still scatters by a third; simulated ones cost nothing.
    simulated = [(scenario, seed) for seed in range(1, 20 * SEEDS + 1)]
    live = simulated[:SEEDS]
    yield Experiment(f"{FAIRNESS}, long flow, kbit/s", live, simulated, long_rate)
    yield Experiment(f"{FAIRNESS}, 48 KB with IW 32, kbit/s", live, simulated, short_rate)


if __name__ == "__main__":
    study(__file__, list(experiments()), AT_ONCE)
