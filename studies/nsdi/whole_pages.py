"""Sections 5 and 6: whole pages, with dependencies and computing; priorities, pushes, hosts, TLS."""

import statistics
from collections.abc import Mapping

import numpy as np
import polars as pl

from loadstone.reproduce.claims import Claims
from loadstone.reproduce.study import Runner, Table
from loadstone.stores.matrix import Settings

from . import page_corpus
from .deciding_factors import total_effects
from .laboratory import (
    FLOWS,
    HTTP,
    SPDY,
    Plan,
    compared,
    load,
    look_inside,
    median,
    share_faster,
    spdy_over_http,
    sweep,
)
from .page_corpus import Page
from .synthetic import retransmitted

Corpus = Mapping[str, Page]

_NETWORKS = {"rtt": [20, 100, 200], "rate": [1, 10], "loss": [0, 2]}
_FAST, _LOSSLESS = pl.col("rate") == 10, pl.col("loss") == 0
_LITTLE = 0.03
"""A change that is called marginal is no more than this."""
_PUSHES = {"pushing nothing": "nothing", "embedded": "embedded", "dependencies": "dependencies", "all": "all"}


def load_pages(runner: Runner, corpus: Corpus) -> pl.DataFrame:
    """Load the pages with and without their dependencies and computing."""
    forms = {"graph": page_corpus.on_one_host, "set": page_corpus.objects_alone}
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    return load(runner, corpus, Plan(forms, _NETWORKS, plain))


def judge(cells: pl.DataFrame, claims: Claims) -> None:
    """Judge what dependencies and computing change."""
    graph, alone = (spdy_over_http(cells.filter(form=form)) for form in ("graph", "set"))
    slow_far = (pl.col("rate") == 1, pl.col("rtt") >= 100)
    claims.number(
        "NS01",
        100 * (1 - median(graph, *slow_far)),
        "median at 1 Mbit/s and 100 and 200 ms, with and without loss; without loss "
        f"{100 * (1 - median(graph, *slow_far, _LOSSLESS)):.0f} %",
        digits=0,
    )
    claims.finding(
        "NS05",
        median(graph) > median(alone),
        f"median ratio {median(graph):.2f} with them, {median(alone):.2f} without",
        f"without loss {median(graph, _LOSSLESS):.2f} and {median(alone, _LOSSLESS):.2f}; recorded "
        "pages (--pages) have longer chains and more computing than those made here",
    )
    claims.number("NS10", share_faster(graph, *slow_far), digits=0)
    far = graph.filter(pl.col("rtt") >= 100)["ratio"].to_numpy()
    claims.number(
        "NS11",
        100 * (float(np.quantile(far, 0.8)) - 1),
        "the least of the worst fifth of pages and networks of 100 and 200 ms",
        digits=0,
    )
    short = median(graph, _FAST, pl.col("rtt") == 20, _LOSSLESS)
    claims.finding(
        "NS12",
        abs(1 - short) < abs(1 - median(graph, _FAST, pl.col("rtt") == 200, _LOSSLESS)),
        f"median ratio {short:.2f} at 20 ms and 10 Mbit/s without loss",
    )
    for claim, rate in (("NS65", 1), ("NS66", 10)):
        claims.number(claim, share_faster(graph, pl.col("rate") == rate), digits=0)
    _judge_both(cells, claims)


def _judge_both(cells: pl.DataFrame, claims: Claims) -> None:
    slower = {
        name: median(compared(cells.filter(variant=name), {"form": "graph"}, {"form": "set"}))
        for name in (HTTP, SPDY)
    }
    claims.finding(
        "NS62",
        min(slower.values()) > 1,
        ", ".join(f"{name} takes {ratio:.2f} times as long" for name, ratio in slower.items()),
    )
    graph, alone = (
        float(np.median(retransmitted(cells.filter(form=form), HTTP))) for form in ("graph", "set")
    )
    claims.finding(
        "NS63", graph < alone, f"HTTP sends {graph:.1%} of packets again with them, {alone:.1%} without"
    )
    graph_weights, alone_weights = (
        total_effects(spdy_over_http(cells.filter(form=form)), ("name", *_NETWORKS))
        for form in ("graph", "set")
    )
    claims.finding(
        "NS64",
        all(graph_weights[name] > alone_weights[name] for name in ("rtt", "rate")),
        "; ".join(
            f"{name} {graph_weights[name]:.0%} of the variance of ln(ratio), without dependencies "
            f"{alone_weights[name]:.0%}"
            for name in ("rtt", "rate")
        ),
    )


