"""Comparisons: pages on networks under variants, each variant against the baseline."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone import _native, experiment, stats
from loadstone._native import Compared, Comparison, Outcome, OverPages, Scenario
from loadstone.experiment import Cell, Chosen
from loadstone.pages import Page
from loadstone.recorded import Recorded, Recording
from loadstone.stats import CONFIDENCE, Until
from loadstone.variants import Variant

NETWORKS = ("cable", "wifi", "4g", "slow-4g")

_MUCH_RESENT = 0.02
_OTHER_DROPS = ("loss=", "gemodel=", "aqm=")

Job = tuple[Scenario, int]
"""What is run, and the seed."""


@dataclass(frozen=True)
class NetworkPlan:
    """One page on one network, as it will be run."""

    name: str
    """The network as it was asked for, a preset's name perhaps."""
    cells: dict[str, Cell]
    """By variant, the baseline first; of variants that are the same the same."""

    def jobs(self, runs: int | None) -> dict[str, list[Job]]:
        """Give what there is to run for each variant, until there are this many runs of it.

        Where chance has no part one is enough, whatever `runs` says: every run would be the same. Where it
        has one in some, all are run as often, since runs are compared seed by seed.
        """
        often = (runs or experiment.RUNS_OF_RANDOM) if self.is_random else 1
        return {name: cell.jobs(often, cell.seed) for name, cell in self.cells.items()}

    @property
    def is_random(self) -> bool:
        """Say whether chance has a part in any of it."""
        return any(cell.scenario.is_random for cell in self.cells.values())


@dataclass(frozen=True)
class PagePlan:
    """One page on all networks, as it will be run."""

    page: str
    recording: Recording | None
    """The load that it was recorded from."""
    networks: list[NetworkPlan]
    measured: dict[str, Any] | None = None
    """Up to what loads are measured, if it is not the load event."""


@dataclass(frozen=True)
class VariantResult:
    """One variant's runs, in order of seed, and how they compare."""

    name: str
    cell: Cell
    outcomes: list[Outcome]
    compared: Compared

    @property
    def completed(self) -> int:
        """Say how many runs were completed."""
        return self.compared.completed

    @property
    def median_plt_ms(self) -> float | None:
        """Give the median of the completed runs."""
        return self.compared.median_plt_ms

    @property
    def gain(self) -> stats.Gain | None:
        """Say how much faster it is than the baseline."""
        return self.compared.gain

    @property
    def effect(self) -> str | None:
        """Say what it is worth against the baseline, in words."""
        return self.compared.effect

    @property
    def resent(self) -> float:
        """Say how many of all packets were sent again, as a share."""
        packets = sum(outcome.packets_down + outcome.packets_up for outcome in self.outcomes)
        return sum(outcome.retransmissions for outcome in self.outcomes) / max(packets, 1)

    @property
    def middle_run(self) -> Outcome:
        """Give the median run; where none was completed, the first."""
        return self.outcomes[self.compared.middle or 0]


@dataclass(frozen=True)
class NetworkResult:
    """One page on one network."""

    name: str
    """The network as it was asked for, a preset's name perhaps."""
    variants: list[VariantResult]
    fastest: VariantResult | None
    """The least median of those with the most completed runs, of equals the first; `None` without any."""
    is_alike: bool
    """Whether all variants are within 1 %."""
    equals: list[str]
    """The variants whose runs took exactly as long as the fastest's."""
    rivals: list[str]
    """The others that the fastest is not clearly faster than."""
    best: VariantResult | None
    """The fastest, if it is clearly faster than all others but its equals, and not within 1 % of all."""
    verdict: str
    """Which is best, and how sure that is."""
    reason: str | None
    """Why the fastest is that."""
    until: Until | None = None
    """How well every gain was to be known, if that was asked for."""

    @property
    def is_known(self) -> bool:
        """Say whether every gain is known as well as was asked for."""
        return self.until is None or all(self.until.is_settled(variant.gain) for variant in self.variants[1:])

    @property
    def overflows(self) -> dict[str, float]:
        """Give the variants whose queues overflow, with the shares of packets that are sent again.

        They are those that lose more than 2 % though none is lost at random or dropped by an AQM.
        """
        if any(part in self.network for part in _OTHER_DROPS):
            return {}
        shares = {variant.name: variant.resent for variant in self.variants}
        return {name: share for name, share in shares.items() if share > _MUCH_RESENT}

    @property
    def network(self) -> str:
        """Give the network in the notation."""
        return self.variants[0].cell.network

    @property
    def is_random(self) -> bool:
        """Say whether chance has a part in it."""
        return any(variant.cell.scenario.is_random for variant in self.variants)


