"""Experiments on TCP in both worlds, the simulator's times beside the kernel's.

    .venv/bin/python studies/tcp/beside.py > studies/tcp/beside.md          # simulates; the kernel's are kept
    .venv/bin/python studies/tcp/beside.py --measure                       # measures the kernel's anew

A second object after a pause, with and without restart; and a long flow that loses packets beside a short
one with a large initial window (the fairness test of the study `yahoo`, section 4.1.3).
"""

import csv
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from loadstone import experiment
from loadstone._native import Outcome, Scenario, live_access, run_live

KEPT = Path(__file__).with_name("beside.csv")
PAUSES_MS = (50, 500, 2000)
NETWORKS = ("10mbit,100ms", "20mbit,20ms")
REPEATS = 3
FAIRNESS = "10mbit,100ms,loss=25%/0%,queue=1000p"
SHORT_BYTES = 48_000
SEEDS = 21
AT_ONCE = 6

Figures = dict[str, list[float]]


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


def experiments() -> Iterator[tuple[str, Scenario, int, Callable[[Outcome], float]]]:
    """Give name, scenario, number of seeds, and figure of each."""
    for network in NETWORKS:
        for ms in PAUSES_MS:
            for restart in ("halving", "never"):
                name = f"{network}, pause {ms} ms, restart {restart}, ms"
                yield name, pause(network, ms, restart), REPEATS, lambda outcome: outcome.plt_ms
    yield f"{FAIRNESS}, long flow, kbit/s", fairness(), SEEDS, long_rate
    yield f"{FAIRNESS}, 48 KB with IW 32, kbit/s", fairness(), SEEDS, short_rate


def measure() -> None:
    """Run everything over the kernel and keep the figures."""
    if why_not := live_access():
        sys.exit(why_not)
    with KEPT.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("experiment", "seed", "figure", "kernel"))
        jobs = {
            (scenario.to_json(), seed): scenario
            for _, scenario, seeds, _ in experiments()
            for seed in range(1, seeds + 1)
        }
        with ThreadPoolExecutor(AT_ONCE) as pool:
            runs = pool.map(lambda job: run_live(jobs[job], job[1]), jobs)
            made = dict(zip(jobs, runs, strict=True))
        for name, scenario, seeds, figure in experiments():
            for seed in range(1, seeds + 1):
                outcome = made[scenario.to_json(), seed]
                conditions = outcome.conditions() or {}
                rows.writerow((name, seed, f"{figure(outcome):.3f}", conditions["kernel"]))


def kept() -> Figures:
    """Read the kernel's figures."""
    figures: Figures = {}
    with KEPT.open() as file:
        for row in csv.DictReader(file):
            figures.setdefault(row["experiment"], []).append(float(row["figure"]))
    return figures


def main() -> None:
    """Print both worlds side by side."""
    if "--measure" in sys.argv:
        measure()
        return
    kernel = kept()
    sys.stdout.write("| experiment | kernel: median (range) | simulated | difference |\n|---|---|---|---|\n")
    for name, scenario, seeds, figure in experiments():
        # The median of so few random runs still scatters by a third; simulated ones cost nothing.
        runs = 20 * seeds if scenario.is_random else 1
        outcomes = experiment.execute([(scenario, seed) for seed in range(1, runs + 1)], None)
        ours, theirs = statistics.median(map(figure, outcomes)), kernel[name]
        middle = statistics.median(theirs)
        shown = f"{middle:,.1f} ({min(theirs):,.1f}-{max(theirs):,.1f})"
        sys.stdout.write(f"| {name} | {shown} | {ours:,.1f} | {ours / middle - 1:+.1%} |\n")


if __name__ == "__main__":
    main()
