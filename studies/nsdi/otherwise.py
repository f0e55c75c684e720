"""What the study leaves open: networks, pages, readings that are assumed otherwise, and loads under each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix, Settings

from . import page_corpus
from .laboratory import Plan, from_syn, load, look_inside
from .page_corpus import Change, Page

_NETWORK = "{rate}mbit,{rtt}ms,"
NETWORKS: Mapping[str, Settings] = {
    "queue of 20 packets": {"network": _NETWORK + "loss={loss}%,queue=20p"},
    "queue of 100 packets": {"network": _NETWORK + "loss={loss}%,queue=100p"},
    "loss on the way down alone": {"network": _NETWORK + "loss={loss}%/0%,queue=50p"},
    "TCP without HyStart": {"variant.tcp.mechanisms.hystart": False},
}
"""What is set instead of what `synthetic.toml` says."""
CLOCK = "the clock starts with the first packet"
MADE = "made pages"
"""What is assumed otherwise where recorded pages are given."""
WITHOUT_LOSS = "without loss"
FIRST = 50
"""Pages that a verdict begins with; all are loaded where chance could turn it."""

Where = Sequence[pl.Expr]


class PageLoads:
    """Loads of the pages by a plan. A page is what chance gives: each has the number of a seed."""

    def __init__(self, runner: Runner, pages: int, plan: Plan) -> None:
        self.pages = _count(runner, pages)
        self.plan = plan
        self._runner = runner
        self._known: dict[tuple[int, str], pl.DataFrame] = {}

    @property
    def until(self) -> str:
        """Say what is not there yet, if it is not: for what is said of the study's own pages as they were."""
        return "" if self._runner.pages else "recorded pages decide it (--pages): these are made up"

    def cells(self, pages: int, assumption: str = AS_STATED) -> pl.DataFrame:
        """Load so many pages under an assumption: a row for each page, form, network and variant."""
        if (pages, assumption) not in self._known:
            common = {**self.plan.common, **NETWORKS.get(assumption, {})}
            corpus = _corpus(self._runner, pages, assumption)
            clock = from_syn if assumption == CLOCK else None
            cells = load(self._runner, corpus, replace(self.plan, common=common), clock)
            self._known[pages, assumption] = _numbered(cells, corpus)
        return self._known[pages, assumption]

    def all(self) -> pl.DataFrame:
        """Load all pages."""
        return self.cells(self.pages)

    def evidence(
        self,
        *where: pl.Expr,
        measures: Sequence[str] = ("plt_ms",),
        compared: str = "variant",
        otherwise: Mapping[str, Where] | None = None,
    ) -> Evidence:
        """Give some of the loads as evidence. `otherwise` says which others they may be, by an assumption."""
        others = otherwise or {}

        def run(pages: int, assumption: str) -> pl.DataFrame:
            chosen = others.get(assumption, where)
            kind = AS_STATED if assumption in others else assumption
            cells = self.cells(pages, kind).filter(*chosen)
            return cells.select("form", *self.plan.factors, "variant", "seed", *measures)

        tried = (*others, *self._assumptions())
        return Evidence(run, measures, compared, min(FIRST, self.pages), self.pages, tried)

    def _assumptions(self) -> list[str]:
        is_alone = all(form in ("set", "equal") for form in self.plan.forms)
        has_loss = any(self.plan.factors.get("loss", [0]))
        networks = [name for name in NETWORKS if has_loss or not name.startswith("loss")]
        return [*_pages_otherwise(self._runner, is_alone), *networks, CLOCK]


def _count(runner: Runner, pages: int) -> int:
    """Count the pages: those that are given, else as many as are to be made."""
    return len(page_corpus.recorded(runner.pages)) if runner.pages else pages


def _pages_otherwise(runner: Runner, is_alone: bool) -> list[str]:
    if runner.pages:
        return [MADE]
    graphs = [] if is_alone else [*page_corpus.OTHERWISE]
    return [*graphs, *page_corpus.SIZES_OTHERWISE]


def _corpus(runner: Runner, pages: int, assumption: str) -> dict[str, Page]:
    if runner.pages and assumption != MADE:
        return dict(page_corpus.recorded(runner.pages))
    if runner.pages:
        pages = FIRST
    makings = {**page_corpus.OTHERWISE, **page_corpus.SIZES_OTHERWISE}
    return dict(page_corpus.corpus(pages, makings.get(assumption, page_corpus.AS_MADE)))


def _numbered(cells: pl.DataFrame, corpus: Mapping[str, Page]) -> pl.DataFrame:
    numbers = {name: at + 1 for at, name in enumerate(corpus)}
    return cells.with_columns(seed=pl.col("name").replace_strict(numbers, return_dtype=pl.UInt64)).drop(
        "name"
    )


def inside(
    runner: Runner,
    pages: int,
    forms: Mapping[str, Change],
    variants: Mapping[str, Settings],
    network: tuple[int, int, float],
) -> Callable[..., Evidence]:
    """Give what goes on within loads as evidence, whose measures and compared factor are still to be said."""
    known: dict[tuple[int, str], pl.DataFrame] = {}

    def run(count: int, assumption: str) -> pl.DataFrame:
        if (count, assumption) not in known:
            corpus = _corpus(runner, count, assumption)
            rows = [
                {"form": form, "variant": name, **one}
                for form, change in forms.items()
                for name, settings in variants.items()
                for one in look_inside(runner, corpus, change, settings, network)
            ]
            known[count, assumption] = pl.DataFrame(rows)
        return known[count, assumption]

    def evidence(measures: Sequence[str], compared: str = "variant") -> Evidence:
        def chosen(count: int, assumption: str) -> pl.DataFrame:
            return run(count, assumption).select("form", "variant", "seed", *measures)

        tried, most = _pages_otherwise(runner, "graph" not in forms), _count(runner, pages)
        return Evidence(chosen, measures, compared, min(FIRST, most), most, tried)

    return evidence


def of_matrix(
    runner: Runner,
    matrix: Matrix,
    measures: Sequence[str] = ("plt_ms",),
    compared: str = "variant",
    *,
    most: int = 320,
) -> Evidence:
    """Give what a matrix of synthetic pages runs as evidence, over other networks, too."""

    def run(count: int, assumption: str) -> pl.DataFrame:
        common = {**matrix.common, **NETWORKS.get(assumption, {})}
        runs = runner.runs(replace(matrix, common=common, runs=count, analysis={})).filter("completed")
        timed = from_syn(runs) if assumption == CLOCK else runs
        return timed.select(*matrix.levels, "seed", *measures)

    return Evidence(run, measures, compared, matrix.runs or 1, most, (*NETWORKS, CLOCK))


def read(evidence: Evidence, column: str, stated: float, otherwise: Mapping[str, float]) -> Evidence:
    """Add a column with how the study is read; `otherwise` are other readings, by their names."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        kind = AS_STATED if assumption in otherwise else assumption
        reading = otherwise.get(assumption, stated)
        return evidence.run(seeds, kind).with_columns(pl.lit(float(reading)).alias(column))

    return replace(evidence, run=run, assumptions=(*otherwise, *evidence.assumptions))
