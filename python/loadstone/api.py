"""What the command line does, for Python: `loadstone.load`, `compare`, `sweep`, `analyze`.

Times are in ms, sizes in bytes, windows in segments, unless a name says otherwise. Whatever cannot be used
raises `loadstone.files.InputError`, which says where and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from loadstone import comparison, experiment, frames, pages, savings, savings_output, verb_output
from loadstone._native import Outcome
from loadstone.comparison import PageResult
from loadstone.experiment import Cell, Chosen
from loadstone.frames import Backend
from loadstone.pages import Page
from loadstone.savings import Saving, Savings
from loadstone.settings import OF_RUNS, OF_SCENARIOS
from loadstone.stats import Until
from loadstone.typed import Settings
from loadstone.variants import variants as variants_of

if TYPE_CHECKING:
    from loadstone.analysis.findings import Findings
    from loadstone.stores import Matrix, Store

AnyPage = Page | str | Path
"""A page, or what `Page.read` reads: a HAR, a page file, `synthetic:...`, `example:...`."""


def _page(page: AnyPage) -> Page:
    return page if isinstance(page, Page) else Page.read(page)


def _pages(page: AnyPage) -> list[Page]:
    return [page] if isinstance(page, Page) else pages.read_all([str(page)])


def _chosen(
    asked: str,
    settings: Settings,
    exact: bool,
    varied: Set[str] = frozenset(),
    before: AnyPage | Sequence[AnyPage] = (),
    likely_next: AnyPage | None = None,
) -> Chosen:
    for name in settings:
        if name not in OF_SCENARIOS or name in varied:
            raise TypeError(f"{asked}() has no argument '{name}': docs/options.md lists those that there are")
    visited = [before] if isinstance(before, Page | str | Path) else before
    likely = None if likely_next is None else _page(likely_next)
    given = {**settings, "before": [_page(one) for one in visited], "likely_next": likely}
    return experiment.asked(given, exact=exact)


def _quiet(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Load:
    """Runs of one page on one network under one variant."""

    page: Page
    cell: Cell
    outcomes: list[Outcome]
    """In order of seed."""

    @property
    def median_plt_ms(self) -> float | None:
        """Give the median page load time of the completed runs; `None` if there are none."""
        return comparison.median_plt_ms(self.outcomes)

    def frame(self, backend: Backend | None = None) -> Any:
        """Give a data frame with a row for each run (docs/options.md), and its account in ms by part."""
        return frames.frame([_row(outcome) for outcome in self.outcomes], backend)

    def waterfall(self, backend: Backend | None = None) -> Any:
        """Give a data frame with the marks of each object of the first run, in ms."""
        return frames.of_columns(self.outcomes[0].waterfall(), backend)

    def document(self) -> dict[str, Any]:
        """Give what `loadstone load --json` prints."""
        return verb_output.load_document(self.page.name, self.cell, self.outcomes, with_waterfall=False)

    def __str__(self) -> str:
        return verb_output.load_text(self.page.name, self.cell, self.outcomes)


def _row(outcome: Outcome) -> dict[str, Any]:
    account = outcome.account() or {}
    return {
        **{name: getattr(outcome, name) for name in OF_RUNS},
        **{f"{part}_ms": ms for part, ms in account.items()},
    }


def load(
    page: AnyPage,
    *,
    runs: int | None = None,
    exact: bool = False,
    threads: int | None = None,
    before: AnyPage | Sequence[AnyPage] = (),
    likely_next: AnyPage | None = None,
    **settings: Unpack[Settings],
) -> Load:
    """Load a page on one network under one variant.

    `runs` is 21, or 1 where nothing is random, if it is left out; run k has the seed `seed` + k. If `exact`,
    nothing varies but random loss (docs/model.md#spread). Runs go over `threads` threads, all cores if it is
    left out, and do not depend on how many. With `visit_after` the browser has visited this page, or those
    of `before` in their order, so many seconds ago, each before the next. With `prefetch` the servers of the
    last one before take `likely_next` for the next one, if it is given.

    >>> import loadstone
    >>> page = loadstone.Page.read("example:shop")
    >>> fast = loadstone.load(page, network="cable", protocol="h2")
    >>> slow = loadstone.load(page, network="3g", protocol="h2")
    >>> slow.median_plt_ms > fast.median_plt_ms
    True
    >>> loadstone.load("synthetic:objects=8,size=10KB", iw=32).outcomes[0].connections
    6
    """
    read = _page(page)
    cell = experiment.cell(read, _chosen("load", settings, exact, before=before, likely_next=likely_next))
    return Load(read, cell, experiment.execute(cell.jobs(cell.runs(runs), cell.seed), threads))


@dataclass(frozen=True)
class Comparison:
    """Pages on networks under variants, each variant against the baseline."""

    results: list[PageResult]

    def frame(self, backend: Backend | None = None) -> Any:
        """Give a data frame with a row for each page, network and variant.

        `gain` is the baseline's median over the variant's, above 1 is faster, with the ends of its 95 %
        interval.
        """
        rows = [
            _compared(page, network, variant)
            for page in self.results
            for network in page.networks
            for variant in network.variants
        ]
        return frames.frame(rows, backend)

    def document(self) -> dict[str, Any]:
        """Give what `loadstone compare --json` prints."""
        return verb_output.compare_document(self.results)

    def __str__(self) -> str:
        return verb_output.compare_text(self.results)


def _compared(
    page: PageResult, network: comparison.NetworkResult, variant: comparison.VariantResult
) -> dict[str, Any]:
    gain = variant.gain
    return {
        "page": page.page,
        "network": network.name,
        "variant": variant.name,
        "runs": len(variant.outcomes),
        "completed": variant.completed,
        "median_plt_ms": variant.median_plt_ms,
        "gain": gain.ratio if gain else None,
        "gain_low": gain.low if gain else None,
        "gain_high": gain.high if gain else None,
        "is_best": variant is network.best,
    }


def compare(
    pages_: AnyPage | Sequence[AnyPage],
    /,
    *,
    networks: Sequence[str] = comparison.NETWORKS,
    variants: Sequence[str] = (),
    vary: Sequence[str] = (),
    baseline: str | None = None,
    runs: int | None = None,
    until: str | None = None,
    exact: bool = False,
    threads: int | None = None,
    before: AnyPage | Sequence[AnyPage] = (),
    likely_next: AnyPage | None = None,
    **settings: Unpack[Settings],
) -> Comparison:
    """Compare variants of each page on several networks.

    Variants are what was recorded, HTTP/1.1 and HTTP/2 if nothing is said; others as in
    "protocol=h2,iw=32,name=large". `vary` compares each under several values, as in "iw=4,10,32". The first
    is the baseline, or the one that `baseline` names.

    `until`, as in "1%", instead of `runs`: run until half of every gain's interval is at most so much of it.
    If `exact`, nothing varies but random loss (docs/model.md#spread). With `visit_after` the browser has
    visited the page, or those of `before` in their order, so many seconds ago, each before the next. With
    `prefetch` the servers of the last one before take `likely_next` for the next one, if it is given.

    >>> import loadstone
    >>> compared = loadstone.compare("example:shop", networks=["cable"])
    >>> [network] = compared.results[0].networks
    >>> [variant.name for variant in network.variants]
    ['recorded', 'http/1.1', 'h2']
    >>> windows = loadstone.compare("example:shop", networks=["cable"], variants=["h2"], vary=["iw=4,32"])
    >>> windows.results[0].networks[0].best.name
    'h2 iw=32'
    """
    given = [pages_] if isinstance(pages_, Page | str | Path) else pages_
    enough = runs if until is None else Until.parse(until)
    chosen = _chosen("compare", settings, exact, {"network", "protocol"}, before, likely_next)
    read = [page for each in given for page in _pages(each)]
    compared = variants_of(read, variants, vary, baseline)
    return Comparison(comparison.compare(read, compared, networks, chosen, enough, threads, _quiet))


@dataclass(frozen=True)
class WhatIf:
    """A page on one network, and what changing parts of it would save, the best first."""

    found: Savings

    @property
    def savings(self) -> list[Saving]:
        """Give what each idea is worth."""
        return self.found.savings

    def frame(self, backend: Backend | None = None) -> Any:
        """Give a data frame with a row for each idea: what is changed, and the ms that it saves."""
        return frames.frame(self.document()["savings"], backend)

    def document(self) -> dict[str, Any]:
        """Give what `loadstone whatif --json` prints."""
        return savings_output.document(self.found)

    def __str__(self) -> str:
        return savings_output.in_words(self.found, is_all=False)


def whatif(
    page: AnyPage,
    *,
    runs: int | None = None,
    exact: bool = False,
    threads: int | None = None,
    **settings: Unpack[Settings],
) -> WhatIf:
    """Say what would make a page faster: parts left out, smaller, cached, nearer, found earlier.

    The network is 4g if it is left out, the protocol what each host spoke when the page was recorded.

    >>> import loadstone
    >>> found = loadstone.whatif("example:shop", network="cable")
    >>> best = found.savings[0]
    >>> best.is_clear, best.ms > 0, best.idea.part.what
    (True, True, 'kind')
    """
    read = _page(page)
    chosen = savings.settings(read, _chosen("whatif", settings, exact))
    return WhatIf(savings.what_if(read, chosen, runs, threads, _quiet))


def sweep(
    matrix: Matrix | str | Path, folder: str | Path, *, threads: int | None = None, extend: bool = False
) -> Store:
    """Run what the store in `folder` lacks of a matrix, or of a matrix file, and give the store.

    >>> import loadstone, tempfile
    >>> from loadstone.stores import Matrix
    >>> matrix = Matrix(
    ...     factors={"protocol": ["http/1.1", "h2"], "rtt": [20, 200]},
    ...     common={"page": "example:shop", "network": "10mbit,{rtt}ms"},
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = loadstone.sweep(matrix, folder)
    ...     len(store.runs()), len(loadstone.analyze(store).frame("polars"))
    (4, 2)
    """
    from loadstone.stores import Matrix
    from loadstone.stores import sweep as run

    read = matrix if isinstance(matrix, Matrix) else Matrix.read(str(matrix))
    return run(read, folder, threads=threads, extend=extend).store


@dataclass(frozen=True)
class Analysis:
    """What the runs of a store show."""

    findings: Findings
    state: str
    """How much of the store is there, in words."""

    def frame(self, backend: Backend | None = None) -> Any:
        """Give a data frame of gains: a row for each condition and challenger."""
        return frames.converted(self.findings.gains.frame, backend)

    def document(self) -> dict[str, Any]:
        """Give what `loadstone analyze --json` prints."""
        from loadstone.analysis import analysis_report

        return analysis_report.document(self.findings, self.state)

    def __str__(self) -> str:
        from loadstone import text
        from loadstone.analysis import analysis_report

        return analysis_report.in_words(self.findings, self.state, text.width())


def analyze(
    store: Store | str | Path,
    *,
    compare: str | None = None,
    baseline: str | None = None,
    by: str | None = None,
    where: str | None = None,
) -> Analysis:
    """Say what the runs of a store, or of the store in a folder, show.

    `compare` is the factor whose levels are compared, with `baseline`; `by` names the factors of one table;
    `where` keeps the cells that are so, as in "loss > 0 and iw == 10". The matrix says what is left out here.
    """
    from loadstone.analysis import findings
    from loadstone.analysis.question import part_of
    from loadstone.stores import Store

    opened = store if isinstance(store, Store) else Store.open(store)
    runs = opened.runs()
    question = findings.asked(runs, opened.question(), compare, baseline)
    state = opened.state() if where is None else f"{opened.state()}, only where {where}"
    return Analysis(findings.find(part_of(runs, question, where), question, by), state)


__all__ = [
    "Analysis",
    "AnyPage",
    "Comparison",
    "Load",
    "Page",
    "analyze",
    "compare",
    "load",
    "pages",
    "sweep",
]
