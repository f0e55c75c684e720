"""All that is measured for the study `yahoo`, in one place."""

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.reproduce.study import Runner
from loadstone.reproduce.yahoo import assumptions, fairness, page, slowstart, table1, windows
from loadstone.reproduce.yahoo.assumptions import Assumption
from loadstone.reproduce.yahoo.fairness import Rates
from loadstone.reproduce.yahoo.table1 import Row
from loadstone.reproduce.yahoo.windows import ByLoss

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Findings:
    """All that is measured."""

    rows: list[Row]
    """Table 1."""
    lossy: "pl.DataFrame"
    """The runs of table 1 with loss."""
    rtt: "pl.DataFrame"
    loss: ByLoss
    abc: "pl.DataFrame"
    pipelining: "pl.DataFrame"
    rates: dict[str, Rates]
    growth: tuple[float, float]
    """By which factor the window grows in a round trip: with delayed acknowledgements, and without."""
    pauses: dict[tuple[int, str], float]
    by_turn: tuple[float, float]
    """By which share window 16 shortens transfers: of first requests, of all."""
    far_away: float
    """Geometric mean of the seconds of a load at an RTT of 400 ms with the loss of window 3."""
    single: float
    """Round trips of one small object over a connection of its own."""
    assumed: list[tuple[Assumption, int, list[Row]]]


def measure(runner: Runner) -> Findings:
    """Run everything."""
    import polars as pl

    def runs(name: str) -> "pl.DataFrame":
        return runner.runs(runner.matrix("yahoo", f"{name}.toml"))

    lossy, rtt = runs("table1"), runs("rtt")
    return Findings(
        rows=table1.rows_of(lossy, rtt.filter(pl.col("rtt") == 100)),
        lossy=lossy,
        rtt=rtt,
        loss=windows.by_loss(runs("loss")),
        abc=runs("abc"),
        pipelining=runs("pipelining"),
        rates={reading: fairness.measure(runner, reading) for reading in fairness.READINGS},
        growth=(slowstart.growth(runner, page.CLIENT), slowstart.growth(runner, {"profile": "linux-6"})),
        pauses=slowstart.after_pauses(runner),
        by_turn=slowstart.by_turn(runner),
        far_away=statistics.geometric_mean(table1.seconds(runs("far"), rtt=400)),
        single=slowstart.single(runner),
        assumed=list(assumptions.measure(runner)),
    )
