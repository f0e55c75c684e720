"""Sections 5.3 and 5.4: priorities, pushes, and both with TCP+."""

import numpy as np
import polars as pl

from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Settings

from . import page_corpus
from .independent_objects import FAST, LOSSLESS
from .laboratory import FASTER, FLOWS, LITTLE, SLOWER, SPDY, Plan, compared, median, sweep
from .otherwise import PageLoads, inside
from .whole_pages import SOME

_KINDS = ("none", "kind", "dependency")
_GRAPH = {"graph": page_corpus.on_one_host}
NOTHING = "nothing"
PUSHES = ("embedded", "dependencies", "all")
_PLUS = "TCP+ and dependencies"
_KNOWN = "known at once, "


def judge(runner: Runner, pages: int, judge: Judge) -> None:
    """Judge them."""
    judge.set_up("NS71", f"{page_corpus.LEVELS}")
    _priorities(runner, pages, judge)
    _pushes(runner, pages, judge)


def _priorities(runner: Runner, pages: int, judge: Judge) -> None:
    forms = {
        "none": page_corpus.without_priorities,
        "kind": page_corpus.prioritised_by_kind,
        "dependency": page_corpus.prioritised_by_dependency,
    }
    known = {
        f"{_KNOWN}{name}": lambda page, change=change: page_corpus.known_at_once(change(page))
        for name, change in forms.items()
        if name != "kind"
    }
    alone = {SPDY: {**sweep().variants[SPDY], "policy": "priority"}}
    # Figure 17: no loss, 10 Mbit/s.
    plan = Plan({**forms, **known}, {"rtt": [20, 200], "rate": [10], "loss": [0]}, alone)
    loads = PageLoads(runner, pages, plan)
    stated = loads.evidence(pl.col("form").is_in(_KINDS), compared="form")
    judge.finding("NS72", stated, _by_kind)
    judge.finding("NS73", stated, _by_dependency)
    judge.finding("NS06", stated, _both_little)
    without_kind = loads.evidence(pl.col("form") != "kind", compared="form")
    judge.finding("NS92", without_kind, _less_with_dependencies)


def _prioritised(loads: pl.DataFrame, form: str, *where: pl.Expr, than: str = "none") -> float:
    return median(compared(loads, {"form": form}, {"form": than}), *where)


def _by_kind(loads: pl.DataFrame) -> list[Figure]:
    return [_within("median ratio to none", _prioritised(loads, "kind"))]


def _within(name: str, ratio: float) -> Figure:
    return Figure(name, ratio, 1 - LITTLE, 1 + LITTLE, 3)


def _by_dependency(loads: pl.DataFrame) -> list[Figure]:
    near = _prioritised(loads, "dependency", pl.col("rtt") == 20)
    return [Figure("median ratio to none at 20 ms", near, 1 - LITTLE, 1, 3)]


def _both_little(loads: pl.DataFrame) -> list[Figure]:
    return [_within(f"median ratio to none by {form}", _prioritised(loads, form)) for form in _KINDS[1:]]


def _less_with_dependencies(loads: pl.DataFrame) -> list[Figure]:
    known = _prioritised(loads, f"{_KNOWN}dependency", than=f"{_KNOWN}none")
    graph = _prioritised(loads, "dependency")
    return [
        below("median ratio to none where all is known at once, less where not", known - graph, 0, 3),
        Figure("where not", graph, digits=3),
    ]


def _pushes(runner: Runner, pages: int, judge: Judge) -> None:
    variants = push_variants((NOTHING, *PUSHES))
    variants[_PLUS] = {**variants["dependencies"], "flows": FLOWS}
    plan = Plan(_GRAPH, {"rtt": [20, 100, 200], "rate": [10], "loss": [0]}, variants)
    loads = PageLoads(runner, pages, plan)
    pushing = loads.evidence(pl.col("variant") != _PLUS)
    judge.finding("NS07", pushing, _helps)
    judge.finding("NS74", pushing, _helps_more_far)
    judge.finding("NS75", pushing, _alike)
    judge.finding("NS76", pushing, _not_always)
    plus = loads.evidence(pl.col("variant").is_in([NOTHING, _PLUS]))
    judge.number("NS77", plus, lambda found: 100 * (1 - _over(found, _PLUS, 200)), digits=0)
    judge.finding("NS78", plus, _gone_near)
    both = {name: dict(variants[name]) for name in PUSHES[:2]}
    judge.number(
        "NS08", inside(runner, pages, _GRAPH, both, (200, 10, 0.0))(("pushed",)), _fewer_bytes, digits=0
    )


