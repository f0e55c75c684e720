"""What becomes of section 2.1: multiplexing, priorities, compressed heads, pushes and hints."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from loadstone import pages
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.reproduce.study import Runner

from . import trials
from .laboratory import FOLDER, SPDY
from .trials import Document, Fields, by_way, end_of

_SITE = "https://site.test/"
_NOT_SLOWED = 1.25
"""What takes a quarter longer is slowed."""
_SIGNIFICANT = 0.05
"""A mean gain of less is not significant."""
_EXAMPLES = ("example:shop", "example:news")
"""Recorded pages that come with Loadstone."""


def judge(judge: Judge, runner: Runner) -> None:
    """Judge them."""
    judge.number(
        "CL10",
        _heads(runner),
        _compressed,
        "heads of page A, which are made up: 400 and 250 bytes, all alike",
        digits=0,
    )
    judge.finding("CL81", _pipelining(runner), _blocked)
    judge.finding("CL82", _announced(runner), _one_round_trip)
    judge.finding("CL83", _script(runner), _not_slowed)
    judge.finding("CL84", _pushes(runner), _no_gain)


# --- compressed heads ---


def _heads(runner: Runner) -> Evidence:
    """Give the bytes of a page's heads, as HTTP/1.1 writes them and as SPDY/2 compresses them."""
    recorded = {f"the heads of {name}": name for name in _EXAMPLES}
    if runner.pages is not None:
        recorded |= {f"the heads of {name}": name for name in pages.files_of(str(runner.pages))}

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        page = "synthetic:A" if assumption == AS_STATED else recorded[assumption]
        summary = pages.read(page).summary()
        plain = summary["request_header_bytes"] + summary["response_header_bytes"]
        small = sum(summary["compressed_header_bytes"]["spdy/2"].values())
        return pl.DataFrame({"heads": ["plain", "compressed"], "seed": [1, 1], "bytes": [plain, small]})

    return Evidence(run, ("bytes",), "heads", assumptions=tuple(recorded))


def _compressed(loads: pl.DataFrame) -> float:
    plain, small = loads["bytes"]
    return 100 * (1 - float(small) / float(plain))


# --- multiplexing ---


def _pipelining(runner: Runner) -> Evidence:
    """Ask for an object and then for images, on one connection: slow to make, or large."""
    multiplexed = {**trials.SPDY, "variant.multiplexing.policy": "round-robin"}
    pipelined = {"variant.protocol": "http/1.1+pipelining", "variant.connections": 1}

    def ways(**first: object) -> dict[str, tuple[Document, Fields]]:
        images = [{"url": f"{_SITE}{at}.jpg", "bytes": 5_000, "urgency": 3} for at in range(20)]
        slow = {"url": f"{_SITE}first.bin", "urgency": 3, **first}
        page = {"objects": [{"url": _SITE, "bytes": 2_000}, slow, *images]}
        return {"pipelined": (page, pipelined), "SPDY": (page, multiplexed)}

    return trials.evidence(
        runner,
        ways(bytes=5_000, think_ms=2_000),
        lambda outcome: end_of(".jpg")(outcome) / end_of("first.bin")(outcome),
        {"a large object first, not a slow one": ways(bytes=1_000_000)},
    )


def _blocked(loads: pl.DataFrame) -> list[Figure]:
    of = by_way(loads)
    least, most = of["pipelined"].min(), of["SPDY"].max()
    assert isinstance(least, float) and isinstance(most, float)
    return [
        above("images after the first object: pipelined, times its end", least, 1),
        below("SPDY", most, 1),
    ]


# --- pushes and hints ---


