"""Section 4.2: the sweep over synthetic pages, its loads as evidence, figures 3, 4 and 9 as tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from loadstone.analysis import gains
from loadstone.analysis.features import number
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level, Question, spelled
from loadstone.reproduce.evidence import AS_STATED, Evidence, narrowed
from loadstone.reproduce.study import Cell, Runner, Table
from loadstone.stores.matrix import Matrix

from .laboratory import HTTP, SPDY, TCP_PLUS, Levels, among, compared, from_syn, medians
from .otherwise import CLOCK, NETWORKS

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
        found = compared(self.cells, {"variant": challenger}, {"variant": HTTP})
        sizes = {level: _number(level) for level in self.question.factors["size"]}
        return found.with_columns(
            bytes=pl.col("size").replace_strict(sizes, return_dtype=pl.Float64),
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


# --- its loads as evidence ---

_LARGEST = 64
"""Objects of a page, up to which the sweep is run under assumptions: larger pages take most of its time."""


class SweepLoads:
    """Loads of the sweep, in which a seed is what chance gives; `bytes` is the objects' size."""

    def __init__(self, runner: Runner, matrix: Matrix) -> None:
        self._runner = runner
        self._matrix = matrix
        self._sizes = {level: _number(level) for level in matrix.factors["size"]}

    def evidence(
        self,
        only: Levels,
        variants: Sequence[str] = (HTTP, SPDY),
        measures: Sequence[str] = ("plt_ms",),
        *,
        most: int | None = None,
    ) -> Evidence:
        """Give the conditions at some levels of some factors as evidence; `most` seeds if not five."""
        factors = self._matrix.factors
        levels = {name: [one for one in only.get(name, own) if one in own] for name, own in factors.items()}
        first = self._matrix.runs or 1

        def run(seeds: int, assumption: str) -> pl.DataFrame:
            runs = self._runner.runs(self._of(seeds, assumption, {**levels, "variant": variants}))
            wanted = [among(name, each) for name, each in levels.items()]
            found = runs.filter("completed", pl.col("variant").is_in(variants), *wanted)
            timed = from_syn(found) if assumption == CLOCK else found
            sizes = pl.col("size").replace_strict(self._sizes, return_dtype=pl.Float64)
            return timed.select(*_OTHERS, sizes.alias("bytes"), "variant", "seed", *measures)

        return Evidence(run, measures, seeds=first, most=most or first, assumptions=(*NETWORKS, CLOCK))

    def _of(self, seeds: int, assumption: str, levels: Levels) -> Matrix:
        """Give what is run: what all claims share, unless one needs more seeds."""
        whole = replace(self._matrix, runs=seeds)
        if assumption in (AS_STATED, CLOCK):
            return whole if seeds == self._matrix.runs else narrowed(replace(whole, analysis={}), levels)
        pages = [count for count in whole.factors["objects"] if float(count) <= _LARGEST]
        part = narrowed(replace(whole, analysis={}), {"objects": pages})
        return replace(part, common={**part.common, **NETWORKS[assumption]})


_OTHERS = tuple(name for name in FACTORS if name != "size")


def ratios(loads: pl.DataFrame, challenger: str = SPDY) -> pl.DataFrame:
    """Hold a challenger against HTTP in each condition, by the medians of its seeds."""
    cells = loads.group_by(*_OTHERS, "bytes", "variant", maintain_order=True).agg(pl.col("plt_ms").median())
    return compared(cells, {"variant": challenger}, {"variant": HTTP})


# --- figures 3, 4 and 9 ---


def trends(swept: Synthetic) -> list[Table]:
    """Show figure 3."""
    return [
        Table(
            f"figure-3-{factor}",
            f"How does the ratio of the load times depend on {factor}?",
            [factor, "SPDY / HTTP", "with TCP+"],
            [
                [spelled(level), f"{ratio:.2f}", f"{plus:.2f}"]
                for (level, ratio), (_, plus) in zip(
                    swept.around(SPDY, factor), swept.around(TCP_PLUS, factor), strict=True
                )
            ],
            1,
            "The other factors: 200 ms, 10 Mbit/s, no loss, window 10, 64 objects of 10 KB.",
        )
        for factor in ("loss", "objects", "size")
    ]


def retransmissions(swept: Synthetic) -> Table:
    """Show figures 4 and 9."""
    rows = []
    for variant in (HTTP, SPDY, TCP_PLUS):
        lossy = swept.cells.filter((pl.col("loss") > 0) & (pl.col("variant") == variant))
        shares = np.quantile(lossy["again"].to_numpy(), [0.25, 0.5, 0.75])
        sent_again, sent = (lossy[name].to_numpy().sum() for name in ("retransmissions", "packets_down"))
        rows.append([variant, *(f"{100 * share:.1f} %" for share in [*shares, sent_again / sent])])
    head = ["variant", "lower quarter", "median", "upper quarter", "of all packets"]
    return Table(
        "figure-4",
        "How much is retransmitted on synthetic pages?",
        head,
        rows,
        1,
        "Of the packets that servers sent, in combinations with loss.",
    )
