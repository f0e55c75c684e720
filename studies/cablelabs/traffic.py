"""What becomes of section 6: packets, bytes and connections, if SPDY were widely adopted."""

from dataclasses import replace

import polars as pl

from loadstone._native import Outcome
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.stores.plan import Plan

from . import gain_figures
from .assumptions import KEPT_ALIVE, without
from .laboratory import BASE, BOTH, SPDY
from .loads import Loads, Only

_KEPT = "HTTPS connections that are kept alive"


def judge(judge: Judge, loads: Loads) -> None:
    """Judge them."""
    traffic = _traffic(loads)
    why = "here HTTPS opens a connection, with TLS's handshake, for each object: 102 of page A"
    judge.finding("CL58", traffic, _fewer, why)
    judge.set_up("CL89", "1 instead of 6 at a time and server: what the browser may open")
    judge.finding("CL90", traffic, _longer, why)
    judge.finding("CL91", traffic, _larger, why)
    near: Only = {"page": ["synthetic:A"], "servers": [1], "rtt": [20], "loss": [0]}
    judge.finding(
        "CL93",
        loads.evidence(BOTH, only=near),
        lambda runs: [
            above("least gain, page A from one server at 20 ms", gain_figures.least(BOTH)(runs), 1)
        ],
    )


def _traffic(loads: Loads) -> Evidence:
    """Count packets, bytes and how long connections last, in all conditions without loss."""
    matrix = loads.matrix
    options = {option: matrix.variants[option] for option in (BASE, SPDY)}
    clean = replace(matrix, factors={**matrix.factors, "loss": [0]}, variants=options)

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        plan = Plan.of(clean if assumption == AS_STATED else without(clean, {}, KEPT_ALIVE))
        jobs = [(cell.scenario(plan.pages[cell.page].content), clean.seed) for cell in plan.cells]
        return pl.DataFrame(
            [
                {**cell.levels, "seed": 1, **_counts(outcome)}
                for cell, outcome in zip(plan.cells, loads.runner.outcomes(jobs), strict=True)
            ]
        )

    return Evidence(run, ("packets", "bytes", "lasts_ms"), assumptions=(_KEPT,))


def _counts(outcome: Outcome) -> dict[str, float]:
    return {
        "packets": float(outcome.packets_down + outcome.packets_up),
        "bytes": float(outcome.bytes_down + outcome.bytes_up),
        "lasts_ms": _lasts(outcome),
    }


def _lasts(outcome: Outcome) -> float:
    """Give how long connections last on average: from the SYN to the last byte of a response."""
    table, seen = outcome.connection_table(), outcome.waterfall()
    ends: dict[int, float] = {}
    for at, last in zip(seen["connection"], seen["last_byte_ms"], strict=True):
        if at is not None and last is not None:
            ends[at] = max(ends.get(at, 0.0), last)
    return sum(end - table["opened_ms"][at] for at, end in ends.items()) / len(ends)


def _ratio(runs: pl.DataFrame, what: pl.Expr) -> float:
    """Give the mean of what SPDY has over the conditions, as a share of what HTTPS has."""
    of = runs.with_columns(figure=what).pivot(
        "variant", index=["page", "servers", "link", "rtt"], values="figure"
    )
    share = (of[SPDY] / of[BASE]).log().mean()
    assert isinstance(share, float)
    return float(pl.select(pl.lit(share).exp()).item())


def _fewer(runs: pl.DataFrame) -> list[Figure]:
    return [
        below("packets, times HTTPS's", _ratio(runs, pl.col("packets")), 1),
        below("bytes", _ratio(runs, pl.col("bytes")), 1),
    ]


def _longer(runs: pl.DataFrame) -> list[Figure]:
    return [above("a connection lasts, times HTTPS's", _ratio(runs, pl.col("lasts_ms")), 1)]


def _larger(runs: pl.DataFrame) -> list[Figure]:
    return [above("bytes of a packet, times HTTPS's", _ratio(runs, pl.col("bytes") / pl.col("packets")), 1)]