def push_variants(pushes: tuple[str, ...]) -> dict[str, Settings]:
    """Give SPDY with each way of pushing."""
    return {push: {**sweep().variants[SPDY], "push": push} for push in pushes}


def _over(loads: pl.DataFrame, variant: str, *rtts: int) -> float:
    """Give the median ratio to pushing nothing."""
    where = [pl.col("rtt").is_in(rtts)] if rtts else []
    return median(compared(loads, {"variant": variant}, {"variant": NOTHING}), *where)


def _helps(loads: pl.DataFrame) -> list[Figure]:
    ratios = [
        below(f"{name}: median ratio at 200 ms", _over(loads, name, 200), 1) for name in ("all", "embedded")
    ]
    return [*ratios, *_farther(loads, ("all", "embedded"))]


def _helps_more_far(loads: pl.DataFrame) -> list[Figure]:
    return _farther(loads, PUSHES)


def _farther(loads: pl.DataFrame, pushes: tuple[str, ...]) -> list[Figure]:
    return [
        above(f"{name}: ratio at 20 less at 200 ms", _over(loads, name, 20) - _over(loads, name, 200), 0, 3)
        for name in pushes
    ]


def _alike(loads: pl.DataFrame) -> list[Figure]:
    between = median(compared(loads, {"variant": "dependencies"}, {"variant": "embedded"}))
    return [
        *(below(f"{name}: median ratio", _over(loads, name), 1, 3) for name in PUSHES[:2]),
        Figure("between them", between, FASTER, SLOWER),
    ]


def _not_always(loads: pl.DataFrame) -> list[Figure]:
    found = {name: compared(loads, {"variant": name}, {"variant": NOTHING}) for name in PUSHES}
    slower = {name: 100 * float(np.mean(each["ratio"].to_numpy() > 1)) for name, each in found.items()}
    return [Figure(f"{name} is slower for", share, *SOME, 0, "%") for name, share in slower.items()]


def _gone_near(loads: pl.DataFrame) -> list[Figure]:
    near, far = (100 * (1 - _over(loads, _PLUS, rtt)) for rtt in (20, 200))
    return [
        above("gain at 200 ms", far, 0, 0, "%"),
        above("half of it less that at 20 ms", far / 2 - near, 0, 0, "%"),
    ]


def _fewer_bytes(loads: pl.DataFrame) -> float:
    by = dict(loads.group_by("variant").agg(pl.col("pushed").sum()).iter_rows())
    return 100 * (1 - float(by["dependencies"]) / float(by["embedded"]))


# --- on phones ---

_WAYS = {
    "none push nothing": "SPDY",
    "dependency push nothing": "priorities",
    "none push dependencies": "pushing",
}


def on_phones(runner: Runner, pages: int) -> Evidence:
    """Give loads by both policies over a phone's network and over a good one, by `way`."""
    forms = {"none": page_corpus.without_priorities, "dependency": page_corpus.prioritised_by_dependency}
    variants = {
        f"push {push}": {**settings, "policy": "priority"}
        for push, settings in push_variants((NOTHING, "dependencies")).items()
    }
    plan = Plan(forms, {"rtt": [20, 200], "rate": [1, 10], "loss": [0, 2]}, variants)
    loads = PageLoads(runner, pages, plan)
    phone = (pl.col("rtt") == 200) & ~FAST & ~LOSSLESS
    near, far = (phone | ((pl.col("rtt") == rtt) & FAST & LOSSLESS) for rtt in (20, 200))
    evidence = loads.evidence(near, otherwise={"beside 200 ms and 10 Mbit/s": (far,)})

    def run(count: int, assumption: str) -> pl.DataFrame:
        found = evidence.run(count, assumption)
        ways = (pl.col("form") + " " + pl.col("variant")).replace_strict(_WAYS, default=None)
        return found.with_columns(way=ways).drop_nulls("way").drop("form", "variant")

    return Evidence(
        run, compared="way", seeds=evidence.seeds, most=evidence.most, assumptions=evidence.assumptions
    )


def less_on_phones(loads: pl.DataFrame) -> list[Figure]:
    """Hold what both save on a phone against what they save elsewhere."""
    is_phone = pl.col("rate") == 1
    figures = []
    for way in ("priorities", "pushing"):
        found = compared(loads, {"way": way}, {"way": "SPDY"})
        phone, elsewhere = (median(found, where) for where in (is_phone, ~is_phone))
        figures.append(above(f"{way} save elsewhere, of the time,", 1 - elsewhere, 0, 3))
        figures.append(below("on phones less that", elsewhere - phone, 0, 3))
    return figures
