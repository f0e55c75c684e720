"""What becomes of section 5.4.1: SPDY against HTTPS, by page, by servers, by channel."""

from collections.abc import Sequence

import polars as pl

from loadstone.reproduce.judge import Figure, Judge, Test, above, below

from . import gain_figures
from .laboratory import BASE, FACTORS, SPDY
from .loads import ALL_OVER, Loads

MOST = 75
"""Of a hundred: what is so in that share of the conditions is consistent, almost universal."""
_MINOR = 1.25
"""What makes a load longer by less has a minor effect."""


def judge(judge: Judge, loads: Loads) -> None:
    """Judge them."""
    _means(judge, loads)
    _servers(judge, loads)
    _channels(judge, loads)
    _pages(judge, loads)
    _loss(judge, loads)


def _means(judge: Judge, loads: Loads) -> None:
    judge.number("CL35", loads.evidence(SPDY, most=ALL_OVER), gain_figures.mean(SPDY))
    for id, page in (("CL36", "A"), ("CL37", "B"), ("CL38", "C")):
        judge.number(id, loads.evidence(SPDY, only=_of(page), most=4 * ALL_OVER), gain_figures.mean(SPDY))
    judge.number("CL39", loads.evidence(SPDY, only={"loss": [0]}), gain_figures.mean(SPDY))
    judge.number(
        "CL40",
        loads.evidence(SPDY, only={"loss": [1]}, most=ALL_OVER),
        gain_figures.mean(SPDY),
        "of the study's 36 rows with loss 24 are not credible (README.md)",
    )


def _of(page: str) -> dict[str, list[str]]:
    return {"page": [f"synthetic:{page}"]}


def _servers(judge: Judge, loads: Loads) -> None:
    """Take from how far gains are from 1, as factors, over all pages and channels: it is said in general."""

    def effects(runs: pl.DataFrame) -> list[Figure]:
        own = gain_figures.of(runs, SPDY).group_by("servers").agg(pl.col("gain").log().abs().mean().exp())
        one, two, four = (gain for _, gain in own.sort("servers").iter_rows())
        return [
            above("mean factor from 1, one server over two", one / two, 1),
            above("two over four", two / four, 1),
        ]

    judge.finding("CL41", loads.evidence(SPDY, most=ALL_OVER), effects, "good and bad gains of all pages")


def _channels(judge: Judge, loads: Loads) -> None:
    for id, loss, sign in (("CL42", 0, 1), ("CL43", 1, -1)):
        evidence = loads.evidence(SPDY, only={"loss": [loss]}, most=ALL_OVER)
        judge.finding(id, evidence, _step("rtt_ms", (20, 100), "ms", sign))
    judge.finding("CL45", loads.evidence(SPDY, most=ALL_OVER), _step("down_mbps", (10, 20), "Mbit/s", -1))


def _step(factor: str, levels: tuple[int, int], unit: str, sign: int) -> Test:
    def test(runs: pl.DataFrame) -> Sequence[Figure]:
        low, high = (gain_figures.mean(SPDY, **{factor: level})(runs) for level in levels)
        word = "more" if sign > 0 else "less"
        name = f"gain at {levels[1]} {unit}, {word} than at {levels[0]}, by"
        return [above(name, sign * (high - low), 0), Figure(f"at {levels[0]} {unit}", low)]

    return test


def _pages(judge: Judge, loads: Loads) -> None:
    def worst(runs: pl.DataFrame) -> list[Figure]:
        a, b, c = (gain_figures.least(SPDY, page=page)(runs) for page in "ABC")
        return [above("least gains A", a, 1), above("B", b, 1), below("C", c, 1)]

    judge.finding("CL44", loads.evidence(SPDY, only={"loss": [0]}), worst)
    judge.finding(
        "CL75",
        loads.evidence(SPDY, only=_of("A")),
        lambda runs: [above("least gain", gain_figures.least(SPDY)(runs), 1)],
    )

    def slower(runs: pl.DataFrame) -> float:
        return 100 - gain_figures.share_at_least(SPDY, 1)(runs)

    judge.finding(
        "CL76",
        loads.evidence(SPDY, only=_of("C")),
        lambda runs: [above("slower in", slower(runs), MOST, 0, "% of conditions")],
    )
    judge.finding(
        "CL77",
        loads.evidence(SPDY, only=_of("B")),
        lambda runs: [Figure("slower in", slower(runs), 100 - MOST, MOST, 0, "% of conditions")],
    )


def _loss(judge: Judge, loads: Loads) -> None:
    judge.finding(
        "CL78",
        loads.evidence(most=ALL_OVER, compared="loss_pct"),
        lambda runs: [Figure("loads with loss take, times those without", _longer(runs, BASE), 1, _MINOR)],
        "the study's own times: 1.3 for page A, 2.1 for page C (one server, 10 Mbit/s, 100 ms)",
    )
    judge.finding(
        "CL79",
        loads.evidence(SPDY, most=ALL_OVER),
        lambda runs: [
            above("SPDY's loads are longer by, times HTTPS's", _longer(runs, SPDY) / _longer(runs, BASE), 1),
            Figure("HTTPS", _longer(runs, BASE)),
        ],
    )


def _longer(runs: pl.DataFrame, option: str) -> float:
    """Give by which factor loss makes loads longer, as the geometric mean over the conditions."""
    medians = runs.filter(pl.col("option") == option).group_by(FACTORS).agg(pl.col("plt_ms").median().log())
    lossy, clean = (medians.filter(pl.col("loss_pct") == loss)["plt_ms"].mean() for loss in (1, 0))
    assert isinstance(lossy, float) and isinstance(clean, float)
    return float(pl.select(pl.lit(lossy - clean).exp()).item())
