"""All that is measured for the study `yahoo`, and what becomes of each claim."""

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.reproduce.claims import Claims, Judged
from loadstone.reproduce.study import Runner

from . import fairness, initial_window, laboratory, sensitivity, slow_start
from .fairness import Rates
from .initial_window import ByLoss, Row
from .laboratory import BROWSER_MS, FOLDER
from .sensitivity import Assumption

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
        return runner.runs(runner.matrix(FOLDER / f"{name}.toml"))

    lossy, rtt = runs("table1"), runs("rtt")
    return Findings(
        rows=initial_window.rows_of(lossy, rtt.filter(pl.col("rtt") == 100)),
        lossy=lossy,
        rtt=rtt,
        loss=initial_window.by_loss(runs("loss")),
        abc=runs("abc"),
        pipelining=runs("pipelining"),
        rates={reading: fairness.measure(runner, reading) for reading in fairness.READINGS},
        growth=(
            slow_start.growth(runner, laboratory.CLIENT),
            slow_start.growth(runner, {"profile": "linux-6"}),
        ),
        pauses=slow_start.after_pauses(runner),
        by_turn=slow_start.by_turn(runner),
        far_away=statistics.geometric_mean(initial_window.seconds(runs("far"), rtt=400)),
        single=slow_start.single(runner),
        assumed=list(sensitivity.measure(runner)),
    )


# --- verdicts ---

MARGINAL = 0.1
"""What changes a load by less on average is marginal."""
_BEST = range(5, 11)
"""Windows among which the best one is to be with the loss that goes with it."""
_CHANCE = "five loads of theirs scatter by a quarter and more"


def judge(found: Findings) -> list[Judged]:
    """Judge every claim."""
    claims = Claims(FOLDER)
    _setups(claims)
    _table_1(claims, found)
    _windows(claims, found)
    _flows(claims, found)
    _pipelining(claims, found)
    return claims.judged()


def _setups(claims: Claims) -> None:
    claims.same("YA06", "the server's default")
    claims.same("YA12", "3 segments")
    claims.same("YA30", "1,448 bytes and 12 of timestamps")
    claims.same("YA43", "14 + 16 objects, 6 connections to each domain")
    claims.same("YA47", "100 ms")
    claims.same("YA51", "geometric means of 200 loads; the client acknowledges the last segment at once")
    claims.same("YA57", "mechanisms `counting`: acks, bytes-1, bytes-2")
    claims.same("YA64", "14 objects")
    claims.same("YA65", "445 KB")
    claims.same("YA66", "300 segments of 1,448 bytes, window 450,000 bytes")
    claims.same("YA69", "6")
    claims.not_testable("YA31", "a survey of systems; both client profiles begin with 64 KB")
    claims.not_testable("YA63", "a setting of a browser; our pipelining client sends all that wait")


def _table_1(claims: Claims, found: Findings) -> None:
    by_window = {row.iw: row for row in found.rows}
    clean, lossy = initial_window.best(found.rows)
    seven, largest = by_window[7], by_window[32]
    claims.finding("YA48", lossy in _BEST, f"{lossy} segments", f"5 to 10 cannot be told apart: {_CHANCE}")
    claims.number("YA49", 100 * (largest.ours / seven.ours - 1), _CHANCE, digits=0)
    is_falling = all(one.clean > other.clean for one, other in zip(found.rows, found.rows[1:], strict=False))
    claims.finding("YA50", is_falling and clean == 32, f"{by_window[1].clean:.2f} to {largest.clean:.2f} s")
    claims.finding(
        "YA04",
        clean == 32 and lossy in _BEST,
        f"best at {clean} without loss, at {lossy} with the loss that grows with it",
    )
    beyond = 1 - largest.clean / by_window[16].clean
    claims.finding(
        "YA61",
        beyond < MARGINAL,
        f"-{beyond:.0%} from 16 to 32",
        "the study's own table has -27 %",
    )
    pipelined = (
        slow_start.round_trips(found.pipelining, slow_start.LARGEST) * slow_start.PIPELINING_RTT_MS / 1000
    )
    claims.number("YA02", 100 * (1 - pipelined / by_window[3].clean), digits=0)
    claims.finding(
        "YA71",
        slow_start.round_trips(found.pipelining, 300) < slow_start.round_trips(found.pipelining, 100)
        and lossy in _BEST,
        f"{slow_start.round_trips(found.pipelining, 100):.0f} RTT with 100 segments, "
        f"{slow_start.round_trips(found.pipelining, 300):.0f} with 300; best with loss {lossy}",
    )


def _windows(claims: Claims, found: Findings) -> None:
    reductions = [100 * initial_window.reduction(found.rtt, rtt) for rtt in initial_window.RTTS]
    over = ", ".join(
        f"{share:.0f} % at {rtt} ms" for rtt, share in zip(initial_window.RTTS, reductions, strict=True)
    )
    of_the_lab = 100 * initial_window.reduction(found.rtt, 100)
    claims.number("YA44", of_the_lab, f"at 100 ms; {over}", digits=0)
    claims.number("YA03", max(reductions), over, digits=0)
    rise = 100 * (found.loss.mean(3, 10) / found.loss.mean(3, 5) - 1)
    claims.number("YA45", rise, _CHANCE, digits=0)
    three = ", ".join(f"{found.loss.mean(3, loss):.1f} s at {loss}%" for loss in (0, 10, 20))
    claims.finding("YA46", found.loss.is_convex, three)
    claims.number("YA23", found.far_away, "ICW 3, RTT 400 ms, loss 18 %", digits=1)
    effects = [initial_window.abc_effect(found.abc, iw) for iw in initial_window.WINDOWS]
    claims.finding(
        "YA59",
        abs(statistics.mean(effects)) < MARGINAL,
        f"{statistics.mean(effects):+.0%} on average with 2, {min(effects):+.0%} at most; 1 is as 0",
        "a page that waits for long slow starts would gain more",
    )
    first, every = found.by_turn
    claims.finding("YA35", first > every, f"transfers -{first:.0%} of first requests, -{every:.0%} of all")
    delayed, quick = found.growth
    claims.number("YA08", delayed, f"{quick:.2f} with a client that acknowledges every segment")


def _flows(claims: Claims, found: Findings) -> None:
    reading = fairness.nearest(found.rates)
    rates = found.rates[reading]
    why = f"median of {len(rates.long)}; what the loss is of was chosen by this and the other flow"
    claims.number("YA52", statistics.median(rates.long), why, digits=1)
    claims.number("YA54", statistics.median(rates.short), why, digits=1)
    claims.number("YA53", 1448 / 1024 / 0.1, "arithmetic: 1,448 bytes in 100 ms, KB of 1,024", digits=1)
    times = statistics.median(rates.short) / statistics.median(rates.long)
    claims.finding("YA05", times > 1, f"the short flow has {times:.1f} times the long one's rate")


def _pipelining(claims: Claims, found: Findings) -> None:
    trips = slow_start.round_trips(found.pipelining, slow_start.LARGEST)
    opened = slow_start.connections(found.pipelining)
    claims.finding(
        "YA67",
        int(trips) == slow_start.ROUND_TRIPS,
        f"{trips:.2f} RTT, {opened} connections",
        "but for sending",
    )
    largest = next(row for row in found.rows if row.iw == 32)
    least = (largest.clean - BROWSER_MS / 1000) * 1000 / slow_start.PIPELINING_RTT_MS
    claims.number(
        "YA68",
        least,
        "ICW 32, without the browser's time: connect, HTML, connect, three rounds of objects",
        digits=1,
    )
    claims.number("YA70", found.single)
