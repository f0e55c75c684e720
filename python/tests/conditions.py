"""Conditions for tests: gains that follow a known law, and loads that were simulated."""

import itertools
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from loadstone import _native
from loadstone.analysis.question import Level, Question

Law = Callable[[dict[str, Any], Level], float]
"""The gain of a challenger under a condition."""


def question(
    factors: Mapping[str, Sequence[Level]],
    compared: str = "protocol",
    baseline: Level = "http/1.1",
    **more: Any,
) -> Question:
    return Question({name: tuple(levels) for name, levels in factors.items()}, compared, baseline, **more)


def conditions(asked: Question) -> list[dict[str, Any]]:
    """Give every condition of a full matrix, in its order."""
    levels = [asked.factors[name] for name in asked.others]
    return [dict(zip(asked.others, combination, strict=True)) for combination in itertools.product(*levels)]


def gains(asked: Question, law: Law, width: float | None = 0.02) -> pl.DataFrame:
    """Make the gains frame of a law; intervals reach `width` to either side."""
    rows = []
    for condition in conditions(asked):
        for challenger in asked.challengers:
            gain = law(condition, challenger)
            rows.append(
                {
                    **condition,
                    asked.compared: challenger,
                    "baseline_ms": 1000.0,
                    "variant_ms": 1000.0 / gain,
                    "gain": gain,
                    "low": gain * (1 - width) if width else None,
                    "high": gain * (1 + width) if width else None,
                    "pairs": 11 if width else 1,
                    "is_random": width is not None,
                }
            )
    return pl.DataFrame(rows)


def runs(asked: Question, law: Law, seeds: int = 11) -> pl.DataFrame:
    """Make the runs of a law: loads of about a second, spread by a tenth, alike under the same seed."""
    draw = random.Random(3)
    luck = [math.exp(draw.gauss(0, 0.1)) for _ in range(seeds)]
    rows = []
    for condition in conditions(asked):
        for level in asked.factors[asked.compared]:
            gain = 1.0 if level == asked.baseline else law(condition, level)
            rows += [
                {
                    **condition,
                    asked.compared: level,
                    "seed": seed,
                    "completed": True,
                    "plt_ms": 1000.0 * factor / gain,
                }
                for seed, factor in enumerate(luck, 1)
            ]
    return pl.DataFrame(rows)


def sweep(
    asked: Question, scenario: Callable[[dict[str, Any]], dict[str, Any]], seeds: int = 5
) -> pl.DataFrame:
    """Simulate the loads of a matrix; `scenario` says from its levels what a cell's scenario is."""
    cells, jobs = [], []
    for condition in conditions(asked):
        for level in asked.factors[asked.compared]:
            cell = {**condition, asked.compared: level}
            fields = scenario(cell)
            fields["page"] = json.loads(_native.Page.synthetic(fields["page"]).to_json())
            made = _native.Scenario(json.dumps(fields))
            count = seeds if made.is_random else 1
            cells += [{**cell, "is_random": made.is_random}] * count
            jobs += [(made, seed) for seed in range(1, count + 1)]
    outcomes = _native.run_many(jobs)
    return pl.DataFrame(
        [
            {
                **cell,
                "seed": outcome.seed,
                "completed": outcome.completed,
                "plt_ms": outcome.plt_ms if outcome.completed else None,
            }
            for cell, outcome in zip(cells, outcomes, strict=True)
        ]
    )


def gains_of(simulated: pl.DataFrame, asked: Question) -> pl.DataFrame:
    """Give the gains of simulated loads: the ratio of medians, without intervals."""
    medians = simulated.group_by([*asked.others, asked.compared], maintain_order=True).agg(
        pl.col("plt_ms").median(), pl.len().alias("pairs"), pl.col("is_random").first()
    )
    base = medians.filter(pl.col(asked.compared) == asked.baseline)
    base = base.select(*asked.others, pl.col("plt_ms").alias("baseline_ms"))
    return (
        medians.filter(pl.col(asked.compared) != asked.baseline)
        .join(base, on=asked.others, maintain_order="left")
        .rename({"plt_ms": "variant_ms"})
        .with_columns(
            gain=pl.col("baseline_ms") / pl.col("variant_ms"),
            low=pl.lit(None, pl.Float64),
            high=pl.lit(None, pl.Float64),
        )
    )
