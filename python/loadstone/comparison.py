"""Comparisons: pages on networks under variants, each variant against the baseline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import account, experiment, stats
from loadstone._native import Outcome
from loadstone.account import Account
from loadstone.experiment import Cell, Chosen
from loadstone.pages import Page

NETWORKS = ("cable", "dsl", "dsl-lossy", "3g")

PROTOCOLS = ("http/1.1", "spdy/3.1", "h2")
WINDOWS = (3, 10)

VARIANTS: dict[str, Chosen] = {
    f"{protocol} IW {iw}": {"variant.protocol": protocol, "variant.tcp.iw": iw}
    for protocol in PROTOCOLS
    for iw in WINDOWS
}
"""What is compared, by name; the first is the baseline."""

COMMON: Chosen = {"variant.tls": "1.3"}
"""What all variants have unless it is chosen otherwise: a page is compared as it would be served today."""

BASELINE = next(iter(VARIANTS))


@dataclass(frozen=True)
class VariantResult:
    """One variant's runs, in order of seed, and how they compare."""

    name: str
    cell: Cell
    outcomes: list[Outcome]
    gain: stats.Gain | None

    @property
    def completed(self) -> int:
        """Say how many runs were completed."""
        return sum(outcome.completed for outcome in self.outcomes)

    @property
    def median_plt_ms(self) -> float | None:
        """Give the median of the completed runs."""
        return median_plt_ms(self.outcomes)

    @property
    def account(self) -> Account | None:
        """Give the account of the median run."""
        return account.of_median(self.outcomes)


@dataclass(frozen=True)
class NetworkResult:
    """One page on one network."""

    name: str
    """The network as it was asked for, a preset's name perhaps."""
    variants: list[VariantResult]
    best: VariantResult | None
    """The fastest of those with the most completed runs, of equals the first; `None` if nothing completed."""
    rivals: list[str]
    """The variants that the best is not clearly faster than."""

    @property
    def network(self) -> str:
        """Give the network in the notation."""
        return self.variants[0].cell.network

    @property
    def is_random(self) -> bool:
        """Say whether chance has a part in it."""
        return self.variants[0].cell.scenario.is_random


@dataclass(frozen=True)
class PageResult:
    """One page on all networks."""

    page: str
    networks: list[NetworkResult]


def median_plt_ms(outcomes: Sequence[Outcome]) -> float | None:
    """Give the median page load time of the completed runs, `None` if there are none."""
    return stats.median([outcome.plt_ms for outcome in outcomes if outcome.completed])


def compare(
    pages: Sequence[Page],
    networks: Sequence[str],
    chosen: Chosen,
    runs: int | None,
    threads: int | None,
    progress: Callable[[int, int], None],
) -> list[PageResult]:
    """Run every variant on every network for every page; `progress` is told runs done and runs in all.

    A network without loss is run once, whatever `runs` says: every run would be the same.
    """
    chosen = {**COMMON, **chosen}
    cells = [
        [
            [experiment.cell(page, {**chosen, **variant, "network": net}) for variant in VARIANTS.values()]
            for net in networks
        ]
        for page in pages
    ]
    jobs = [job for page in cells for network in page for cell in network for job in _jobs(cell, runs)]
    outcomes = iter(experiment.execute(jobs, threads, lambda done: progress(done, len(jobs))))

    def network_result(name: str, row: list[Cell]) -> NetworkResult:
        return _network_result(name, row, [[next(outcomes) for _ in _jobs(cell, runs)] for cell in row])

    return [
        PageResult(page.name, [network_result(name, row) for name, row in zip(networks, rows, strict=True)])
        for page, rows in zip(pages, cells, strict=True)
    ]


def _jobs(cell: Cell, runs: int | None) -> list[tuple[Any, int]]:
    return cell.jobs(cell.runs(runs) if cell.scenario.is_random else 1, cell.seed)


def _network_result(name: str, cells: list[Cell], outcomes: list[list[Outcome]]) -> NetworkResult:
    variants = [
        VariantResult(variant, cell, runs, None if at == 0 else _gain(cell, outcomes[0], runs))
        for at, (variant, cell, runs) in enumerate(zip(VARIANTS, cells, outcomes, strict=True))
    ]
    finished = max(variant.completed for variant in variants)
    best = min(
        (variant for variant in variants if variant.completed == finished > 0),
        key=lambda variant: variant.median_plt_ms or 0.0,
        default=None,
    )
    return NetworkResult(name, variants, best, _rivals(best, variants) if best else [])


def _rivals(best: VariantResult, variants: list[VariantResult]) -> list[str]:
    def is_rival(variant: VariantResult) -> bool:
        gain = _gain(best.cell, variant.outcomes, best.outcomes)
        return gain is not None and not gain.is_clear

    return [variant.name for variant in variants if variant is not best and is_rival(variant)]


def _gain(cell: Cell, baseline: list[Outcome], variant: list[Outcome]) -> stats.Gain | None:
    """Compare over the seeds under which both were completed."""
    pairs = [
        (first.plt_ms, second.plt_ms)
        for first, second in zip(baseline, variant, strict=True)
        if first.completed and second.completed
    ]
    firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
    return stats.gain(firsts, seconds, cell.seed, random=cell.scenario.is_random)
