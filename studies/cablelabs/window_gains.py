"""What becomes of section 5.4.2: a window of ten against one of three, over HTTPS."""

import polars as pl

from loadstone.reproduce.judge import Figure, Judge, above

from . import gain_figures
from .laboratory import WINDOW
from .loads import ALL_OVER, Loads
from .spdy_gains import MOST

_MODEST = 1.25
"""A mean gain below it is modest."""
_HARDLY = 0.1
"""By so much the study's mean gains of the window differ at most, which it calls hardly."""


def judge(judge: Judge, loads: Loads) -> None:
    """Judge them."""
    everywhere = loads.evidence(WINDOW, most=ALL_OVER)
    judge.finding("CL04", everywhere, _consistent)
    judge.number("CL48", everywhere, gain_figures.mean(WINDOW))
    judge.finding("CL49", everywhere, _of_page_c)
    judge.finding("CL50", everywhere, _by_channel, "the study's own means differ by 0.07 at most")


def _consistent(runs: pl.DataFrame) -> list[Figure]:
    often, mean = gain_figures.share_at_least(WINDOW, 1)(runs), gain_figures.mean(WINDOW)(runs)
    return [
        above("no loss of time in", often, MOST, 0, "% of conditions"),
        Figure("mean gain", mean, 1, _MODEST),
    ]


def _of_page_c(runs: pl.DataFrame) -> list[Figure]:
    a, b, c = (gain_figures.mean(WINDOW, page=page)(runs) for page in "ABC")
    return [above("C less A", c - a, 0), above("C less B", c - b, 0), Figure("C", c)]


def _by_channel(runs: pl.DataFrame) -> list[Figure]:
    def apart(factor: str, low: int, high: int) -> float:
        one, other = (gain_figures.mean(WINDOW, **{factor: level})(runs) for level in (low, high))
        return other - one

    return [
        Figure("at 100 ms less at 20 ms", apart("rtt_ms", 20, 100), -_HARDLY, _HARDLY),
        Figure("at 20 Mbit/s less at 10", apart("down_mbps", 10, 20), -_HARDLY, _HARDLY),
        Figure("with loss less without", apart("loss_pct", 0, 1), -_HARDLY, _HARDLY),
    ]