def judge_inside(runner: Runner, corpus: Corpus, claims: Claims) -> None:
    """Judge what goes on within a load: idle connections, objects under way."""
    variants = {name: dict(sweep().variants[name]) for name in (HTTP, SPDY)}
    lossy, clean = (200, 10, 2.0), (100, 10, 0.0)
    idle = {
        name: statistics.mean(
            one.idle for one in look_inside(runner, corpus, page_corpus.objects_alone, settings, lossy)
        )
        for name, settings in variants.items()
    }
    claims.finding(
        "NS14",
        idle[SPDY] < idle[HTTP],
        ", ".join(f"{name} {share:.0%}" for name, share in idle.items())
        + " of its connections' round trips, object sets, 2 % loss, 200 ms, 10 Mbit/s",
    )
    claims.same("NS67", "2 %")
    graph, alone = (
        look_inside(runner, corpus, change, variants[SPDY], clean)
        for change in (page_corpus.on_one_host, page_corpus.objects_alone)
    )
    under_way = [statistics.median(one.under_way for one in each) for each in (graph, alone)]
    computing = statistics.median(one.computing for one in graph)
    claims.finding(
        "NS15",
        under_way[0] < under_way[1] and computing > 0,
        f"{under_way[0]:.1f} objects under way on average instead of {under_way[1]:.1f}; {computing:.0%} of "
        "the load time is computing",
        "that these make the gain smaller does not follow: see the claim on dependencies",
    )


def judge_computing(runner: Runner, corpus: Corpus, claims: Claims) -> None:
    """Judge what the speed of computing changes."""
    forms = {f"x{factor:g}": page_corpus.with_computing(factor) for factor in (0, 0.5, 1, 2, 10)}
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    cells = load(runner, corpus, Plan(forms, {"rtt": [200], "rate": [10], "loss": [0]}, plain))
    ratios = spdy_over_http(cells)
    by = {form: median(ratios.filter(form=form)) for form in forms}
    said = ", ".join(f"{form} {ratio:.3f}" for form, ratio in by.items())
    claims.same("NS68", "0, 0.5 and 2 times; and 10 times")
    claims.finding("NS69", by["x0.5"] < by["x1"] < by["x2"], f"median ratio by computing: {said}")
    none, half = (ratios.filter(form=form).select("name", "ratio") for form in ("x0", "x0.5"))
    both = none.join(half, on="name")
    no_better = float(np.mean(both["ratio"].to_numpy() >= both["ratio_right"].to_numpy()))
    claims.finding("NS70", no_better > 0, f"for {no_better:.0%} of the pages SPDY gains no more")
    claims.finding("NS85", by["x10"] > by["x1"], f"median ratio {by['x10']:.2f} instead of {by['x1']:.2f}")


def judge_priorities(runner: Runner, corpus: Corpus, claims: Claims) -> None:
    """Judge what priorities are worth."""
    forms = {
        "none": page_corpus.without_priorities,
        "kind": page_corpus.prioritised_by_kind,
        "dependency": page_corpus.prioritised_by_dependency,
    }
    alone = {SPDY: {**sweep().variants[SPDY], "policy": "priority"}}
    networks = {"rtt": [20, 200], "rate": [1, 10], "loss": [0, 2]}
    cells = load(runner, corpus, Plan(forms, networks, alone))
    by_kind, by_dependency = (
        compared(cells, {"form": form}, {"form": "none"}) for form in ("kind", "dependency")
    )
    kind = median(by_kind, _FAST, _LOSSLESS)
    near, far = (median(by_dependency, _FAST, _LOSSLESS, pl.col("rtt") == rtt) for rtt in (20, 200))
    claims.same("NS71", "8")
    claims.finding(
        "NS72",
        abs(1 - kind) < _LITTLE,
        f"median ratio to none {kind:.3f}",
        "scripts behind images hold back what they find; how many are is assumed in the pages made here",
    )
    claims.finding(
        "NS73", near < 1 and near <= far, f"median ratio to none {near:.3f} at 20 ms, {far:.3f} at 200 ms"
    )
    claims.finding(
        "NS06",
        max(1 - median(each) for each in (by_kind, by_dependency)) < _LITTLE,
        f"median ratio to none {median(by_kind):.3f} by kind, {median(by_dependency):.3f} by dependency",
    )


