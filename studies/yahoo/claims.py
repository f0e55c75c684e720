"""What becomes of each claim of the study `yahoo`, by its clock: from the first request on."""

import statistics
from itertools import pairwise

import polars as pl

from loadstone.reproduce.claims import Judged
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below

from . import edge_traffic, fairness, pipelining, shared_path, slow_start
from .assumptions import ASSUMPTIONS
from .initial_window import COUNTING, RTTS, WINDOWS, abc_effect, mean, reduction, seconds
from .laboratory import FOLDER, Laboratory

MARGINAL = 10.0
"""What changes a load by fewer percent is marginal."""
_SET_UPS = {
    "YA06": "the server's default",
    "YA12": "3 segments",
    "YA30": "1,448 bytes and 12 of timestamps",
    "YA43": "14 + 16 objects, 6 connections to each domain",
    "YA47": "100 ms",
    "YA51": "geometric means, over 20 seeds and more; the client acknowledges the last segment at once",
    "YA57": "mechanisms `counting`: acks, bytes-1, bytes-2",
    "YA64": "14 objects",
    "YA65": "445 KB",
    "YA66": "300 segments of 1,448 bytes, window 450,000 bytes",
    "YA69": "6 to a domain; two domains need no bound on all",
}


def judge(laboratory: Laboratory) -> list[Judged]:
    """Judge every claim."""
    judge = Judge(FOLDER)
    for id, ours in _SET_UPS.items():
        judge.set_up(id, ours)
    _of_traffic(judge)
    _windows(judge, laboratory)
    _with_loss(judge, laboratory)
    _byte_counting(judge, laboratory)
    _single_connections(judge, laboratory)
    _pipelining(judge, laboratory)
    fairness.judge(judge, laboratory)
    shared_path.judge(judge, laboratory)
    return judge.judged()


def _of_traffic(judge: Judge) -> None:
    edge_traffic.judge(judge)
    judge.not_testable("YA23", "how common such times are is of users' paths, which are not known")
    judge.not_testable("YA31", "a survey of systems; both client profiles begin with 64 KB")
    judge.not_testable("YA63", "a setting of a browser; our pipelining client sends all that wait")


# --- without loss ---

_UNKNOWN_RTTS = "round trips from 50 ms on"


def _windows(judge: Judge, laboratory: Laboratory) -> None:
    over = laboratory.evidence("rtt")
    over = Evidence(
        lambda seeds, assumption: over_rtts(laboratory, seeds, assumption),
        over.measures,
        "iw",
        assumptions=(_UNKNOWN_RTTS, *_without_loss()),
    )
    judge.finding("YA44", over, lambda runs: _least_and_most(runs, *judge.bounds("YA44")))
    judge.number("YA03", over, lambda runs: max(_reductions(runs)), digits=0)
    at_100 = laboratory.evidence("rtt", only={"rtt": [100]})
    judge.finding("YA50", _lossless(at_100), _always_shorter)
    judge.finding("YA34", _lossless(at_100), _diminishes)
    each = slow_start.transfers(laboratory)
    judge.finding("YA35", each, _first_requests_gain_more)
    judge.finding("YA61", each, _cannot_use_more)


def _without_loss() -> tuple[str, ...]:
    """Name the assumptions that concern loads without loss."""
    return tuple(name for name, assumed in ASSUMPTIONS.items() if assumed.reading == "round trips")


def _lossless(evidence: Evidence) -> Evidence:
    return Evidence(evidence.run, evidence.measures, evidence.compared, assumptions=_without_loss())


def over_rtts(laboratory: Laboratory, seeds: int, assumption: str) -> pl.DataFrame:
    """Give loads without loss over all round trips; the study's are not given: or without the shortest."""
    is_of_rtts = assumption == _UNKNOWN_RTTS
    runs = laboratory.runs("rtt", AS_STATED if is_of_rtts else assumption, seeds)
    runs = runs.select("iw", "rtt", "seed", "seconds")
    return runs.filter(pl.col("rtt") >= 50) if is_of_rtts else runs


def _reductions(runs: pl.DataFrame) -> list[float]:
    return [reduction(runs, rtt) for rtt in RTTS if rtt in runs["rtt"]]


def _least_and_most(runs: pl.DataFrame, low: float, high: float) -> list[Figure]:
    found = _reductions(runs)
    return [
        Figure(name, value, low, high, 0, "%")
        for name, value in (("least", min(found)), ("most", max(found)))
    ]


def _always_shorter(runs: pl.DataFrame) -> list[Figure]:
    return [
        above(f"from {small} to {large} saves", reduction(runs, 100, small, large), 0, 0, "%")
        for small, large in pairwise(WINDOWS)
    ]


def _diminishes(runs: pl.DataFrame) -> list[Figure]:
    up_to, beyond = reduction(runs, 100), reduction(runs, 100, 16, 32)
    return [above("from 3 to 16 saves", up_to, 0, 0, "%"), below("from 16 to 32", beyond, up_to / 2, 0, "%")]


def _first_requests_gain_more(runs: pl.DataFrame) -> list[Figure]:
    def saved(own: pl.DataFrame) -> float:
        small, large = (statistics.mean(own.filter(iw=iw)["ms"]) for iw in (3, 16))
        return float(100 * (1 - large / small))

    first, later = (saved(runs.filter(is_first=is_first)) for is_first in (True, False))
    return [
        above("first requests", first, later, 0, "% saved"),
        Figure("later ones", later, digits=0, unit="%"),
    ]


