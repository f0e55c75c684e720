"""Section 4.2: trends of the sweep, what is sent again, why small objects gain; fifty flags, the cloud."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix, Settings

from .laboratory import FASTER, HTTP, SLOWER, SPDY, Levels, compared, median, middle
from .otherwise import of_matrix, read
from .synthetic import SweepLoads, ratios

_AROUND: Levels = {"rtt": [200], "rate": [10], "loss": [0], "iw": [10], "size": ["10KB"], "objects": [64]}
"""Where figure 3 has the factors that it does not vary."""
_WINDOWS = ("window 3", "window 32")


def judge(runner: Runner, matrix: Matrix, loads: SweepLoads, judge: Judge) -> None:
    """Judge them."""
    _trends(matrix, loads, judge)
    _losses(loads, judge)
    _small_objects(runner, matrix, loads, judge)
    judge.finding("NS90", _flags(runner, matrix), _flags_gain)
    judge.finding("NS95", _places(runner, matrix), _agreement)


def _trends(matrix: Matrix, loads: SweepLoads, judge: Judge) -> None:
    worst = loads.evidence({**_AROUND, "loss": [2]}, most=320)
    # "HTTP outperforms SPDY by half" is half of the time, or half as long again.
    judge.finding("NS39", read(worst, "times", 2.0, {"SPDY takes half as long again": 1.5}), _by_half)
    for id, factor, column, sign in (("NS40", "objects", "objects", -1), ("NS41", "size", "bytes", 1)):
        along = loads.evidence({**_AROUND, factor: matrix.factors[factor]})
        judge.finding(id, along, partial(_trend, column, sign))


def _by_half(loads: pl.DataFrame) -> list[Figure]:
    times = float(loads["times"][0])
    return [Figure("SPDY takes, times HTTP's time,", median(ratios(loads)), 0.75 * times, 1.25 * times)]


def _trend(column: str, sign: int, loads: pl.DataFrame) -> list[Figure]:
    """Give Kendall's tau, which is 1 if the ratio rises from each level to each later one."""
    found = [*ratios(loads).sort(column)["ratio"]]
    signs = [np.sign(later - earlier) for at, later in enumerate(found) for earlier in found[:at]]
    words = ", ".join(f"{ratio:.2f}" for ratio in found)
    return [above(f"ratios {words}: Kendall's tau, as it is said,", sign * float(np.mean(signs)), 0)]


def _losses(loads: SweepLoads, judge: Judge) -> None:
    judge.finding(
        "NS04",
        loads.evidence({"loss": [1, 2]}),
        _large_and_small,
        "a loss takes 30 % of the only window there is, and of one of six over HTTP",
    )
    judge.finding(
        "NS42",
        loads.evidence({"loss": [0.5, 1, 2]}, measures=("retransmissions", "packets_down")),
        _sent_again,
        "six first windows overflow the queue of 50 packets, and one does not",
    )


def _large_and_small(loads: pl.DataFrame) -> list[Figure]:
    found = ratios(loads)
    sizes = [median(found, pl.col("bytes") == size) for size in (found["bytes"].max(), found["bytes"].min())]
    return [
        above("median ratio of objects of 1 KB and more", median(found, pl.col("bytes") >= 1000), SLOWER),
        above("of the largest less that of the smallest", sizes[0] - sizes[1], 0),
    ]


def _sent_again(loads: pl.DataFrame) -> list[Figure]:
    measured = ("retransmissions", "packets_down", "seed")
    factors = [name for name in loads.columns if name not in measured]
    cells = loads.group_by(factors).agg(pl.col("retransmissions", "packets_down").sum())
    cells = cells.with_columns(plt_ms=pl.col("retransmissions") / pl.col("packets_down"))
    cells = cells.drop("retransmissions", "packets_down")
    both = compared(cells, {"variant": SPDY}, {"variant": HTTP})
    less = both.select(100 * (pl.col("over_ms") < pl.col("under_ms")).mean()).item()
    return [
        above("SPDY sends less again in", less, 50, 0, "% of the conditions"),
        below("median share less HTTP's", middle(both["over_ms"]) - middle(both["under_ms"]), 0, 3),
    ]


# --- small objects: packets, windows, fifty flags ---