def _announced(runner: Runner) -> Evidence:
    """Push or hint at an object that stands in a style sheet, which the document names."""

    def ways(size: int, window: int = 10) -> dict[str, tuple[Document, Fields]]:
        root = {"url": _SITE, "bytes": size}
        found = {"url": f"{_SITE}late.png", "bytes": 1_000, "needs": [{"node": f"{_SITE}a.css"}]}
        page = {"objects": [root, {"url": f"{_SITE}a.css", "bytes": 1_000}, found]}
        hint = {"variant.foresight.hint": "all", "variant.foresight.hint_by": "subresource"}
        spdy = {**trials.SPDY, "variant.tcp.iw": window}
        return {
            "pushed": (page, {**spdy, "variant.foresight.push": "all"}),
            "hinted": (page, {**spdy, **hint}),
        }

    otherwise = {"a window of three": ways(1_000, 3), "a document of 30 KB": ways(30_000)}
    return trials.evidence(runner, ways(1_000), end_of("late.png"), otherwise)


def _one_round_trip(loads: pl.DataFrame) -> list[Figure]:
    trips = by_way(loads).select((pl.col("hinted") - pl.col("pushed")) / pl.col("rtt_ms")).to_series()
    least, most = trips.min(), trips.max()
    assert isinstance(least, float) and isinstance(most, float)
    return [
        Figure("a hint takes longer than a push, least", least, 0.75, 1.25, 2, "RTT"),
        Figure("most", most, 0.75, 1.25, 2, "RTT"),
    ]


def _pushes(runner: Runner) -> Evidence:
    """Push, and hint at, all of each page from one server, over the study's channels without loss."""
    matrix = runner.matrix(FOLDER / "matrix.toml")
    own = matrix.variants[SPDY]
    variants = {
        "neither": own,
        "pushes": {**own, "push": "all"},
        "hints": {**own, "hint": "all", "hint_by": "subresource"},
    }
    stated = replace(
        matrix, variants=variants, analysis={}, factors={**matrix.factors, "servers": [1], "loss": [0]}
    )

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        of_pages = stated
        if assumption != AS_STATED:
            recorded = {"page": _EXAMPLES}
            factors = {name: levels for name, levels in stated.factors.items() if name != "servers"}
            of_pages = replace(stated, factors={**factors, **recorded})
        runs = runner.runs(replace(of_pages, runs=1))
        return runs.select("page", "link", "rtt", "variant", "seed", "plt_ms")

    return Evidence(run, assumptions=("recorded pages from their own servers",))


def _no_gain(loads: pl.DataFrame) -> list[Figure]:
    of = loads.pivot("variant", index=["page", "link", "rtt"], values="plt_ms")
    figures = []
    for name in ("pushes", "hints"):
        gain = (of["neither"] / of[name]).mean()
        assert isinstance(gain, float)
        figures.append(below(f"mean gain of {name}", gain, 1 + _SIGNIFICANT))
    return figures


# --- priorities ---


def _script(runner: Runner) -> Evidence:
    """Load a script alone, behind images that are as urgent, and behind images that are less urgent."""

    def ways(later: Sequence[object]) -> dict[str, tuple[Document, Fields]]:
        def page(images: int, urgency: int) -> Document:
            pictures = [{"url": f"{_SITE}{at}.jpg", "bytes": 20_000, "urgency": 5} for at in range(images)]
            script = {"url": f"{_SITE}lib.js", "bytes": 94_500, "urgency": urgency, "needs": later}
            return {"objects": [{"url": _SITE, "bytes": 12_800}, *pictures, script]}

        first_come = {**trials.SPDY, "variant.multiplexing.policy": "round-robin"}
        by_priority = {**trials.SPDY, "variant.multiplexing.policy": "priority"}
        return {
            "alone": (page(0, 5), first_come),
            "without priority": (page(50, 5), first_come),
            "with priority": (page(50, 1), by_priority),
        }

    end = [{"node": _SITE}]
    return trials.evidence(
        runner,
        ways(end),
        end_of("lib.js"),
        {"a script that is found 0.1 s later": ways([{"node": _SITE, "ms": 100}])},
    )


def _not_slowed(loads: pl.DataFrame) -> list[Figure]:
    of = by_way(loads)
    least, most = (of["without priority"] / of["alone"]).min(), (of["with priority"] / of["alone"]).max()
    assert isinstance(least, float) and isinstance(most, float)
    return [
        above("the script beside images, times alone: without priority", least, _NOT_SLOWED),
        below("with it", most, _NOT_SLOWED),
    ]
