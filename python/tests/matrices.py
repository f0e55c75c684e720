"""Runs of matrices to analyze: made up with gains that are known, published ones, and the simulator's own."""

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import polars as pl
import pytest

from conftest import ROOT
from loadstone import experiment
from loadstone.account import PARTS
from loadstone.analysis.question import Level, Question
from loadstone.experiment import Chosen
from loadstone.pages import Page

PUBLISHED = ROOT.parent / "shared" / "published"

COUNTS = ("packets_down", "packets_up", "bytes_down", "bytes_up", "retransmissions", "connections")

Levels = dict[str, Level]


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Give runs as a frame with the columns of a store; what a row leaves out is null."""
    kinds = {"cell": pl.String, "seed": pl.UInt64, "completed": pl.Boolean, "plt_ms": pl.Float64}
    kinds |= dict.fromkeys(COUNTS, pl.Int64) | {f"{part}_ms": pl.Float64 for part in PARTS}
    kinds |= {"is_random": pl.Boolean}
    factors = [name for name in rows[0] if name not in kinds]
    columns = {name: [row.get(name) for row in rows] for name in (*factors, *kinds)}
    return pl.DataFrame(columns, schema_overrides=kinds)


def synthetic(
    factors: Mapping[str, Sequence[Level]],
    compared: str,
    plt_ms: Callable[[Levels, int], float | None],
    seeds: int = 1,
    without: Callable[[Levels], bool] = lambda levels: False,
) -> tuple[pl.DataFrame, Question]:
    """Make up runs: `plt_ms` says how long a load of these levels takes under a seed, `None` for never.

    With more than one seed chance has a part. The first level of what is compared is the baseline. All time
    is transfer. A cell that is `without` is not in the matrix.
    """
    others = [name for name in factors if name != compared]
    rows = []
    for levels in (dict(zip([*others, compared], each, strict=True)) for each in _cells(factors, compared)):
        for seed in range(1, seeds + 1):
            if not without(levels):
                plt = plt_ms(levels, seed)
                account = {f"{part}_ms": None if plt is None else 0.0 for part in PARTS} | {
                    "transfer_ms": plt
                }
                run = {"seed": seed, "completed": plt is not None, "plt_ms": plt, "is_random": seeds > 1}
                rows.append({**levels, "cell": repr(sorted(levels.items())), **run, **account})
    question = Question({name: tuple(each) for name, each in factors.items()}, compared, factors[compared][0])
    return frame(rows), question


def _cells(factors: Mapping[str, Sequence[Level]], compared: str) -> product:
    return product(*(factors[name] for name in factors if name != compared), factors[compared])


def simulated(
    factors: Mapping[str, Sequence[Level]],
    compared: str,
    scenario: Callable[[Levels], tuple[Page, Chosen]],
    seeds: int = 7,
) -> tuple[pl.DataFrame, Question]:
    """Run a matrix in the simulator: `scenario` says what the cell of these levels is."""
    names = [*(name for name in factors if name != compared), compared]
    matrix = [dict(zip(names, each, strict=True)) for each in _cells(factors, compared)]
    cells = [experiment.cell(*scenario(levels)) for levels in matrix]
    jobs = [cell.jobs(seeds if cell.scenario.is_random else 1, 1) for cell in cells]
    outcomes = iter(experiment.execute([job for each in jobs for job in each], None))
    rows = []
    for levels, cell, each in zip(matrix, cells, jobs, strict=True):
        for _, seed in each:
            outcome = next(outcomes)
            run = {name: getattr(outcome, name) for name in ("completed", *COUNTS)}
            run |= {"plt_ms": outcome.plt_ms if outcome.completed else None}
            run |= {f"{part}_ms": value for part, value in (outcome.account() or {}).items()}
            known = {"cell": str(cells.index(cell)), "seed": seed, "is_random": cell.scenario.is_random}
            rows.append({**levels, **known, **run})
    question = Question({name: tuple(each) for name, each in factors.items()}, compared, factors[compared][0])
    return frame(rows), question


def published(name: str) -> list[dict[str, str]]:
    """Read a table of the published studies; where they are not at hand, leave the test out."""
    path = PUBLISHED / f"{name}.csv"
    if not path.exists():
        pytest.skip("no published tables here: they are not part of the repository")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


CABLELABS = {"spdy": "spdy_iw3_ms", "initcwnd": "https_iw10_ms", "both": "spdy_iw10_ms"}
"""The study's names of its challengers, and the columns of their times."""


def cablelabs() -> tuple[pl.DataFrame, Question]:
    """Give the 72 conditions of the study's appendix A.3 as runs: medians, so one run each."""
    options = {"https": "https_iw3_ms", **CABLELABS}
    numbers = ("servers", "down_mbps", "rtt_ms", "loss_pct")
    rows = []
    for raw in published("cablelabs-raw-win7"):
        condition: Levels = {"page": raw["page"], **{name: int(raw[name]) for name in numbers}}
        for option, column in options.items():
            run = {"seed": 1, "completed": True, "plt_ms": float(raw[column]), "is_random": False}
            rows.append({**condition, "option": option, "cell": f"{len(rows)}", **run})
    levels = {name: tuple(sorted({row[name] for row in rows})) for name in ("page", *numbers)}
    return frame(rows), Question({**levels, "option": tuple(options)}, "option", "https")