def judge_pushes(runner: Runner, corpus: Corpus, claims: Claims) -> None:
    """Judge pushing, alone and with TCP+."""
    spdy = sweep().variants[SPDY]
    variants: dict[str, Settings] = {name: {**spdy, "push": push} for name, push in _PUSHES.items()}
    variants["TCP+ and dependencies"] = {**variants["dependencies"], "flows": FLOWS}
    plan = Plan(
        {"graph": page_corpus.on_one_host}, {"rtt": [20, 100, 200], "rate": [10], "loss": [0]}, variants
    )
    cells = load(runner, corpus, plan)
    ratios = {
        name: compared(cells, {"variant": name}, {"variant": "pushing nothing"})
        for name in variants
        if name != "pushing nothing"
    }
    by = {name: [median(each, pl.col("rtt") == rtt) for rtt in (20, 200)] for name, each in ratios.items()}
    said = ", ".join(f"{name} {near:.2f} and {far:.2f}" for name, (near, far) in by.items())
    said = f"ratio to pushing nothing at 20 and 200 ms: {said}"
    helps_more = [by[name][1] < by[name][0] for name in ("all", "embedded", "dependencies")]
    claims.finding("NS07", min(by["all"][1], by["embedded"][1]) < 1 and any(helps_more), said)
    claims.finding("NS74", all(helps_more), said)
    near, far = by["TCP+ and dependencies"]
    claims.number("NS77", 100 * (1 - far), "median over the pages, without loss", digits=0)
    claims.finding("NS78", (1 - near) < (1 - far) / 2, f"{100 * (1 - near):.0f} % at 20 ms")
    between = compared(cells, {"variant": "dependencies"}, {"variant": "embedded"})
    claims.finding("NS75", abs(1 - median(between)) < 0.1, f"median ratio to embedded {median(between):.2f}")
    slower = {name: 100 * float(np.mean(ratios[name]["ratio"].to_numpy() > 1)) for name in [*_PUSHES][1:]}
    said = ", ".join(f"{name} {share:.0f} %" for name, share in slower.items())
    claims.finding("NS76", max(slower.values()) > 0, f"of pages and networks, slower: {said}")
    pushed = {
        name: sum(
            one.pushed
            for one in look_inside(runner, corpus, page_corpus.on_one_host, variants[name], (200, 10, 0.0))
        )
        for name in ("embedded", "dependencies")
    }
    claims.number(
        "NS08",
        100 * (1 - pushed["dependencies"] / pushed["embedded"]),
        "how many objects others wait for is assumed in the pages made here",
        digits=0,
    )


def judge_hosts(runner: Runner, corpus: Corpus, claims: Claims) -> None:
    """Judge sharding and TLS."""
    forms = {
        "one": page_corpus.on_one_host,
        "registrable": page_corpus.by_registrable_domain,
        "full": lambda page: page,
    }
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    cells = load(runner, corpus, Plan(forms, {"rtt": [20], "rate": [10], "loss": [0, 0.5, 1, 2]}, plain))
    spdy = cells.filter(variant=SPDY)
    full, registrable = (compared(spdy, {"form": form}, {"form": "one"}) for form in ("full", "registrable"))
    claims.finding(
        "NS81",
        median(full, _LOSSLESS) > 1,
        f"median ratio to one connection {median(full, _LOSSLESS):.2f} without loss, "
        f"{median(full, pl.col('loss') == 2):.2f} with 2 %",
        "each host costs a handshake and begins with a first window, but several windows are together larger",
    )
    claims.finding(
        "NS82",
        abs(1 - median(registrable, _LOSSLESS)) < 0.1,
        f"median ratio {median(registrable, _LOSSLESS):.2f} without loss, "
        f"{median(registrable, pl.col('loss') == 2):.2f} with 2 %",
    )
    secured = {f"{name}, TLS": {**settings, "tls": "1.2"} for name, settings in plain.items()}
    plan = Plan({"graph": page_corpus.on_one_host}, _NETWORKS, {**plain, **secured})
    cells = load(runner, corpus, plan)
    bare = median(spdy_over_http(cells))
    tls = median(compared(cells, {"variant": f"{SPDY}, TLS"}, {"variant": f"{HTTP}, TLS"}))
    claims.finding(
        "NS83", abs(tls - bare) < _LITTLE * 2, f"median ratio {tls:.2f} with TLS 1.2, {bare:.2f} without"
    )


def judge_mobile(cells: pl.DataFrame, claims: Claims) -> None:
    """Judge what slow networks of phones change: gains and losses are larger there."""
    ratios = spdy_over_http(cells.filter(form="graph"))
    mobile = ratios.filter((pl.col("rtt") == 200) & (pl.col("rate") == 1))["ratio"]
    fixed = ratios.filter((pl.col("rtt") == 20) & (pl.col("rate") == 10))["ratio"]
    ends = [np.quantile(each.to_numpy(), [0.1, 0.9]) for each in (mobile, fixed)]
    claims.finding(
        "NS84",
        ends[0][0] < ends[1][0] and ends[0][1] > ends[1][1],
        f"tenths of the ratio {ends[0][0]:.2f} to {ends[0][1]:.2f} at 200 ms and 1 Mbit/s, "
        f"{ends[1][0]:.2f} to {ends[1][1]:.2f} at 20 ms and 10 Mbit/s",
        "at 1 Mbit/s most pages are bounded by the rate, whatever the protocol",
    )


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
