"""Loads as the study timed them: matrices, many pages as they are changed, and loads seen from inside."""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from loadstone import experiment
from loadstone._native import Outcome
from loadstone.analysis.question import Level
from loadstone.measures import idle_share
from loadstone.pages import Page as Named
from loadstone.pages import of_document
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix, Settings
from loadstone.stores.rows import ACCOUNT

from .page_corpus import Change, Page

FOLDER = Path(__file__).parent
"""Claims, published figures, matrices and pages of the study."""

HTTP, SPDY, TCP_PLUS = "HTTP", "SPDY", "SPDY, TCP+"
"""The variants of the synthetic sweep."""
FLOWS = 6
"""Of how many connections TCP+ takes the place: those of the HTTP client."""

_FRAME = 4096
"""Bytes of mod_spdy's frames."""

Levels = Mapping[str, Sequence[Level]]
"""Of some factors, by their names."""

FASTER, SLOWER = 0.9, 1.1
"""The study's own bars: between them SPDY's time over HTTP's is comparable, outside one is better."""
LITTLE = 0.03
"""What the study calls little, marginal or almost nothing is less than this here; it says no number."""


class Timed(Runner):
    """Runs as another runner does, with the study's clock: it starts with the first request (4.1)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.pages = runner.pages
        self.outcomes = runner.outcomes  # type: ignore[method-assign]

    def runs(self, matrix: Matrix) -> pl.DataFrame:
        """Run a matrix; `plt_ms` has nothing before the first request left."""
        runs = self._runner.runs(matrix)
        return runs.with_columns(pl.col("plt_ms") - pl.col("first_request_ms"))


def from_syn(runs: pl.DataFrame) -> pl.DataFrame:
    """Let the clock start with the first packet instead."""
    return runs.with_columns(pl.col("plt_ms") + pl.col("first_request_ms"))


@cache
def sweep() -> Matrix:
    """Give the matrix of the synthetic sweep, whose variants and network all loads have."""
    return Matrix.read(str(FOLDER / "synthetic.toml"))


Clock = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Plan:
    """What is loaded: every page in each form, by each variant, over each network."""

    forms: Mapping[str, Change]
    """What is done to the pages, by the name of the result."""
    factors: Levels
    """`rtt` in ms, `rate` in Mbit/s, `loss` in percent, and any others."""
    variants: Mapping[str, Settings] = field(default_factory=lambda: sweep().variants)
    common: Settings = field(default_factory=dict)
    """What all set, in addition to or instead of what the synthetic sweep does."""
    runs: int = 5


def load(runner: Runner, pages: Mapping[str, Page], plan: Plan, clock: Clock | None = None) -> pl.DataFrame:
    """Load the pages.

    Gives a row for each page, form, network and variant, as `medians` does. Loads that were not completed
    are left out. `clock` changes the runs before their medians are taken.
    """
    with tempfile.TemporaryDirectory() as folder:
        for form, change in plan.forms.items():
            for name, page in pages.items():
                (Path(folder) / f"{form}-{name}.page.json").write_text(json.dumps(change(page)))
        matrix = Matrix(
            factors={"form": list(plan.forms), "name": list(pages), **plan.factors},
            variants=plan.variants,
            common={**sweep().common, **plan.common, "page": "{form}-{name}.page.json"},
            runs=plan.runs,
            folder=Path(folder),
        )
        runs = runner.runs(matrix)
    return medians(clock(runs) if clock else runs, [*matrix.levels])


def medians(runs: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """Give each cell's median `plt_ms`, the sums of what was sent and lost, and its mean account.

    `again` is the share of packets that servers sent again.
    """
    cells = (
        runs.filter("completed")
        .group_by(factors, maintain_order=True)
        .agg(
            pl.col("plt_ms").median(),
            pl.col("retransmissions", "packets_down").sum(),
            pl.col("bytes_down", *ACCOUNT.values()).mean(),
        )
    )
    return cells.with_columns(again=pl.col("retransmissions") / pl.col("packets_down"))


MEASURED = {
    "plt_ms",
    "again",
    "under_way",
    "retransmissions",
    "packets_down",
    "bytes_down",
    *ACCOUNT.values(),
}
"""What loads have that is no factor."""


def among(name: str, levels: Sequence[Level]) -> pl.Expr:
    """Say whether a factor has one of these levels, some of which may be whole numbers."""
    return pl.any_horizontal(pl.col(name) == level for level in levels)


def compared(cells: pl.DataFrame, over: Mapping[str, Any], under: Mapping[str, Any]) -> pl.DataFrame:
    """Hold some cells against others, everything else alike.

    `over` and `under` say by some factors' levels which cells. Gives the other factors, `over_ms`, `under_ms`
    and `ratio`, which is below 1 where `over` is faster.
    """
    others = [name for name in cells.columns if name not in {*over, *MEASURED}]
    sides = [
        cells.filter(*(pl.col(name) == level for name, level in side.items())).select(
            *others, pl.col("plt_ms").alias(title)
        )
        for side, title in ((over, "over_ms"), (under, "under_ms"))
    ]
    joined = sides[0].join(sides[1], on=others, how="inner", maintain_order="left")
    return joined.with_columns(ratio=pl.col("over_ms") / pl.col("under_ms"))


def spdy_over_http(cells: pl.DataFrame) -> pl.DataFrame:
    """Hold SPDY against HTTP."""
    return compared(cells, {"variant": SPDY}, {"variant": HTTP})


def median(ratios: pl.DataFrame, *where: pl.Expr | bool) -> float:
    """Give the median ratio of some rows."""
    return middle(ratios.filter(*where)["ratio"])


def middle(values: pl.Series) -> float:
    """Give the median of some numbers."""
    return float(np.median(values.to_numpy()))


def share_faster(ratios: pl.DataFrame, *where: pl.Expr | bool) -> float:
    """Give the percentage of some rows in which `over` is faster."""
    return 100 * float(np.mean(ratios.filter(*where)["ratio"].to_numpy() < 1))


# --- loads from inside: idle connections, objects under way, bytes pushed ---


def look_inside(
    runner: Runner,
    corpus: Mapping[str, Page],
    change: Change,
    settings: Settings,
    network: tuple[int, int, float],
) -> list[dict[str, float]]:
    """Load every page once and look inside; `network` is round trip in ms, Mbit/s, loss in percent.

    Of each page: `seed` is its number; `plt_ms` counts from the first request, as everywhere; `idle` is the
    share of the round trips of its connections in which nothing came, since each was established;
    `under_way` the objects that were asked for and had not come, on average over the load; `pushed` the bytes
    of objects that were pushed; `bytes_down` all that came; `small_ms` when an object that fits into a frame
    had come, on average, where there are larger ones too.
    """
    rtt, rate, loss = network
    common = {**sweep().common, **settings}
    common["network"] = common["network"].format(rtt=rtt, rate=rate, loss=loss)
    del common["page"]
    jobs = [
        experiment.cell(Named(name, of_document(change(page))), experiment.chosen(common)).jobs(1, 1)[0]
        for name, page in corpus.items()
    ]
    return [
        {"seed": at + 1, **_inside(outcome, rtt)}
        for at, outcome in enumerate(runner.outcomes(jobs))
        if outcome.completed
    ]


def _inside(outcome: Outcome, rtt_ms: float) -> dict[str, float]:
    seen = outcome.waterfall()
    marks = zip(seen["sent_ms"], seen["last_byte_ms"], strict=True)
    came = [(size, last) for size, last in zip(seen["bytes"], seen["last_byte_ms"], strict=True) if last]
    small = [last for size, last in came if size < _FRAME]
    return {
        "plt_ms": outcome.plt_ms - (outcome.first_request_ms or 0.0),
        "idle": idle_share(outcome, rtt_ms) or 0.0,
        "under_way": sum(last - sent for sent, last in marks if sent is not None and last is not None)
        / outcome.plt_ms,
        "pushed": float(outcome.bytes_pushed),
        "small_ms": sum(small) / len(small) if 0 < len(small) < len(came) else math.nan,
        "bytes_down": float(outcome.bytes_down),
    }