def _small_objects(runner: Runner, matrix: Matrix, loads: SweepLoads, judge: Judge) -> None:
    smallest = loads.evidence({"loss": [0], "size": ["100B"], "objects": [64]}, measures=("packets_down",))
    judge.finding("NS13", smallest, _packets)
    judge.finding(
        "NS88",
        _windows(runner, matrix),
        _windows_bind,
        "over HTTP/1.1 a connection has one response under way, which any first window holds; HTTP waits for "
        "free connections",
    )


def _packets(loads: pl.DataFrame) -> list[Figure]:
    means = dict(loads.group_by("variant").agg(pl.col("packets_down").mean() / 64).iter_rows())
    return [above("packets for each object: HTTP", means[HTTP], 1), below("SPDY", means[SPDY], 1)]


def _windows(runner: Runner, matrix: Matrix) -> Evidence:
    """Give HTTP's loads of small objects with a small window and with a large one."""
    levels: Levels = {"rtt": [20, 100, 200], "rate": [1, 10], "loss": [0], "size": ["100B", "1KB"]}
    iws = zip(_WINDOWS, (3, 32), strict=True)
    variants = {name: {**matrix.variants[HTTP], "iw": iw} for name, iw in iws}
    return of_matrix(runner, _part(matrix, levels, variants))


def _part(matrix: Matrix, levels: Levels, variants: Mapping[str, Settings] | None = None) -> Matrix:
    """Give the sweep at other levels of some factors, by HTTP and SPDY with one first window."""
    return replace(
        matrix,
        factors={name: levels.get(name, own) for name, own in matrix.factors.items() if name != "iw"},
        variants=variants or {name: matrix.variants[name] for name in (HTTP, SPDY)},
        common={**matrix.common, "iw": 10},
        analysis={},
    )


def _windows_bind(loads: pl.DataFrame) -> list[Figure]:
    found = compared(loads, {"variant": _WINDOWS[0]}, {"variant": _WINDOWS[1]})
    return [above("HTTP's time with window 3 over that with 32", median(found), SLOWER)]


def _flags(runner: Runner, matrix: Matrix) -> Evidence:
    """Give loads of fifty small objects over the study's networks; how large flags are it does not say."""
    levels: Levels = {"loss": [0], "size": ["1KB", "10KB"], "objects": [50]}
    return of_matrix(runner, _part(matrix, levels))


def _flags_gain(loads: pl.DataFrame) -> list[Figure]:
    found = compared(loads, {"variant": SPDY}, {"variant": HTTP})
    worst = float(np.max(found["ratio"].to_numpy()))
    return [below("median ratio", median(found), FASTER), below("largest", worst, 1)]


# --- section 6: the cloud and the laboratory ---

_BOTH: dict[str, dict[str, Sequence[int]]] = {
    "cloud": {"rtt": (22, 71, 168), "rate": (10, 50, 143)},
    "laboratory": {"rtt": (20, 100, 200), "rate": (10,)},
}
_ALIKE = 75
"""Percent: what the study marks a leaf by."""


def _places(runner: Runner, matrix: Matrix) -> Evidence:
    """Give loads over the networks of both, of which the second's stand for those of the first in order."""
    sizes = [one for one in matrix.factors["size"] if one != "1MB"]
    parts = {}
    for name, each in _BOTH.items():
        levels = {"rtt": each["rtt"], "rate": each["rate"], "loss": [0], "size": sizes}
        parts[name] = of_matrix(runner, _part(matrix, levels))

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        return pl.concat(
            part.run(seeds, assumption).with_columns(
                pl.lit(name).alias("place"),
                pl.col("rtt").replace_strict({rtt: at for at, rtt in enumerate(_BOTH[name]["rtt"])}),
            )
            for name, part in parts.items()
        )

    return replace(parts["cloud"], run=run)


def _agreement(loads: pl.DataFrame) -> list[Figure]:
    found = compared(loads, {"variant": SPDY}, {"variant": HTTP}).with_columns(
        label=(pl.col("ratio") < FASTER).cast(pl.Int8) - (pl.col("ratio") > SLOWER).cast(pl.Int8)
    )
    cloud, laboratory = (found.filter(place=name) for name in _BOTH)
    both = cloud.join(laboratory, on=["rtt", "size", "objects", "seed"], suffix="_there")
    same = both.select(100 * (pl.col("label") == pl.col("label_there")).mean()).item()
    return [above("the same is better in", same, _ALIKE, 0, "% of the conditions")]
