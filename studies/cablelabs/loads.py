"""The loads that claims are judged by: parts of the laboratory, shared by all claims that ask for them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.evidence import AS_STATED, Evidence, narrowed
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix, Settings

from . import assumptions
from .laboratory import BASE, FACTORS, FOLDER, in_study_terms

SEEDS = 20
"""The study's loads of a condition, which come first; then there are twice as many, and so on."""
ALL_OVER = 160
"""The most seeds of a claim about all conditions: more would take minutes."""

Only = Mapping[str, Sequence[Level]]
"""Some levels of some factors of the matrix."""


class Loads:
    """Loads of the study's laboratory on Windows 7, under one or another assumption."""

    def __init__(self, runner: Runner, held_against: Sequence[str] = tuple(assumptions.LEFT_OPEN)) -> None:
        """Hold claims against these assumptions."""
        self.runner = runner
        self.matrix = replace(runner.matrix(FOLDER / "matrix.toml"), analysis={})
        self.held_against = tuple(held_against)

    def evidence(
        self,
        *options: str,
        measures: Sequence[str] = ("plt_ms",),
        only: Only | None = None,
        most: int = 2000,
        compared: str = "option",
    ) -> Evidence:
        """Give loads of the base and of these options."""

        def run(seeds: int, assumption: str) -> pl.DataFrame:
            found = self.frame((BASE, *options), seeds, assumption, only or {})
            return found.filter("completed").select(*FACTORS, "option", "seed", *measures)

        return Evidence(run, measures, compared, SEEDS, most, self.held_against)

    def of_variants(
        self,
        only: Only,
        variants: Mapping[str, Settings],
        measures: Sequence[str] = ("plt_ms",),
        but: Sequence[str] = (),
    ) -> Evidence:
        """Give loads of other variants than the study's options; `but` are assumptions that make no sense."""

        def run(seeds: int, assumption: str) -> pl.DataFrame:
            assumed = assumptions.named(assumption)
            matrix = replace(self.matrix, variants={**self.matrix.variants, **variants})
            chosen = narrowed(assumed.matrix(matrix), {**only, "variant": [*variants]})
            runs = in_study_terms(self.runner.runs(replace(chosen, runs=seeds)), assumed.browser_ms)
            return runs.filter("completed").select(*FACTORS, "option", "seed", *measures)

        held_against = tuple(name for name in self.held_against if name not in but)
        return Evidence(run, measures, "option", SEEDS, ALL_OVER, held_against)

    def frame(
        self, options: Sequence[str], seeds: int, assumption: str = AS_STATED, only: Only | None = None
    ) -> pl.DataFrame:
        """Run it, in the study's terms. Pages and losses are run apart, so that claims can share them."""
        assumed = assumptions.named(assumption)
        matrix = narrowed(assumed.matrix(self.matrix), only or {})
        parts = self._parts(matrix, options, seeds)
        return pl.concat(in_study_terms(part, assumed.browser_ms) for part in parts)

    def _parts(self, matrix: Matrix, options: Sequence[str], seeds: int) -> Iterator[pl.DataFrame]:
        for option in options:
            for page in matrix.factors["page"]:
                for loss in matrix.factors["loss"]:
                    part = narrowed(matrix, {"variant": [option], "page": [page], "loss": [loss]})
                    for first, count in _blocks(seeds if loss else 1):
                        yield self.runner.runs(replace(part, seed=matrix.seed + first, runs=count))


def _blocks(seeds: int) -> Iterator[tuple[int, int]]:
    """Give seeds as they come: the first ones, then each time as many again. What has been run stays."""
    first, count = 0, min(seeds, SEEDS)
    while count:
        yield first, count
        first += count
        count = min(first, seeds - first)
