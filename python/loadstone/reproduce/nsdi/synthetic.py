"""Section 4.2: the sweep over synthetic pages, and what is asked of its gains."""

from dataclasses import dataclass, replace

import polars as pl

from loadstone.analysis import gains
from loadstone.analysis.features import number
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level, Question
from loadstone.reproduce.nsdi.loads import HTTP, SPDY, TCP_PLUS, beside, medians
from loadstone.reproduce.results import Cell
from loadstone.reproduce.study import Runner
from loadstone.sweep.matrix import Matrix

FACTORS = ("rtt", "rate", "loss", "iw", "size", "objects")


@dataclass(frozen=True)
class Synthetic:
    """The sweep and what came of it."""

    question: Question
    """With the study's thresholds for high and low."""
    runs: pl.DataFrame
    cells: pl.DataFrame
    """The medians of all cells."""
    gains: Gains
    """Of SPDY and of SPDY with TCP+ over HTTP."""

    def of(self, challenger: str) -> Question:
        """Give the question about one challenger."""
        levels = {**self.question.factors, self.question.compared: (HTTP, challenger)}
        return replace(self.question, factors=levels)

    def ratios(self, challenger: str) -> pl.DataFrame:
        """Hold a challenger against HTTP: `ratio` is the study's s; `bytes` is the objects' size."""
        found = beside(self.cells, {"variant": challenger}, {"variant": HTTP})
        sizes = {level: _number(level) for level in self.question.factors["size"]}
        return found.with_columns(
            bytes=pl.col("size").replace_strict(sizes, return_dtype=pl.Float64),
            losses=pl.col("loss").cast(pl.Float64),
        )

    def around(self, challenger: str, factor: str) -> list[tuple[Level, float]]:
        """Give the ratio along a factor while the others stay where the study's figure 3 has them."""
        rest = {name: level for name, level in self.question.around.items() if name != factor}
        found = self.ratios(challenger).filter(*(pl.col(name) == level for name, level in rest.items()))
        return [*found.select(factor, "ratio").iter_rows()]

    def published(self) -> list[Cell]:
        """Give every gain; the study printed one of them."""
        at = {**self.question.around, "loss": 2}
        return [
            Cell(
                {name: row[name] for name in FACTORS},
                f"gain of {challenger} over {HTTP}",
                HALF if challenger == SPDY and all(row[name] == at[name] for name in FACTORS) else None,
                round(1 / row["ratio"], 4),
                "ratio",
            )
            for challenger in (SPDY, TCP_PLUS)
            for row in self.ratios(challenger).iter_rows(named=True)
        ]


HALF = 0.5
"""SPDY's gain at the highest loss of figure 3(a), where HTTP is ahead by half: it takes half of the time."""


def run(runner: Runner, matrix: Matrix) -> Synthetic:
    """Run the sweep."""
    runs = runner.runs(matrix)
    return Synthetic(
        matrix.question,
        runs,
        medians(runs, [*matrix.levels]),
        gains.measure(runs, matrix.question),
    )


def _number(level: Level) -> float:
    read = number(level)
    assert read is not None, "sizes are numbers"
    return read[1]
