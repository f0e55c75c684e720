"""Section 5.2: whole pages, with dependencies and computing."""

import numpy as np
import polars as pl

from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.reproduce.study import Runner, Table

from . import page_corpus
from .deciding_factors import total_effects
from .independent_objects import FAST, LOSSLESS
from .laboratory import (
    HTTP,
    LITTLE,
    SPDY,
    Plan,
    median,
    middle,
    share_faster,
    spdy_over_http,
    sweep,
)
from .otherwise import WITHOUT_LOSS, PageLoads, inside

NETWORKS = {"rtt": [20, 100, 200], "rate": [1, 10], "loss": [0, 2]}
BOTH = {"graph": page_corpus.on_one_host, "set": page_corpus.objects_alone}
_FAR, _SLOW = pl.col("rtt") >= 100, pl.col("rate") == 1
SOME = (5.0, 50.0)
"""Between which percentages of the pages something happens that happens at times."""


PLAN = Plan(BOTH, NETWORKS, {name: sweep().variants[name] for name in (HTTP, SPDY)})
"""All pages with and without their dependencies and computing."""


def judge(whole: PageLoads, judge: Judge) -> None:
    """Judge what dependencies and computing change."""
    graph = pl.col("form") == "graph"

    def loads(*where: pl.Expr) -> Evidence:
        return whole.evidence(*where, otherwise={WITHOUT_LOSS: (*where, LOSSLESS)})

    judge.number("NS01", loads(graph, _FAR, _SLOW), lambda found: 100 * (1 - median(spdy_over_http(found))))
    judge.finding("NS05", loads(), _less_with_graph)
    judge.number("NS10", loads(graph, _FAR, _SLOW), _faster, digits=0)
    judge.number(
        "NS11", loads(graph, _FAR), _worst_fifth, "the least of the worst fifth", digits=0, until=whole.until
    )
    judge.finding("NS12", whole.evidence(graph, FAST, LOSSLESS), _little_at_short)
    judge.number(
        "NS65",
        loads(graph, _SLOW),
        _largest_share,
        "the largest of its networks",
        digits=0,
        until=whole.until,
    )
    judge.number("NS66", loads(graph, FAST), _faster, digits=0)
    judge.set_up("NS62", "what is added to a load makes it longer")
    bursts = (pl.col("variant") == HTTP, ~LOSSLESS)
    lossless = {WITHOUT_LOSS: (bursts[0], LOSSLESS)}
    judge.finding(
        "NS63",
        whole.evidence(*bursts, measures=("again",), compared="form", otherwise=lossless),
        _fewer_again,
    )
    judge.finding("NS64", loads(), _weights, until=whole.until)


def _faster(loads: pl.DataFrame) -> float:
    return share_faster(spdy_over_http(loads))


def _worst_fifth(loads: pl.DataFrame) -> float:
    return 100 * (float(np.quantile(spdy_over_http(loads)["ratio"].to_numpy(), 0.8)) - 1)


def _largest_share(loads: pl.DataFrame) -> float:
    faster = spdy_over_http(loads).group_by("rtt", "loss").agg((pl.col("ratio") < 1).mean())
    return 100 * float(np.max(faster["ratio"].to_numpy()))


def _less_with_graph(loads: pl.DataFrame) -> list[Figure]:
    graph, alone = (median(spdy_over_http(loads), pl.col("form") == form) for form in BOTH)
    return [
        above("median ratio with them less without", graph - alone, 0),
        Figure("with them", graph),
        Figure("without", alone),
    ]


def _little_at_short(loads: pl.DataFrame) -> list[Figure]:
    near, far = (median(spdy_over_http(loads), pl.col("rtt") == rtt) for rtt in (20, 200))
    return [
        Figure("median ratio at 20 ms and 10 Mbit/s, without loss,", near, 1 - LITTLE, 1 + LITTLE),
        above("less that at 200 ms", near - far, 0),
    ]


def _fewer_again(loads: pl.DataFrame) -> list[Figure]:
    graph, alone = (100 * middle(loads.filter(form=form)["again"]) for form in BOTH)
    return [
        below("% of packets sent again with them less without", graph - alone, 0),
        Figure("without", alone),
    ]


