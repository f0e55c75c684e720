"""Sections 4.3 and 4.4: the objects of whole pages, without dependencies, and TCP+."""

import statistics
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.claims import Claims
from loadstone.reproduce.study import Runner, Table

from . import page_corpus
from .laboratory import (
    HTTP,
    SPDY,
    TCP_PLUS,
    Plan,
    compared,
    load,
    median,
    share_faster,
    spdy_over_http,
)
from .page_corpus import SMALL, Page
from .synthetic import retransmitted

_MADE = "the pages of 2013 are not at hand; those made here were made to have it"
_AS_PUBLISHED: Mapping[str, Sequence[Level]] = {
    "rtt": [20, 100, 200],
    "rate": [1, 10],
    "loss": [0, 0.5, 1, 2],
}
FAST, LOSSLESS = pl.col("rate") == 10, pl.col("loss") == 0


def load_sets(runner: Runner, corpus: Mapping[str, Page]) -> pl.DataFrame:
    """Load the objects of all pages over all networks."""
    return load(runner, corpus, Plan({"set": page_corpus.objects_alone}, _AS_PUBLISHED))


def judge(cells: pl.DataFrame, synthetic: pl.DataFrame, claims: Claims) -> None:
    """Judge what is said of object sets; `synthetic` are the cells of the sweep."""
    ratios = spdy_over_http(cells)
    lossless = share_faster(ratios, FAST, LOSSLESS)
    claims.number(
        "NS47",
        share_faster(ratios, FAST),
        f"without loss {lossless:.0f} %; with loss one connection is held back more here than there",
        digits=0,
    )
    claims.number(
        "NS48",
        1 / median(ratios, FAST),
        f"without loss {1 / median(ratios, FAST, LOSSLESS):.2f}; most of these pages are bounded by the "
        "rate, or by slow start",
    )
    fast, slow = (median(ratios, pl.col("rate") == rate) for rate in (10, 1))
    claims.finding(
        "NS53",
        slow < fast,
        f"median ratio {slow:.2f} at 1 Mbit/s, {fast:.2f} at 10 Mbit/s",
        f"without loss it is the other way: {median(ratios, pl.col('rate') == 1, LOSSLESS):.2f} and "
        f"{median(ratios, FAST, LOSSLESS):.2f}",
    )
    made, real = (float(np.median(retransmitted(each, SPDY))) for each in (synthetic, cells))
    http, real_http = (float(np.median(retransmitted(each, HTTP))) for each in (synthetic, cells))
    claims.finding(
        "NS51",
        real < made,
        f"{real:.1%} of packets on object sets, {made:.1%} on synthetic pages",
        f"relative to HTTP: {real / real_http:.2f} of HTTP's on sets, {made / http:.2f} on synthetic pages",
    )
    _judge_tcp_plus(cells, synthetic, claims)
    clear = [median(ratios, LOSSLESS), share_faster(ratios, LOSSLESS)]
    claims.finding(
        "NS02",
        clear[0] < 1 and clear[1] > 50,
        f"faster for {clear[1]:.0f} % of the sets without loss, {share_faster(ratios):.0f} % over all losses",
        "with 1 or 2 % loss HTTP is faster for most sets",
    )


def _judge_tcp_plus(cells: pl.DataFrame, synthetic: pl.DataFrame, claims: Claims) -> None:
    gained = compared(cells, {"variant": TCP_PLUS}, {"variant": SPDY})
    near = (FAST, pl.col("rtt") == 20)
    far = median(gained, FAST, pl.col("rtt") > 20)
    claims.finding(
        "NS57",
        median(gained, *near) < 1,
        f"ratio to SPDY {median(gained, *near):.2f} at 20 ms and 10 Mbit/s, {far:.2f} at 100 and 200 ms",
        f"at 20 ms without loss {median(gained, *near, LOSSLESS):.2f}: sixty segments at once overflow a "
        "queue of 50 packets",
    )
    plus, http = (float(np.median(retransmitted(cells, name))) for name in (TCP_PLUS, HTTP))
    made, made_http = (float(np.median(retransmitted(synthetic, name))) for name in (TCP_PLUS, HTTP))
    claims.finding(
        "NS59",
        plus < http,
        f"{plus:.1%} of packets on object sets, HTTP {http:.1%}",
        f"six times the first window overflows the queue of 50 packets; on synthetic pages {made:.1%} and "
        f"{made_http:.1%}",
    )


def judge_sizes(corpus: Mapping[str, Page], claims: Claims) -> None:
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
        claims.not_testable(claim, _MADE, said)


def judge_equal(runner: Runner, corpus: Mapping[str, Page], claims: Claims) -> None:
    """Judge what equal sizes change."""
    forms = {"set": page_corpus.objects_alone, "equal": page_corpus.of_equal_sizes}
    cells = load(runner, corpus, Plan(forms, {"rtt": [20, 200], "rate": [10], "loss": [0, 1]}))
    found = compared(cells.filter(variant=HTTP), {"form": "equal"}, {"form": "set"})
    ratio = median(found)
    claims.finding("NS52", 0.9 < ratio <= 1.02, f"HTTP with equal objects takes {ratio:.2f} of the time")


def judge_one_connection(runner: Runner, corpus: Mapping[str, Page], claims: Claims) -> None:
    """Judge where the gain comes from: pipelining on one connection has no other part of SPDY."""
    piped = {"one connection": {"protocol": "http/1.1+pipelining", "connections": 1}}
    variants = {**Plan({}, {}).variants, **piped}
    plan = Plan(
        {"set": page_corpus.objects_alone}, {"rtt": [20, 100, 200], "rate": [1, 10], "loss": [0]}, variants
    )
    cells = load(runner, corpus, plan)
    spdy = median(spdy_over_http(cells))
    alone = median(compared(cells, {"variant": "one connection"}, {"variant": HTTP}))
    claims.finding(
        "NS03",
        (1 - alone) > (1 - spdy) / 2,
        f"without loss HTTP pipelined over one connection takes {alone:.2f} of the time of six, SPDY "
        f"{spdy:.2f}",
    )


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
