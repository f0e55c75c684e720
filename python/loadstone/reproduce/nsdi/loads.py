"""Loads of many pages, each as it is changed, by several variants over several networks."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.claims import STUDIES
from loadstone.reproduce.nsdi.corpus import Page
from loadstone.reproduce.nsdi.pages import Change
from loadstone.reproduce.study import Runner
from loadstone.sweep.matrix import Matrix, Settings
from loadstone.sweep.rows import ACCOUNT

HTTP, SPDY, TCP_PLUS = "HTTP", "SPDY", "SPDY, TCP+"
"""The variants of the synthetic sweep."""
FLOWS = 6
"""Of how many connections TCP+ takes the place: those of the HTTP client."""


@cache
def sweep() -> Matrix:
    """Give the matrix of the synthetic sweep, whose variants and network all loads have."""
    return Matrix.read(str(STUDIES / "nsdi" / "synthetic.toml"))


@dataclass(frozen=True)
class Plan:
    """What is loaded: every page in each form, by each variant, over each network."""

    forms: Mapping[str, Change]
    """What is done to the pages, by the name of the result."""
    factors: Mapping[str, Sequence[Level]]
    """`rtt` in ms, `rate` in Mbit/s, `loss` in percent, and any others."""
    variants: Mapping[str, Settings] = field(default_factory=lambda: sweep().variants)
    common: Settings = field(default_factory=dict)
    """What all set, beside or instead of what the synthetic sweep does."""
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


def beside(cells: pl.DataFrame, over: Mapping[str, Any], under: Mapping[str, Any]) -> pl.DataFrame:
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
    return beside(cells, {"variant": SPDY}, {"variant": HTTP})


def median(ratios: pl.DataFrame, *where: pl.Expr | bool) -> float:
    """Give the median ratio of some rows."""
    return float(np.median(ratios.filter(*where)["ratio"].to_numpy()))


def share_faster(ratios: pl.DataFrame, *where: pl.Expr | bool) -> float:
    """Give the percentage of some rows in which `over` is faster."""
    return 100 * float(np.mean(ratios.filter(*where)["ratio"].to_numpy() < 1))
