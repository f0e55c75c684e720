"""Evidence: the loads that a claim is judged by, how to have more of them, and what chance makes of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.altered import FAMILY

if TYPE_CHECKING:
    from loadstone.reproduce.study import Runner
    from loadstone.stores.matrix import Matrix

AS_STATED = "as stated"
"""What is assumed if nothing is assumed otherwise."""

DRAWS = 200
"""How often chance is asked what else it might have given."""


@dataclass(frozen=True)
class Evidence:
    """Loads that a claim is judged by: one row for each, with its factors, its seed and what it measured."""

    run: Callable[[int, str], pl.DataFrame]
    """Gives the loads of so many seeds under an assumption. Conditions without chance may have one seed."""
    measures: Sequence[str] = ("plt_ms",)
    """Columns with what was measured. All others but `seed` are factors."""
    compared: str = "variant"
    """The factor whose levels are held against one another."""
    seeds: int = 20
    """How many are run at first."""
    most: int = 2000
    """How many at most, where chance could turn the verdict."""
    assumptions: Sequence[str] = ()
    """What is assumed otherwise, one at a time, where the study says nothing or pages are made up."""

    def loads(self, seeds: int, assumption: str = AS_STATED) -> pl.DataFrame:
        """Run it."""
        found = self.run(seeds, assumption)
        if missing := {*self.measures, self.compared, "seed"} - {*found.columns}:
            raise ValueError(f"evidence lacks {', '.join(sorted(missing))}")
        return found

    def factors(self, loads: pl.DataFrame) -> list[str]:
        """Name the factors but the compared one."""
        rest = {*self.measures, self.compared, "seed"}
        return [name for name in loads.columns if name not in rest]

    def altered(self, loads: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        """Give the loads of other worlds."""
        for name, alter in FAMILY.items():
            yield name, alter(loads, self.compared, self.factors(loads), self.measures)

    def draws(self, loads: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Draw the seeds anew, again and again: what else might have come of chance (the bootstrap).

        One draw has the same seeds in all conditions, so that loads stay paired. Conditions of one seed have
        no chance in them and stay as they are. Nothing is given if all do.
        """
        seeds_of_cell = pl.col("seed").n_unique().over([*self.factors(loads), self.compared])
        fixed, random = loads.filter(seeds_of_cell == 1), loads.filter(seeds_of_cell > 1)
        seeds = random["seed"].unique().sort().to_numpy()
        places = [np.flatnonzero(random["seed"].to_numpy() == seed) for seed in seeds]
        for draw in range(DRAWS if len(seeds) else 0):
            chosen = np.random.default_rng(draw).integers(len(seeds), size=len(seeds))
            rows = np.concatenate([places[each] for each in chosen])
            anew = np.repeat(np.arange(len(chosen)) + 1, [len(places[each]) for each in chosen])
            drawn = random[rows].with_columns(pl.Series("seed", anew, dtype=loads.schema["seed"]))
            yield pl.concat([fixed, drawn])


def of_matrix(
    runner: "Runner",
    matrix: "Matrix",
    measures: Sequence[str] = ("plt_ms",),
    compared: str = "variant",
    *,
    only: Mapping[str, Sequence[Level]] | None = None,
    seeds: int = 20,
    otherwise: Mapping[str, Callable[["Matrix"], "Matrix"]] | None = None,
) -> Evidence:
    """Give what a matrix runs as evidence, or some levels of some of its factors only.

    `otherwise` makes of the matrix, by the name of an assumption, what is run under it. Loads that were not
    completed are left out.
    """
    changes = otherwise or {}

    def run(count: int, assumption: str) -> pl.DataFrame:
        assumed = matrix if assumption == AS_STATED else changes[assumption](matrix)
        runs = runner.runs(replace(narrowed(assumed, only or {}), runs=count))
        return runs.filter("completed").select(*assumed.levels, "seed", *measures)

    return Evidence(run, measures, compared, seeds, assumptions=tuple(changes))


def narrowed(matrix: "Matrix", only: Mapping[str, Sequence[Level]]) -> "Matrix":
    """Leave these levels of these factors alone; all others stay."""
    factors = {name: tuple(only.get(name, levels)) for name, levels in matrix.factors.items()}
    chosen = only.get("variant", tuple(matrix.variants))
    variants = {name: settings for name, settings in matrix.variants.items() if name in chosen}
    return replace(matrix, factors=factors, variants=variants)
