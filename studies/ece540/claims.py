"""What becomes of each claim of the study `ece540`.

Its page, its rates and its round trips are not known. Ours were chosen to be consistent with its times, so a
claim about times is held against all settings of `sensitivity` as well, and turns with some of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from loadstone.reproduce.claims import Judged
from loadstone.reproduce.evidence import AS_STATED, Evidence, of_matrix
from loadstone.reproduce.judge import Figure, Judge, above
from loadstone.reproduce.study import Runner

from . import sensitivity
from .laboratory import FOLDER, PROTOCOLS

_HTTP, _SPDY = PROTOCOLS["http"], PROTOCOLS["spdy"]
_TWO_BROWSERS = "two browsers at a production site, whose servers need not have spoken SPDY"
_PUT_IN = "the page was given the servers that SPDY's connections say"
_GOOGLE = {"least over SSL": 39.0, "in its laboratory": 26.79}
"""Google's gains in percent, as the study quotes them."""


def judge(runner: Runner) -> list[Judged]:
    """Judge every claim."""
    judge = Judge(FOLDER)
    _labs(judge, runner)
    _site(judge, runner)
    _later_pages(judge)
    return judge.judged()


def _labs(judge: Judge, runner: Runner) -> None:
    ec2, virtual = (_lab(runner, lab) for lab in ("ec2", "virtual"))
    for id, lab in (("EC01", ec2), ("EC08", virtual)):
        judge.number(id, lab, _gain, digits=0)
    judge.finding(
        "EC03", ec2, lambda loads: [Figure("gain", _gain(loads), 0, _GOOGLE["least over SSL"], 0, "%")]
    )
    judge.finding("EC09", virtual, _above("gain", _gain, _GOOGLE["in its laboratory"]))
    for id, ours in (("EC02", "4 instead of 9, 56 %"), ("EC04", "56 %"), ("EC05", "2")):
        judge.set_up(id, f"{ours}: {_PUT_IN}")
    judge.set_up("EC06", "7: six to a server, and one to the server with one object")
    judge.set_up("EC07", "2 instead of 7, 71 %: as the two before")
    judge.finding("EC11", virtual, _above("times HTTP's rate", _rate, 1.0))
    judge.set_up("EC16", "20 seeds where chance has a part")
    judge.finding(
        "EC17",
        _with_and_without_loss(runner),
        _what_loss_adds,
        "a gain without loss has no retransmissions in it",
    )


def _above(
    name: str, figure: Callable[[pl.DataFrame], float], bound: float
) -> Callable[[pl.DataFrame], Sequence[Figure]]:
    return lambda loads: [above(name, figure(loads), bound)]


def _of(loads: pl.DataFrame, protocol: str, measure: str) -> float:
    mean = loads.filter(pl.col("protocol") == protocol)[measure].mean()
    assert isinstance(mean, float)
    return mean


def _gain(loads: pl.DataFrame) -> float:
    """Give by how many percent SPDY is faster."""
    return 100 * (1 - _of(loads, _SPDY, "plt_ms") / _of(loads, _HTTP, "plt_ms"))


def _rate(loads: pl.DataFrame) -> float:
    """Give how many times HTTP's rate SPDY has."""
    return _of(loads, _SPDY, "mbps") / _of(loads, _HTTP, "mbps")


def _lab(runner: Runner, lab: str) -> Evidence:
    """Give the loads of a laboratory; under an assumption those of another setting."""
    settings = {sensitivity.words(setting): setting for setting in sensitivity.SETTINGS}
    matrix = runner.matrix(FOLDER / f"{lab}.toml")

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        if assumption != AS_STATED:
            return sensitivity.loads(runner, settings[assumption])
        moved = pl.col("bytes_down") + pl.col("bytes_up")
        runs = runner.runs(replace(matrix, runs=seeds)).filter("completed")
        return runs.select("protocol", "seed", "plt_ms", mbps=moved * 8e-3 / pl.col("plt_ms"))

    return Evidence(run, ("plt_ms", "mbps"), "protocol", assumptions=tuple(settings))


def _with_and_without_loss(runner: Runner) -> Evidence:
    matrix = runner.matrix(FOLDER / "ec2.toml")
    lossy = str(matrix.common["network"])
    clean = lossy.split(",loss=")[0]
    both = replace(
        matrix,
        factors={**matrix.factors, "net": [lossy, clean]},
        common={**matrix.common, "network": "{net}"},
    )
    return of_matrix(runner, both, compared="protocol")


def _what_loss_adds(loads: pl.DataFrame) -> list[Figure]:
    with_loss, without = (
        _gain(loads.filter(pl.col("net").str.contains("loss=") == is_lossy)) for is_lossy in (True, False)
    )
    return [
        above("gain with loss, %, half of it at least by loss", with_loss - 2 * without, 0.0, 1),
        Figure("without loss, %", without, digits=1),
    ]


# --- the production site, and what comes after the page ---


def _site(judge: Judge, runner: Runner) -> None:
    for id in ("EC12", "EC13", "EC14"):
        judge.not_testable(id, _TWO_BROWSERS)
    judge.finding("EC15", _caches(runner), _saved)


def _caches(runner: Runner) -> Evidence:
    """Give the connections with both caches, where what is stale lies on all hosts, or on three."""
    matrix = runner.matrix(FOLDER / "shop.toml")
    few = {"page": ["cold.page.json", "warm-3-hosts.page.json"]}
    return of_matrix(
        runner,
        matrix,
        ("connections_opened",),
        "page",
        otherwise={
            "what is stale lies on three of ten hosts": lambda own: replace(
                own, factors={**own.factors, **few}
            )
        },
    )


def _saved(loads: pl.DataFrame) -> list[Figure]:
    def fewer(protocol: str) -> float:
        own = loads.filter(pl.col("protocol") == protocol)
        cold = own.filter(pl.col("page") == "cold.page.json")["connections_opened"].mean()
        warm = own.filter(pl.col("page") != "cold.page.json")["connections_opened"].mean()
        assert isinstance(cold, float) and isinstance(warm, float)
        return 1 - warm / cold

    http, spdy = fewer(_HTTP), fewer(_SPDY)
    return [
        above("HTTP saves", http, 0),
        above("SPDY saves", spdy, 0),
        above("HTTP less SPDY", http - spdy, 0),
    ]


def _later_pages(judge: Judge) -> None:
    """Say what has to be there first: a browser that goes on to a next page, with its connections."""
    judge.undecided(
        "EC10", "a load ends with its page here; what servers do with connections after it is not modelled"
    )
    judge.undecided("EC18", "a next page over connections that stay open is not modelled yet")
