"""Section 6 and what sections 2 and 4 say in passing: hosts, TLS, phones, frames, connections, servers."""

import numpy as np
import polars as pl

from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.reproduce.study import Runner

from . import advancing, page_corpus
from .independent_objects import FAST, LOSSLESS
from .laboratory import FASTER, HTTP, LITTLE, SLOWER, SPDY, Plan, compared, median, spdy_over_http, sweep
from .otherwise import PageLoads, inside
from .page_corpus import Change
from .whole_pages import NETWORKS

_FRAMES = {"256 B": 256, "4 KB": 4096, "16 KB": 16_384}
_THINKING_MS = 100


def judge(runner: Runner, pages: int, whole: PageLoads, judge: Judge) -> None:
    """Judge them; `whole` are the loads of whole pages."""
    _hosts(runner, pages, judge)
    _phones(runner, pages, whole, judge)
    _frames(runner, pages, judge)
    graph = (pl.col("form") == "graph", LOSSLESS)
    judge.finding("NS91", whole.evidence(*graph, measures=("handshakes_ms",)), _handshakes)
    judge.finding("NS89", _thinking(runner, pages), _less_with_thinking)


def _hosts(runner: Runner, pages: int, judge: Judge) -> None:
    forms: dict[str, Change] = {
        "one": page_corpus.on_one_host,
        "registrable": page_corpus.by_registrable_domain,
        "full": lambda page: page,
    }
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    plan = Plan(forms, {"rtt": [20], "rate": [10], "loss": [0, 2]}, {SPDY: plain[SPDY]})
    hosts = PageLoads(runner, pages, plan)
    # Of loss at figure 20 the study says nothing.
    loads = hosts.evidence(LOSSLESS, compared="form", otherwise={"2 % loss": (~LOSSLESS,)})
    judge.finding(
        "NS81", loads, _hosts_hurt, "each host costs a handshake, but several windows are larger than one"
    )
    judge.finding("NS82", loads, _domains_alike)
    secured = {f"{name}, TLS": {**settings, "tls": "1.2"} for name, settings in plain.items()}
    plan = Plan({"graph": page_corpus.on_one_host}, NETWORKS, {**plain, **secured})
    judge.finding("NS83", PageLoads(runner, pages, plan).evidence(), _tls)


def _hosts_hurt(loads: pl.DataFrame) -> list[Figure]:
    return [
        above("median ratio to one connection", median(compared(loads, {"form": "full"}, {"form": "one"})), 1)
    ]


def _domains_alike(loads: pl.DataFrame) -> list[Figure]:
    full, registrable = (
        median(compared(loads, {"form": form}, {"form": "one"})) for form in ("full", "registrable")
    )
    return [
        Figure("median ratio to one connection", registrable, FASTER, SLOWER),
        above("that of all hosts less this", full - registrable, 0),
    ]


def _tls(loads: pl.DataFrame) -> list[Figure]:
    secured = median(compared(loads, {"variant": f"{SPDY}, TLS"}, {"variant": f"{HTTP}, TLS"}))
    bare = median(spdy_over_http(loads))
    return [
        Figure("median ratio with TLS less without", secured - bare, -LITTLE, LITTLE),
        Figure("without", bare),
    ]


def _phones(runner: Runner, pages: int, whole: PageLoads, judge: Judge) -> None:
    graph = pl.col("form") == "graph"
    phone, other = (pl.col("rtt") == 200) & ~FAST, (pl.col("rtt") == 20) & FAST
    stated = graph & ((phone & ~LOSSLESS) | (other & LOSSLESS))
    alike = {"as much loss elsewhere": (graph & ~LOSSLESS & (phone | other),)}
    judge.finding("NS84", whole.evidence(stated, otherwise=alike), _wider)
    judge.finding("NS93", advancing.on_phones(runner, pages), advancing.less_on_phones)


def _wider(loads: pl.DataFrame) -> list[Figure]:
    found = spdy_over_http(loads)
    phone, other = (
        np.quantile(found.filter(where)["ratio"].to_numpy(), [0.1, 0.9])
        for where in (pl.col("rate") == 1, pl.col("rate") == 10)
    )
    return [
        below("ratio of the best tenth on phones less elsewhere", phone[0] - other[0], 0),
        above("of the worst tenth", phone[1] - other[1], 0),
    ]


# --- frames, connections, servers ---


def _frames(runner: Runner, pages: int, judge: Judge) -> None:
    """Judge frames, by a server whose responses take turns: where they do not, nothing is multiplexed."""
    spdy = {**sweep().variants[SPDY], "policy": "round-robin"}
    variants = {name: {**spdy, "frame_bytes": size} for name, size in _FRAMES.items()}
    loads = inside(runner, pages, {"set": page_corpus.objects_alone}, variants, (100, 1, 0.0))
    judge.finding("NS86", _known(loads(("small_ms",))), _held_back)
    judge.finding("NS87", loads(("bytes_down",)), _more_bytes)


def _known(evidence: Evidence) -> Evidence:
    """Leave out pages without small or without large objects."""

    def run(pages: int, assumption: str) -> pl.DataFrame:
        return evidence.run(pages, assumption).drop_nans()

    return Evidence(
        run,
        evidence.measures,
        seeds=evidence.seeds,
        most=evidence.most,
        assumptions=evidence.assumptions,
    )


def _framed(loads: pl.DataFrame, measure: str, frames: str) -> float:
    own = loads.rename({measure: "plt_ms"})
    return median(compared(own, {"variant": frames}, {"variant": "4 KB"}))


def _held_back(loads: pl.DataFrame) -> list[Figure]:
    return [
        above(
            "objects below 4 KB come, with frames of 16 KB, times as late",
            _framed(loads, "small_ms", "16 KB"),
            1,
        )
    ]


def _more_bytes(loads: pl.DataFrame) -> list[Figure]:
    return [
        above("bytes with frames of 256 B over those with 4 KB", _framed(loads, "bytes_down", "256 B"), 1, 3)
    ]


def _handshakes(loads: pl.DataFrame) -> list[Figure]:
    by = dict(loads.group_by("variant").agg(pl.col("handshakes_ms").mean()).iter_rows())
    return [
        below("handshakes hold up a load, times as long as with HTTP,", by[SPDY] / by[HTTP], FASTER),
        Figure("which is", by[HTTP], digits=0, unit="ms"),
    ]


def _thinking(runner: Runner, pages: int) -> Evidence:
    """Give loads with servers that think about each object, or about the page alone."""
    forms = {
        "none": page_corpus.on_one_host,
        "each": page_corpus.with_thinking(_THINKING_MS),
        "first": page_corpus.with_thinking(_THINKING_MS, of_all=False),
    }
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    plan = Plan(forms, {"rtt": [20, 200], "rate": [10], "loss": [0]}, plain)
    form = pl.col("form")
    alone = {"the server thinks about the page alone": (form != "each",)}
    return PageLoads(runner, pages, plan).evidence(form != "first", otherwise=alone)


def _less_with_thinking(loads: pl.DataFrame) -> list[Figure]:
    found = spdy_over_http(loads)
    none, thinking = (median(found, where) for where in (pl.col("form") == "none", pl.col("form") != "none"))
    return [
        below("median ratio", none, 1, 3),
        above("with 100 ms of thinking, less this", thinking - none, 0, 3),
    ]
