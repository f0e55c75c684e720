"""Sections 4.3 and 4.4: the objects of whole pages, without dependencies, and TCP+."""

import statistics
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.reproduce.study import Runner, Table

from . import page_corpus
from .laboratory import (
    FASTER,
    HTTP,
    LITTLE,
    SPDY,
    TCP_PLUS,
    Levels,
    Plan,
    compared,
    median,
    middle,
    share_faster,
    spdy_over_http,
    sweep,
)
from .otherwise import WITHOUT_LOSS, PageLoads
from .page_corpus import SMALL, Page

_MADE = "the pages of 2013 are not at hand; those made here were made to have it"
_AS_PUBLISHED: Levels = {
    "rtt": [20, 100, 200],
    "rate": [1, 10],
    "loss": [0, 0.5, 1, 2],
}
FAST, LOSSLESS = pl.col("rate") == 10, pl.col("loss") == 0
_PLAIN = pl.col("variant") != TCP_PLUS
_ONE = "one connection"
_SETS = {"set": page_corpus.objects_alone}
PLAN = Plan(_SETS, _AS_PUBLISHED)
"""All object sets over all networks, by all variants."""


def judge(sets: PageLoads, synthetic: pl.DataFrame, judge: Judge) -> None:
    """Judge what is said of object sets; `synthetic` are the cells of the sweep."""
    fast, all_rates = (
        sets.evidence(_PLAIN, *where, otherwise={WITHOUT_LOSS: (_PLAIN, LOSSLESS, *where)})
        for where in ((FAST,), ())
    )
    judge.finding("NS02", all_rates, _clearly_faster, until=sets.until)
    judge.number("NS47", fast, lambda loads: share_faster(spdy_over_http(loads)), digits=0)
    judge.number(
        "NS48",
        fast,
        lambda loads: 1 / median(spdy_over_http(loads)),
        "most of these pages are bounded by the rate, or by slow start",
        until=sets.until,
    )
    judge.finding("NS53", all_rates, _slow_less_fast)
    judge.finding("NS51", _beside(sets, synthetic), _less_on_sets)
    near = (FAST, pl.col("rtt") == 20, pl.col("variant") != HTTP)
    judge.finding(
        "NS57",
        sets.evidence(*near, otherwise={WITHOUT_LOSS: (*near, LOSSLESS)}),
        _plus_faster,
        "sixty segments at once overflow a queue of 50 packets",
    )
    lossy = sets.evidence(pl.col("variant") != SPDY, ~LOSSLESS, measures=("again",))
    judge.finding(
        "NS59", lossy, _plus_sends_less, "six times the first window overflows a queue of 50 packets"
    )


def _clearly_faster(loads: pl.DataFrame) -> list[Figure]:
    found = spdy_over_http(loads)
    return [
        below("median ratio", median(found), FASTER),
        above("faster for", share_faster(found), 50, 0, "% of the sets and networks"),
    ]


def _slow_less_fast(loads: pl.DataFrame) -> list[Figure]:
    slow, fast = (median(spdy_over_http(loads), pl.col("rate") == rate) for rate in (1, 10))
    return [below("median ratio at 1 less at 10 Mbit/s", slow - fast, 0), Figure("at 10 Mbit/s", fast)]


def _beside(sets: PageLoads, synthetic: pl.DataFrame) -> Evidence:
    """Give what SPDY sends again on sets and on synthetic pages, each with numbers of its own."""
    network = ("rtt", "rate", "loss")
    made = synthetic.filter(~LOSSLESS, variant=SPDY)
    seeds = pl.int_range(pl.len(), dtype=pl.UInt64).over(network) + 1
    made = made.select(*network, pl.lit("synthetic").alias("form"), seeds.alias("seed"), "again")
    real = sets.evidence(~LOSSLESS, pl.col("variant") == SPDY, measures=("again",), compared="form")

    def run(pages: int, assumption: str) -> pl.DataFrame:
        own = real.run(pages, assumption).select(made.columns).cast(made.schema)
        return pl.concat([own.join(made, on=network, how="semi"), made])

    pages = [name for name in real.assumptions if name in page_corpus.SIZES_OTHERWISE]
    return replace(real, run=run, assumptions=pages)


def _less_on_sets(loads: pl.DataFrame) -> list[Figure]:
    is_set = pl.col("form") == "set"
    sets, synthetic = (100 * middle(loads.filter(where)["again"]) for where in (is_set, ~is_set))
    return [
        below("% of packets on sets less on synthetic pages", sets - synthetic, 0),
        Figure("on synthetic pages", synthetic),
    ]


def _plus_faster(loads: pl.DataFrame) -> list[Figure]:
    gained = compared(loads, {"variant": TCP_PLUS}, {"variant": SPDY})
    return [below("median ratio to SPDY", median(gained), 1)]


