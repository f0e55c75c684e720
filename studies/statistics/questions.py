"""Questions with a known answer, asked of the simulator: which of two variants is faster, and how much."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loadstone import experiment, pages
from loadstone._native import Scenario, run_many

ROOT = Path(__file__).parents[2]
PORTION = 2_000
"""Runs at a time: their outcomes are large, and only the times are kept."""

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """One of the two that are compared."""

    protocol: str
    iw: int

    def __str__(self) -> str:
        return f"{self.protocol} IW {self.iw}"


@dataclass(frozen=True)
class Question:
    """How much faster one variant of a page on a network is than another."""

    page: str
    network: str
    baseline: Side
    variant: Side

    def __str__(self) -> str:
        return f"{self.page}, {self.network}: {self.baseline} against {self.variant}"

    def times(self, first_seed: int, runs: int) -> tuple[Times, Times]:
        """Give the page load times of both sides in ms, under the same seeds."""
        return self.of(self.baseline, first_seed, runs), self.of(self.variant, first_seed, runs)

    def of(self, side: Side, first_seed: int, runs: int) -> Times:
        """Give the page load times of one side in ms, under the seeds from `first_seed` on."""
        scenario = _scenario(self.page, self.network, side)
        times = np.empty(runs)
        for at in range(0, runs, PORTION):
            jobs = [(scenario, first_seed + k) for k in range(at, min(at + PORTION, runs))]
            outcomes = run_many(jobs)
            if not all(outcome.completed for outcome in outcomes):
                raise ValueError(f"{self}: a load was not completed, so its time is none")
            times[at : at + len(jobs)] = [outcome.plt_ms for outcome in outcomes]
        return times


@cache
def _scenario(page: str, network: str, side: Side) -> Scenario:
    read = pages.read(page if page.startswith("synthetic:") else str(ROOT / page))
    variant = {"protocol": side.protocol, "tls": "1.3", "tcp": {"iw": side.iw}}
    fields = {"page": json.loads(read.json), "network": network, "variant": variant}
    return experiment.Cell.of(Scenario(json.dumps(fields))).scenario


H1, H1_SMALL, H2, H2_SMALL = Side("http/1.1", 10), Side("http/1.1", 3), Side("h2", 10), Side("h2", 3)
SLOW = "1.6mbit/768kbit,300ms,1%"

QUESTIONS = (
    Question("synthetic:B", "dsl-lossy", H1, H2),
    Question("synthetic:B", SLOW, H1_SMALL, H1),
    Question("examples/shop.har", "dsl-lossy", H1, H2),
    Question("examples/shop.har", SLOW, H2_SMALL, H2),
    Question("synthetic:A", "dsl-lossy", H1, H2),
    Question("synthetic:objects=8,size=10KB", "dsl-lossy", H2_SMALL, H2),
)
"""Gains far from 1 and near to it, times that spread widely and narrowly; the last has few distinct times."""