@dataclass(frozen=True)
class PageResult:
    """One page on all networks."""

    page: str
    recorded: Recorded | None
    """The load that it was recorded from, beside the same one simulated."""
    networks: list[NetworkResult]
    measured: dict[str, Any] | None = None
    """Up to what loads are measured, if it is not the load event."""


@dataclass(frozen=True)
class VariantOverPages:
    """What a variant is worth on several pages of one network."""

    network: str
    variant: str
    pages: int
    """Of how many: those of which some run of it and of the baseline was completed."""
    over: OverPages


def over_pages(results: Sequence[PageResult]) -> list[VariantOverPages]:
    """Sum up several pages, network by network; nothing of a single one."""
    found = []
    for networks in zip(*(page.networks for page in results), strict=True) if len(results) > 1 else ():
        for variants in list(zip(*(network.variants for network in networks), strict=True))[1:]:
            gains = [variant.gain for variant in variants if variant.gain is not None]
            if over := OverPages.of(gains):
                found.append(VariantOverPages(networks[0].name, variants[0].name, len(gains), over))
    return found


def median_plt_ms(outcomes: Sequence[Outcome]) -> float | None:
    """Give the median page load time of the completed runs, `None` if there are none."""
    return stats.median([outcome.plt_ms for outcome in outcomes if outcome.completed])


@dataclass
class _Row:
    """A page's cells on one network, a cell for each variant, and the runs that there are of them."""

    plan: NetworkPlan
    outcomes: list[list[Outcome]] = field(init=False)
    """Of variants that are the same the same."""
    confidence: float = CONFIDENCE
    """Of the intervals at the latest look."""

    def __post_init__(self) -> None:
        self.cells = list(self.plan.cells.values())
        own: dict[int, list[Outcome]] = {id(cell): [] for cell in self.cells}
        self.outcomes = [own[id(cell)] for cell in self.cells]

    def jobs(self, runs: int | None) -> list[tuple[list[Outcome], list[Job]]]:
        """Give what is left to run until there are this many runs of each cell, and where it belongs."""
        planned = zip(self.outcomes, self.plan.jobs(runs).values(), strict=True)
        return list({id(done): (done, jobs[len(done) :]) for done, jobs in planned}.values())

    def compared(self) -> Comparison:
        """Compare what there is."""
        first = self.cells[0]
        runs = zip(self.plan.cells, self.cells, self.outcomes, strict=True)
        return _native.compare(
            [(name, cell.variant["protocol"], outcomes) for name, cell, outcomes in runs],
            first.seed,
            random=self.plan.is_random,
            confidence=self.confidence,
        )

    def is_settled(self, until: Until) -> bool:
        """Say whether every gain is known as well as is asked for."""
        return all(until.is_settled(variant.gain) for variant in self.compared().variants[1:])

    def result(self, until: Until | None) -> NetworkResult:
        """Say what the comparison gave."""
        compared = self.compared()
        each = zip(self.plan.cells, self.cells, self.outcomes, compared.variants, strict=True)
        variants = [VariantResult(*fields) for fields in each]
        fastest, best = (None if at is None else variants[at] for at in (compared.fastest, compared.best))
        equals, rivals = ([variants[at].name for at in some] for some in (compared.equals, compared.rivals))
        said = compared.verdict, compared.reason
        return NetworkResult(
            self.plan.name, variants, fastest, compared.is_alike, equals, rivals, best, *said, until
        )