def _weights(loads: pl.DataFrame) -> list[Figure]:
    names = [name for name in NETWORKS if loads[name].n_unique() > 1]
    graph, alone = (
        total_effects(spdy_over_http(loads.filter(form=form)).drop("form"), ("seed", *names)) for form in BOTH
    )
    return [
        above(f"share of the variance that {name} decides, less without them,", graph[name] - alone[name], 0)
        for name in ("rtt", "rate")
    ]


# --- seen from inside; computing at other speeds ---


def judge_inside(runner: Runner, pages: int, judge: Judge) -> None:
    """Judge what goes on within a load: idle connections, objects under way."""
    plain = {name: dict(sweep().variants[name]) for name in (HTTP, SPDY)}
    lossy = inside(runner, pages, {"graph": page_corpus.on_one_host}, plain, (200, 10, 2.0))
    judge.set_up("NS67", "2 %")
    judge.finding("NS14", lossy(("idle",)), _idle)
    clean = inside(runner, pages, BOTH, plain, (100, 10, 0.0))
    judge.finding("NS15", clean(("plt_ms", "under_way"), "form"), _under_way)


def _idle(loads: pl.DataFrame) -> list[Figure]:
    spdy, http = (
        100 * float(np.mean(loads.filter(variant=name)["idle"].to_numpy())) for name in (SPDY, HTTP)
    )
    return [
        below("% of the round trips of SPDY's connections less of HTTP's", spdy - http, 0, 0),
        Figure("of HTTP's", http, digits=0),
    ]


def _under_way(loads: pl.DataFrame) -> list[Figure]:
    graph, alone = (middle(loads.filter(form=form, variant=SPDY)["under_way"]) for form in BOTH)
    gain, gain_alone = (median(spdy_over_http(loads), pl.col("form") == form) for form in BOTH)
    return [
        above("median ratio with them less without", gain - gain_alone, 0),
        below("objects under way with them less without", graph - alone, 0, 1),
        Figure("without", alone, digits=1),
    ]


def judge_computing(runner: Runner, pages: int, judge: Judge) -> None:
    """Judge what the speed of computing changes."""
    forms = {f"x{factor:g}": page_corpus.with_computing(factor) for factor in _SPEEDS}
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    loads = PageLoads(runner, pages, Plan(forms, {"rtt": [200], "rate": [10], "loss": [0]}, plain))
    judge.set_up("NS68", "0, 0.5 and 2 times")
    judge.set_up("NS85", "what takes both protocols as much longer brings their ratio nearer to 1")
    judge.finding("NS69", loads.evidence(), _by_speed)
    judge.finding("NS70", loads.evidence(pl.col("form").is_in(["x0", "x0.5"])), _none_no_better)


_SPEEDS = (0, 0.5, 1, 2)


def _by_speed(loads: pl.DataFrame) -> list[Figure]:
    half, once, twice = (median(spdy_over_http(loads), pl.col("form") == f"x{by:g}") for by in _SPEEDS[1:])
    return [
        Figure("median ratio", once, digits=3),
        below("with half of the computing, less this", half - once, 0, 3),
        above("with twice, less this", twice - once, 0, 3),
    ]


def _none_no_better(loads: pl.DataFrame) -> list[Figure]:
    found = spdy_over_http(loads)
    none, half = (found.filter(form=form).select("seed", "ratio") for form in ("x0", "x0.5"))
    both = none.join(half, on="seed")
    share = 100 * float(np.mean(both["ratio"].to_numpy() >= both["ratio_right"].to_numpy()))
    return [Figure("SPDY gains no more for", share, *SOME, 0, "% of the pages")]


def table(cells: pl.DataFrame, name: str, title: str) -> Table:
    """Show the ratios of whole pages by network, next to those of their objects alone."""
    rows = []
    for form in ("graph", "set"):
        ratios = spdy_over_http(cells.filter(form=form))
        for (rate, rtt, loss), part in ratios.group_by("rate", "rtt", "loss", maintain_order=True):
            network = f"{rate} Mbit/s, {rtt} ms, {loss:g} %"
            what = "whole" if form == "graph" else "objects alone"
            rows.append([what, network, f"{share_faster(part):.0f} %", f"{median(part):.2f}"])
    rows.sort()
    head = ["page", "network", "pages that SPDY speeds up", "median ratio"]
    return Table(name, title, head, rows, 2)
