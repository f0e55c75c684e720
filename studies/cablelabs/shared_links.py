"""What becomes of sections 1, 3.1 and 6: connections that share a link, windows and queues, other uses."""

import itertools
import json
import math

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Outcome, Scenario
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Figure, Judge, above
from loadstone.reproduce.study import Runner

from . import trials
from .trials import Document, Fields, by_way

_SITE = "https://site.test/"
_NONE = 0.05
"""A gain of less is not tangible."""
_MOST = 75
"""Of a hundred: the vast majority."""
_FEW_SEGMENTS = 16 * 1448
"""Bytes that a connection has sent before its window can have 16 segments, the least that HyStart ends at."""
_PAGES = ("A", "B", "C")
_RATES = (1, 2, 4, 8, 16)
_MANY, _ONE = 20, 1
"""Connections beside one."""


def judge(judge: Judge, runner: Runner) -> None:
    """Judge them."""
    judge.finding("CL85", _beside(runner), _drowned, "fair shares would make it 10.5")
    judge.finding("CL86", _slow_start(runner), _never_left, "neither a segment sent again nor 16 segments")
    judge.finding("CL87", _rates(runner), _diminishing, "page B, connections kept alive")
    judge.finding("CL88", _bursts(runner), _losses)
    judge.finding("CL92", _video(runner), _no_gain)


# --- twenty connections and one ---


def _beside(runner: Runner) -> Evidence:
    """Load 1 MB over one connection, beside a page from one host and from twenty, which goes on longer."""
    changes: dict[str, Fields] = {
        AS_STATED: {},
        "a queue of 50 packets": {"queue": "50p"},
        "Linux 6": {"variant.tcp.profile": "linux-6", "variant.client_tcp.profile": "linux-6"},
    }

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        rows = []
        for link, rtt in trials.CHANNELS:
            for count in (_ONE, _MANY):
                fields = {"network": f"{link},{rtt}ms,queue=150p", **changes[assumption]}
                if queue := fields.pop("queue", None):
                    fields["network"] = f"{link},{rtt}ms,queue={queue}"
                rows.append((link, rtt, count, _shared(count, fields)))
        outcomes = runner.outcomes([(scenario, 1) for *_, scenario in rows])
        return pl.DataFrame(
            [
                {"link": link, "rtt_ms": rtt, "beside": count, "seed": 1, "plt_ms": outcome.plt_ms}
                for (link, rtt, count, _), outcome in zip(rows, outcomes, strict=True)
            ]
        )

    return Evidence(run, compared="beside", assumptions=tuple(changes)[1:])