def compare(
    pages: Sequence[Page],
    variants: Sequence[Variant],
    networks: Sequence[str],
    chosen: Chosen,
    runs: int | Until | None,
    threads: int | None,
    progress: Callable[[int, int], None],
) -> list[PageResult]:
    """Run every variant on every network for every page; `progress` is told runs done and runs in all.

    With `Until` in place of a number, every variant on a network is run until all gains there are known so
    well, or the most runs are reached. Where nothing varies one run is enough, whatever `runs` says.
    """
    return carry_out(plan(pages, variants, networks, chosen), runs, threads, progress)


def plan(
    pages: Sequence[Page], variants: Sequence[Variant], networks: Sequence[str], chosen: Chosen
) -> list[PagePlan]:
    """Say what a comparison consists of, without running anything."""
    named = list(zip(experiment.shown_networks(networks), networks, strict=True))
    return [
        PagePlan(
            page.name,
            Recording.of(page),
            [network_plan(page, variants, chosen, *network) for network in named],
            page.measured,
        )
        for page in pages
    ]


def network_plan(
    page: Page, variants: Sequence[Variant], chosen: Chosen, name: str, network: str
) -> NetworkPlan:
    """Say what the comparison of a page on one network consists of."""
    common = {**experiment.COMMON, **chosen, "network": network}
    made = [experiment.cell(page, variant.fields(page, common)) for variant in variants]
    settings = [cell.stated for cell in made]
    # Variants that are the same are run once.
    cells = [made[settings.index(own)] for own in settings]
    return NetworkPlan(name, dict(zip([variant.name for variant in variants], cells, strict=True)))


def carry_out(
    plans: Sequence[PagePlan],
    runs: int | Until | None,
    threads: int | None,
    progress: Callable[[int, int], None],
) -> list[PageResult]:
    """Run a comparison that was planned, as `compare` does."""
    pages_rows = [[_Row(network) for network in page.networks] for page in plans]
    rows = [row for page_rows in pages_rows for row in page_rows]
    recorded = [page.recording.simulated(threads) if page.recording else None for page in plans]
    if isinstance(runs, Until):
        _run_until(runs, rows, threads, progress)
    else:
        _run(rows, runs, threads, progress, 0)
    until = runs if isinstance(runs, Until) else None
    return [
        PageResult(page.page, beside, [row.result(until) for row in page_rows], page.measured)
        for page, beside, page_rows in zip(plans, recorded, pages_rows, strict=True)
    ]


def _run_until(
    until: Until, rows: list[_Row], threads: int | None, progress: Callable[[int, int], None]
) -> None:
    done = 0
    for look, runs in enumerate(until.looks(), start=1):
        done += _run(rows, runs, threads, progress, done)
        for row in rows:
            row.confidence = until.confidence(look)
        # A network whose gains are all known is left as it is.
        rows = [row for row in rows if not row.is_settled(until)]
        if not rows:
            return


def _run(
    rows: list[_Row], runs: int | None, threads: int | None, progress: Callable[[int, int], None], before: int
) -> int:
    """Run what is left of all rows until there are this many runs of each cell; say how many that were.

    `before` is how many were run earlier.
    """
    work = [left for row in rows for left in row.jobs(runs)]
    wanted = [job for _, jobs in work for job in jobs]
    total = before + len(wanted)
    outcomes: Iterator[Outcome] = iter(
        experiment.execute(wanted, threads, lambda done: progress(before + done, total))
    )
    for done, jobs in work:
        done += [next(outcomes) for _ in jobs]
    return len(wanted)
