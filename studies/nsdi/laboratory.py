"""Loads of many pages, each as it is changed, by several variants over several networks; seen from inside."""

import json
import tempfile
from collections.abc import Mapping, Sequence
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


@cache
def sweep() -> Matrix:
    """Give the matrix of the synthetic sweep, whose variants and network all loads have."""
    return Matrix.read(str(FOLDER / "synthetic.toml"))


@dataclass(frozen=True)
class Plan:
    """What is loaded: every page in each form, by each variant, over each network."""

    forms: Mapping[str, Change]
    """What is done to the pages, by the name of the result."""
    factors: Mapping[str, Sequence[Level]]
    """`rtt` in ms, `rate` in Mbit/s, `loss` in percent, and any others."""
    variants: Mapping[str, Settings] = field(default_factory=lambda: sweep().variants)
    common: Settings = field(default_factory=dict)
    """What all set, in addition to or instead of what the synthetic sweep does."""
    runs: int = 5


def load(runner: Runner, pages: Mapping[str, Page], plan: Plan) -> pl.DataFrame:
    """Load the pages.

    Gives a row for each page, form, network and variant: the median of `plt_ms`, the sums of
    `retransmissions` and `packets_down`, the means of the account's parts. Loads that were not completed are
    left out.
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
        return medians(runner.runs(matrix), [*matrix.levels])


def medians(runs: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """Give each cell's median load time, what was lost on the way, and its mean account."""
    return (
        runs.filter("completed")
        .group_by(factors, maintain_order=True)
        .agg(
            pl.col("plt_ms").median(),
            pl.col("retransmissions", "packets_down").sum(),
            pl.col(*ACCOUNT.values()).mean(),
        )
    )


def compared(cells: pl.DataFrame, over: Mapping[str, Any], under: Mapping[str, Any]) -> pl.DataFrame:
    """Hold some cells against others, everything else alike.

    `over` and `under` say by some factors' levels which cells. Gives the other factors, `over_ms`, `under_ms`
    and `ratio`, which is below 1 where `over` is faster.
    """
    measured = {"plt_ms", "retransmissions", "packets_down", *ACCOUNT.values()}
    others = [name for name in cells.columns if name not in {*over, *measured}]
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
    return float(np.median(ratios.filter(*where)["ratio"].to_numpy()))


def share_faster(ratios: pl.DataFrame, *where: pl.Expr | bool) -> float:
    """Give the percentage of some rows in which `over` is faster."""
    return 100 * float(np.mean(ratios.filter(*where)["ratio"].to_numpy() < 1))


# --- loads from inside: idle connections, objects under way, bytes pushed ---


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


def look_inside(
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
        experiment.cell(Named(name, of_document(change(page))), experiment.chosen(common)).jobs(1, 1)[0]
        for name, page in corpus.items()
    ]
    return [_inside(outcome, rtt) for outcome in runner.outcomes(jobs) if outcome.completed]


def _inside(outcome: Outcome, rtt_ms: float) -> Inside:
    seen = outcome.waterfall()
    account = outcome.account() or {}
    marks = zip(seen["sent_ms"], seen["last_byte_ms"], strict=True)
    return Inside(
        outcome.plt_ms,
        idle_share(outcome, rtt_ms) or 0.0,
        sum(last - sent for sent, last in marks if sent is not None and last is not None) / outcome.plt_ms,
        outcome.bytes_pushed,
        account.get("computing", 0.0) / outcome.plt_ms,
    )