def _shared(count: int, fields: Fields) -> Scenario:
    """Make a scenario of two browsers behind one link, of which the second has so many connections."""
    one: Document = {"objects": [{"url": "https://one.test/", "bytes": 1_000_000}]}
    many: Document = {
        "objects": [
            {"url": f"https://h{at}.many.test/", "bytes": 60_000_000 // count, "needs": []}
            for at in range(count)
        ]
    }
    hosts = [
        {"name": "one", "runs": "browser"},
        {"name": "many", "runs": "browser", "page": many},
        {"name": "home", "runs": "junction"},
        {"name": "servers", "runs": "origins"},
    ]
    local = "1000mbit,0ms"
    links = [
        {"name": "first", "between": ["one", "home"], "network": local},
        {"name": "second", "between": ["many", "home"], "network": local},
        {"name": "access", "between": ["home", "servers"]},
    ]
    own = {**trials.SYSTEMS, **fields, "topology": {"hosts": hosts, "links": links}}
    return experiment.scenario(pages.of_document(one), experiment.nested(own))


def _drowned(loads: pl.DataFrame) -> list[Figure]:
    of = loads.pivot("beside", index=["link", "rtt_ms"], values="plt_ms")
    times = of[f"{_MANY}"] / of[f"{_ONE}"]
    least, mean = times.min(), times.mean()
    assert isinstance(least, float) and isinstance(mean, float)
    return [above("1 MB beside twenty, times beside one: least", least, 2, 1), Figure("mean", mean, digits=1)]


# --- slow start, rates, windows ---


def _page(name: str) -> Document:
    document: Document = json.loads(pages.read(f"synthetic:{name}").json)
    return document


def _slow_start(runner: Runner) -> Evidence:
    """Load the study's pages over connections that carry one response, and over ones that are kept."""
    closed: Fields = {"variant.requests_per_connection": 1}

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        rows = [
            (name, link, rtt, way, {"network": f"{link},{rtt}ms,queue=150p", **fields})
            for name in _PAGES
            for link, rtt in trials.CHANNELS
            for way, fields in (("closed", closed), ("kept", {}))
        ]
        outcomes = trials.load(runner, [(_page(name), fields) for name, *_, fields in rows])
        return pl.DataFrame(
            [
                {"page": name, "link": link, "rtt_ms": rtt, "way": way, "seed": 1, "share": _young(outcome)}
                for (name, link, rtt, way, _), outcome in zip(rows, outcomes, strict=True)
            ]
        )

    return Evidence(run, ("share",), "way")


def _young(outcome: Outcome) -> float:
    """Give of how many of a hundred connections it is certain that they never left slow start."""
    table = outcome.connection_table()
    both = [*zip(table["content_down"], table["retransmissions"], strict=True)]
    return 100 * sum(content <= _FEW_SEGMENTS and not again for content, again in both) / len(both)


def _never_left(loads: pl.DataFrame) -> list[Figure]:
    closed, kept = (
        loads.filter((pl.col("way") == way) & (pl.col("page") != "C"))["share"].mean()
        for way in ("closed", "kept")
    )
    assert isinstance(closed, float) and isinstance(kept, float)
    return [
        above("never left it, pages A and B: of connections with one response", closed, _MOST, 0, "%"),
        Figure("of those that are kept", kept, -math.inf, closed, 0, "%"),
    ]


def _rates(runner: Runner) -> Evidence:
    """Load page B over HTTP at rates that double."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        rtt = 60 if assumption == AS_STATED else int(assumption.split()[-2])
        page = _page("B")
        ways = [
            (page, {"network": f"{rate}mbit,{rtt}ms,queue=150p", "variant.tls": "none"}) for rate in _RATES
        ]
        mbps = [outcome.bytes_down * 8e-3 / outcome.plt_ms for outcome in trials.load(runner, ways)]
        return pl.DataFrame({"rate": _RATES, "seed": [1] * len(_RATES), "mbps": mbps})

    return Evidence(run, ("mbps",), "rate", assumptions=("a round trip of 20 ms", "a round trip of 100 ms"))


def _diminishing(loads: pl.DataFrame) -> list[Figure]:
    mbps = loads.sort("rate")["mbps"].to_list()
    steps = [after / before for before, after in itertools.pairwise(mbps)]
    # Each doubling brings less than the one before.
    falls = min(before - after for before, after in itertools.pairwise(steps))
    return [
        above("each doubling of the rate brings less than the one before, by", falls, 0),
        above("effective bandwidth grows by, first", steps[0], 1),
        Figure("last", steps[-1], digits=2),
    ]


def _bursts(runner: Runner) -> Evidence:
    """Send a file of 300 KB with windows below and above the 17 segments of 10 Mbit/s and 20 ms."""
    page: Document = {"objects": [{"url": _SITE, "bytes": 300_000}]}

    def ways(queue: str) -> dict[str, tuple[Document, Fields]]:
        network = f"10/1mbit,20ms,queue={queue}"
        return {
            f"{window}": (page, {"variant.tcp.iw": window, "network": network}) for window in (3, 10, 100)
        }

    return trials.evidence(
        runner,
        ways("50p"),
        lambda outcome: outcome.retransmissions,
        {"a queue of 10 packets": ways("10p"), "a queue of 150 packets": ways("150p")},
        trials.CHANNELS[:1],
    )


def _losses(loads: pl.DataFrame) -> list[Figure]:
    low, ten, high = (float(by_way(loads)[name][0]) for name in ("3", "10", "100"))
    return [
        above("segments sent again with 100, more than with 10 by", high - ten, 0, 0),
        Figure("with 10", ten, -1, low + 1, 0),
    ]


# --- video ---


def _video(runner: Runner) -> Evidence:
    """Fetch ten fragments, each after the one before, over one kept connection and over SPDY."""

    def ways(size: int, window: int = 3) -> dict[str, tuple[Document, Fields]]:
        named = [f"{_SITE}{at}.ts" for at in range(10)]
        first = {"url": named[0], "bytes": size, "kind": "media"}
        later = [
            {"url": url, "bytes": size, "kind": "media", "needs": [{"node": before}]}
            for before, url in itertools.pairwise(named)
        ]
        page = {"objects": [first, *later]}
        own = {"variant.tcp.iw": window}
        return {"HTTP": (page, own), "SPDY": (page, {**trials.SPDY, **own})}

    otherwise = {"fragments of 250 KB": ways(250_000), "a window of ten": ways(1_000_000, 10)}
    return trials.evidence(runner, ways(1_000_000), lambda outcome: outcome.plt_ms, otherwise)


def _no_gain(loads: pl.DataFrame) -> list[Figure]:
    gains = by_way(loads).select(pl.col("HTTP") / pl.col("SPDY")).to_series()
    least, most = gains.min(), gains.max()
    assert isinstance(least, float) and isinstance(most, float)
    return [
        Figure(name, gain, 1 - _NONE, 1 + _NONE) for name, gain in (("least gain", least), ("most", most))
    ]