def _cannot_use_more(runs: pl.DataFrame) -> list[Figure]:
    def quicker(small: int, large: int) -> float:
        wide = runs.filter(iw=small).join(runs.filter(iw=large), on="object")
        return float(100 * statistics.mean(wide["ms"] - wide["ms_right"] > 50))

    return [
        above("quicker by half a round trip with 16 than with 3", quicker(3, 16), 50, 0, "% of objects"),
        below("with 32 than with 16", quicker(16, 32), 50, 0, "% of objects"),
    ]


# --- with loss ---


def _with_loss(judge: Judge, laboratory: Laboratory) -> None:
    table = laboratory.evidence("table1", without=("loss",), seeds=200)
    judge.number("YA48", table, _best, digits=0)
    judge.number("YA49", table, lambda runs: 100 * (mean(runs, iw=32) / mean(runs, iw=7) - 1), digits=0)
    by_loss = laboratory.evidence("loss", compared="loss", only={"iw": [3]}, seeds=100)
    judge.number("YA45", by_loss, lambda runs: 100 * (mean(runs, loss=10) / mean(runs, loss=5) - 1), digits=0)
    judge.finding("YA46", by_loss, _grow_faster)
    judge.finding("YA80", slow_start.handshakes(laboratory), _cost_seconds)


def _best(runs: pl.DataFrame) -> float:
    return float(min(WINDOWS, key=lambda iw: mean(runs, iw=iw)))


def _grow_faster(runs: pl.DataFrame) -> list[Figure]:
    means = [mean(runs, loss=loss) for loss in (0, 10, 20)]
    squares = [statistics.pvariance(seconds(runs, loss=loss)) for loss in (0, 10, 20)]
    return [
        above(f"{name}: from 10 to 20 %, less that from 0 to 10 %", last - 2 * middle + first, 0, unit=unit)
        for name, (first, middle, last), unit in (("time", means, "s"), ("variance", squares, "s2"))
    ]


def _cost_seconds(runs: pl.DataFrame) -> list[Figure]:
    lost, whole = (float(runs.filter(lost=lost)["ms"].median()) / 1000 for lost in (True, False))  # type: ignore[arg-type]
    return [
        above("a connection with a loss takes", lost, 1, unit="s"),
        below("one without", whole, 0.5, unit="s"),
    ]


# --- how acknowledgements count, and single connections ---


def _byte_counting(judge: Judge, laboratory: Laboratory) -> None:
    pages = laboratory.evidence("abc", compared=COUNTING)
    judge.finding("YA59", _lossless(pages), _marginal)
    judge.finding("YA79", slow_start.counting(laboratory), _only_after_many)
    judge.finding("YA08", slow_start.growth(laboratory), _growth)


def _marginal(runs: pl.DataFrame) -> list[Figure]:
    effects = {iw: abc_effect(runs, iw) for iw in WINDOWS}
    most = max(effects, key=lambda iw: abs(effects[iw]))
    return [
        Figure("mean", statistics.mean(effects.values()), -MARGINAL, MARGINAL, 0, "%"),
        Figure(f"most, at {most}", effects[most], -MARGINAL, MARGINAL, 0, "%"),
    ]


def _only_after_many(runs: pl.DataFrame) -> list[Figure]:
    saved = {}
    for size in slow_start.SIZES:
        own = dict(runs.filter(size=size).select("counting", "ms").iter_rows())
        saved[size] = 100 * (1 - own["bytes-2"] / own["acks"])
    return [
        below("20 KB", saved["20 KB"], MARGINAL, 0, "% saved"),
        above("1 MB", saved["1 MB"], MARGINAL, 0, "% saved"),
    ]


def _growth(runs: pl.DataFrame) -> list[Figure]:
    """Judge what the window gains beyond itself, within a quarter: half of it, and all of it."""
    own = dict(runs.select("acknowledges", "growth").iter_rows())
    return [
        Figure("delayed", own["delayed"], 1.375, 1.625, unit="times"),
        Figure("every segment acknowledged", own["every segment"], 1.75, 2.25, unit="times"),
    ]


def _single_connections(judge: Judge, laboratory: Laboratory) -> None:
    def trips(runs: pl.DataFrame) -> list[Figure]:
        own, kept = (float(runs.filter(connection=name)["trips"][0]) for name in ("of its own", "open"))
        return [
            Figure("of its own", own, 2 - 1e-9, 2.5),
            Figure("over one that is open", kept, 1 - 1e-9, 1.5),
        ]

    judge.finding("YA70", slow_start.connections(laboratory), trips)


# --- pipelining ---


def _pipelining(judge: Judge, laboratory: Laboratory) -> None:
    clients = pipelining.clients(laboratory)
    judge.number(
        "YA02",
        clients,
        lambda runs: (
            100 * (1 - pipelining.ms_of(runs, "pipelining, 300") / pipelining.ms_of(runs, "browser, 3"))
        ),
        digits=0,
    )
    for id, client in (("YA67", "pipelining, 300"), ("YA78", "a connection for each, 300")):
        judge.number(id, clients, lambda runs, client=client: pipelining.trips_of(runs, client), digits=0)  # type: ignore[misc]
    judge.number(
        "YA68",
        clients,
        lambda runs: pipelining.trips_of(runs, "browser without its time, 32"),
        digits=0,
    )
    judge.finding(
        "YA71", clients, lambda runs: [_uses_hundreds(runs)], "that some users suffer from less: YA04"
    )


def _uses_hundreds(runs: pl.DataFrame) -> Figure:
    some, many = (pipelining.trips_of(runs, f"pipelining, {iw}") for iw in (100, 300))
    return above("round trips that 300 segments save over 100", some - many, 0, 0)
