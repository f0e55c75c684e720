"""Section 4.2: the sweep over synthetic pages, figures 3, 4 and 9, and what is retransmitted."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from loadstone.analysis import gains
from loadstone.analysis.features import number
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level, Question, spelled
from loadstone.reproduce.claims import Claims
from loadstone.reproduce.study import Cell, Runner, Table
from loadstone.stores.matrix import Matrix

from .laboratory import HTTP, SPDY, TCP_PLUS, compared, medians

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


# --- figures 3, 4 and 9; what is retransmitted ---

_NEAR = 1 / 3
"""How near a number of a trend has to be."""


def judge_trends(swept: Synthetic, claims: Claims) -> list[Table]:
    """Judge the trends of figure 3."""
    loss, objects, sizes = (swept.around(SPDY, name) for name in ("loss", "objects", "size"))
    worst = 1 / loss[-1][1]
    claims.finding(
        "NS39",
        abs(worst - HALF) <= _NEAR * HALF,
        f"SPDY takes {loss[-1][1]:.2f} times as long",
        "HTTP takes half of the time, or is half as fast again: within a third of either",
    )
    claims.finding(
        "NS40",
        _direction(objects) < 0,
        _words(objects),
        "two objects fit into the first windows of two connections, and not into that of one",
    )
    claims.finding("NS41", _direction(sizes) > 0, _words(sizes))
    _judge_losses(swept, claims)
    _judge_packets(swept, claims)
    each = [
        Table(
            f"figure-3-{factor}",
            f"How does the ratio of the load times depend on {factor}?",
            [factor, "SPDY / HTTP", "with TCP+"],
            [
                [spelled(level), f"{ratio:.2f}", f"{plus:.2f}"]
                for (level, ratio), (_, plus) in zip(along, swept.around(TCP_PLUS, factor), strict=True)
            ],
            1,
            "The other factors: 200 ms, 10 Mbit/s, no loss, window 10, 64 objects of 10 KB.",
        )
        for factor, along in (("loss", loss), ("objects", objects), ("size", sizes))
    ]
    return [*each, _retransmissions(swept)]


def _direction(along: list[tuple[Level, float]]) -> int:
    """Say whether it rises more often than it falls, over all pairs of levels: Kendall's sign."""
    ratios = [ratio for _, ratio in along]
    signs = [
        (later > earlier) - (later < earlier) for at, later in enumerate(ratios) for earlier in ratios[:at]
    ]
    return (sum(signs) > 0) - (sum(signs) < 0)


def _words(along: list[tuple[Level, float]]) -> str:
    return ", ".join(f"{spelled(level)}: {ratio:.2f}" for level, ratio in along)


def _judge_losses(swept: Synthetic, claims: Claims) -> None:
    ratios = swept.ratios(SPDY).filter(losses=2)
    sizes = swept.question.factors["size"]
    each = {size: float(np.median(part)) for size in sizes if len(part := ratios.filter(size=size)["ratio"])}
    smallest, *_, largest = each.values()
    claims.finding(
        "NS04",
        largest == max(each.values()) and largest > 1 > smallest,
        ", ".join(f"{size}: {ratio:.2f}" for size, ratio in each.items()) + " at 2 % loss",
        "a loss takes 30 % of the only window there is, and of one of six over HTTP",
    )


def _judge_packets(swept: Synthetic, claims: Claims) -> None:
    small = swept.cells.filter((pl.col("loss") == 0) & (pl.col("size") == "100B") & (pl.col("objects") == 64))
    packets = {
        name: float(np.mean(small.filter(variant=name)["packets_down"].to_numpy())) / 64
        for name in (HTTP, SPDY)
    }
    claims.finding(
        "NS13",
        packets[SPDY] < 1 < packets[HTTP],
        f"packets for each of 64 objects of 100 B: HTTP {packets[HTTP]:.1f}, SPDY {packets[SPDY]:.1f}",
    )


def retransmitted(cells: pl.DataFrame, variant: str) -> NDArray[np.float64]:
    """Give the share of packets that were sent again, cell by cell with loss."""
    lossy = cells.filter((pl.col("loss") > 0) & (pl.col("variant") == variant))
    return (lossy["retransmissions"] / lossy["packets_down"]).to_numpy()


def _retransmissions(swept: Synthetic) -> Table:
    rows = []
    for variant in (HTTP, SPDY, TCP_PLUS):
        lossy = swept.cells.filter((pl.col("loss") > 0) & (pl.col("variant") == variant))
        shares = np.quantile(retransmitted(swept.cells, variant), [0.25, 0.5, 0.75])
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


def judge_retransmissions(swept: Synthetic, claims: Claims) -> None:
    """Judge figure 4: SPDY retransmits less in most combinations, and in all."""
    sides = [
        swept.cells.filter((pl.col("loss") > 0) & (pl.col("variant") == name)).select(
            *FACTORS, (pl.col("retransmissions") / pl.col("packets_down")).alias(name)
        )
        for name in (HTTP, SPDY)
    ]
    both = sides[0].join(sides[1], on=list(FACTORS))
    http_shares, spdy_shares = (both[name].to_numpy() for name in (HTTP, SPDY))
    less = float(np.mean(spdy_shares < http_shares))
    http, spdy = float(np.median(http_shares)), float(np.median(spdy_shares))
    claims.finding(
        "NS42",
        less > 0.5 and spdy < http,
        f"less in {less:.0%} of the combinations; medians {spdy:.1%} and {http:.1%}",
        "six first windows overflow the queue of 50 packets, and one does not",
    )