def _plus_sends_less(loads: pl.DataFrame) -> list[Figure]:
    plus, http = (100 * middle(loads.filter(variant=name)["again"]) for name in (TCP_PLUS, HTTP))
    return [
        below("share of packets, times HTTP's", plus / http if http else 1.0, FASTER),
        Figure("HTTP's, %", http, digits=1),
    ]


def judge_sizes(corpus: Mapping[str, Page], judge: Judge) -> None:
    """Say what the pages are like."""
    sizes = [[one["bytes"] for one in page["objects"]] for page in corpus.values()]
    smalls = [sum(size < SMALL for size in each) for each in sizes]
    ours = {
        "NS43": f"{statistics.median(map(len, sizes)):.0f} objects",
        "NS44": f"{statistics.median(map(sum, sizes)) / 1000:.0f} KB",
        "NS45": f"{statistics.median(map(statistics.pstdev, sizes)) / 1000:.0f} KB",
        "NS46": f"{statistics.median(map(statistics.mean, sizes)) / 1000:.1f} KB",
        "NS49": f"{100 * sum(count > 0 for count in smalls) / len(smalls):.0f} %",
        "NS50": f"{100 * sum(count > 10 for count in smalls) / len(smalls):.0f} %",
    }
    for claim, said in ours.items():
        judge.not_testable(claim, _MADE, said)


# --- loads of their own: equal sizes, one connection, thinking servers, heads, frames ---


def judge_parts(runner: Runner, pages: int, judge: Judge) -> None:
    """Judge what equal sizes, and parts of SPDY alone, change."""
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    piped = {"protocol": "http/1.1+pipelining", "connections": 1}
    forms = {**_SETS, "equal": page_corpus.of_equal_sizes}
    equal = Plan(forms, {"rtt": [20, 200], "rate": [10], "loss": [0, 1]}, {HTTP: plain[HTTP]})
    judge.finding("NS52", PageLoads(runner, pages, equal).evidence(compared="form"), _equal_little)
    networks: Levels = {"rtt": [20, 100, 200], "rate": [1, 10], "loss": [0, 0.5]}
    one = PageLoads(runner, pages, Plan(_SETS, networks, {**plain, _ONE: piped}))
    judge.finding("NS03", one.evidence(LOSSLESS, otherwise={"0.5 % loss": (~LOSSLESS,)}), _by_one_connection)
    heads = {name: page_corpus.with_heads(*sizes) for name, sizes in _HEADS.items()}
    loads = PageLoads(runner, pages, Plan(heads, {**networks, "loss": [0]}, {_ONE: piped}))
    judge.finding("NS94", loads.evidence(compared="form"), _heads_little)


_HEADS = {"short heads": (160, 160), "heads": (160 + 360, 160 + 225)}
"""Bytes of the heads of request and response, nine tenths of usual ones apart: what compression saves."""


def _equal_little(loads: pl.DataFrame) -> list[Figure]:
    ratio = median(compared(loads, {"form": "equal"}, {"form": "set"}))
    return [Figure("HTTP with equal objects takes, of the time,", ratio, 1 - LITTLE, 1)]


def _by_one_connection(loads: pl.DataFrame) -> list[Figure]:
    spdy, alone = (1 - median(compared(loads, {"variant": name}, {"variant": HTTP})) for name in (SPDY, _ONE))
    return [
        above("SPDY saves, of the time,", spdy, 0),
        above("pipelining over one connection, less half of that,", alone - spdy / 2, 0),
    ]


def _heads_little(loads: pl.DataFrame) -> list[Figure]:
    ratio = median(compared(loads, {"form": "short heads"}, {"form": "heads"}))
    return [Figure("median ratio of the time with short heads", ratio, FASTER, 1)]


def table(cells: pl.DataFrame, name: str, title: str) -> Table:
    """Show the ratios by network."""
    ratios, plus = spdy_over_http(cells), compared(cells, {"variant": TCP_PLUS}, {"variant": HTTP})
    rows = []
    for (rate, rtt, loss), part in ratios.group_by("rate", "rtt", "loss", maintain_order=True):
        here = (pl.col("rate") == rate, pl.col("rtt") == rtt, pl.col("loss") == loss)
        rows.append(
            [
                f"{rate} Mbit/s, {rtt} ms, {loss:g} %",
                f"{share_faster(part):.0f} %",
                f"{median(part):.2f}",
                f"{median(plus, *here):.2f}",
            ]
        )
    rows.sort(key=lambda row: row[0])
    head = ["network", "pages that SPDY speeds up", "median ratio", "with TCP+"]
    return Table(name, title, head, rows)
