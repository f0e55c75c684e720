"""What becomes of section 5.4.3, of table 11 and of the executive summary: SPDY with a window of ten."""

import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.judge import Figure, Judge, Test, above, below

from . import gain_figures
from .gain_figures import Number
from .laboratory import BOTH, SPDY, WINDOW
from .loads import ALL_OVER, Loads, Only

_BEST: dict[str, Level] = {"page": "A", "servers": 1, "down_mbps": 10, "rtt_ms": 100, "loss_pct": 0}
"""Where the study has its best gains of SPDY."""
_BEST_WINDOW: dict[str, Level] = {"page": "C", "servers": 4, "down_mbps": 10, "rtt_ms": 20, "loss_pct": 1}
_CONDITIONS = 72
_WORST: dict[str, Level] = {"page": "C", "servers": 1, "loss_pct": 1}


def judge(judge: Judge, loads: Loads) -> None:
    """Judge them."""
    _headlines(judge, loads)
    _together(judge, loads)
    _best_and_worst(judge, loads)
    _counts(judge, loads)


def _headlines(judge: Judge, loads: Loads) -> None:
    everywhere = loads.evidence(BOTH, most=ALL_OVER)
    judge.number(
        "CL01",
        everywhere,
        lambda runs: gain_figures.reduction(gain_figures.mean(BOTH)(runs)),
        "of the mean gain, as the study calculates it",
        digits=1,
    )
    # Where nothing is lost is the largest, with either side.
    judge.number(
        "CL02",
        loads.evidence(BOTH, only={"loss": [0]}),
        lambda runs: gain_figures.reduction(gain_figures.largest(BOTH)(runs)),
        "of all conditions without loss; the same cell as CL55, and as near",
        digits=1,
    )
    at: Only = {"page": ["synthetic:C"], "servers": [1], "loss": [1]}
    worst = loads.evidence(SPDY, BOTH, only=at)
    judge.number(
        "CL03",
        worst,
        lambda runs: max(1 / gain_figures.least(option)(runs) for option in (SPDY, BOTH)),
    )


def _together(judge: Judge, loads: Loads) -> None:
    judge.number("CL53", loads.evidence(BOTH, most=ALL_OVER), gain_figures.mean(BOTH))

    def more(runs: pl.DataFrame) -> list[Figure]:
        spdy, window, both = (gain_figures.mean(option)(runs) for option in (SPDY, WINDOW, BOTH))
        return [above("joint gain less the product", both - spdy * window, 0), Figure("joint gain", both)]

    judge.finding("CL54", loads.evidence(SPDY, WINDOW, BOTH, most=ALL_OVER), more)
    there: Only = {"page": ["synthetic:A"], "servers": [1], "link": ["10/1mbit"], "rtt": [100], "loss": [0]}
    judge.number("CL55", loads.evidence(BOTH, only=there), gain_figures.mean(BOTH))
    good: Only = {"page": ["synthetic:A", "synthetic:B"], "loss": [0]}
    for id, option in (("CL56", BOTH), ("CL73", SPDY)):
        judge.number(id, loads.evidence(option, only=good), gain_figures.mean_of_good(option))
    judge.finding("CL74", loads.evidence(WINDOW, only=good), _none)


def _none(runs: pl.DataFrame) -> list[Figure]:
    """Ask for no gain, 1.0 as printed: a quarter more would be much."""
    return [Figure("gain", gain_figures.mean_of_good(WINDOW)(runs), 0.95, 1.05)]


def _best_and_worst(judge: Judge, loads: Loads) -> None:
    clean = loads.evidence(SPDY, only={"loss": [0]})
    judge.number("CL59", clean, gain_figures.largest(SPDY), "of all conditions without loss")
    judge.finding("CL60", clean, _first("best", gain_figures.ahead(SPDY, 1, **_BEST)))
    window = loads.evidence(WINDOW, most=ALL_OVER)
    judge.number("CL61", window, gain_figures.largest(WINDOW))
    best_window = gain_figures.ahead(WINDOW, 1, **_BEST_WINDOW)
    judge.finding("CL62", window, _first("best", best_window), "the study's row there is not credible")
    of_c: Only = {"page": ["synthetic:C"], "loss": [1]}
    judge.number("CL63", loads.evidence(SPDY, only=of_c), gain_figures.least(SPDY), "of page C with loss")
    judge.number("CL64", window, gain_figures.least(WINDOW))
    judge.number("CL65", loads.evidence(BOTH, only=of_c), gain_figures.least(BOTH), "of page C with loss")
    judge.finding(
        "CL66",
        loads.evidence(SPDY, most=ALL_OVER),
        _first("worst", gain_figures.ahead(SPDY, -1, **_WORST)),
    )


def _first(word: str, ahead: Number) -> Test:
    """Make a test of by how much a place is ahead of all others."""
    return lambda runs: [above(f"the place is {word} by", ahead(runs), 0)]


def _counts(judge: Judge, loads: Loads) -> None:
    """Judge the counts as shares of the 72 conditions."""
    counts = {"CL67": (SPDY, 1), "CL68": (WINDOW, 1), "CL69": (BOTH, 1), "CL70": (SPDY, 2), "CL72": (BOTH, 2)}
    for id, (option, bound) in counts.items():
        evidence = loads.evidence(option, most=ALL_OVER)
        judge.number(id, evidence, gain_figures.share_at_least(option, bound), digits=0)
    twice = gain_figures.share_at_least(WINDOW, 2)
    judge.finding(
        "CL71",
        loads.evidence(WINDOW, most=ALL_OVER),
        lambda runs: [below("in less than one of 72:", twice(runs), 100 / _CONDITIONS, 1, "%")],
    )
