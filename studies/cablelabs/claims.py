"""What becomes of each claim of the study, and whether chance might turn a verdict.

A `Sample` is a figure with what the seeds might have made of it: first what came out, then what came of each
draw of the bootstrap. One seed has the same weight in all conditions of a draw (`analysis.gains`), so
differences, products and counts of samples are made element by element and keep what they share.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from loadstone import pages, stats
from loadstone.analysis.gain_tables import summary
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level
from loadstone.reproduce.claims import Claims, Judged

from . import slow_start
from .explanations import Counts
from .laboratory import BASE, BOTH, FOLDER, SPDY, WIN7, WINDOW, Laboratory
from .slow_start import Point

Sample: TypeAlias = NDArray[np.float64]

EVERYWHERE = pl.lit(value=True)
_PLACE = "_place"
_NONE = 1e-9
"""An interval is as wide through rounding where nothing is left to chance."""


def mean_gain(own: Gains, where: pl.Expr = EVERYWHERE) -> Sample:
    """Give the mean gain of the conditions that are meant."""
    return _of(own, where, lambda gains: gains.mean(axis=0))


def least_gain(own: Gains, where: pl.Expr = EVERYWHERE) -> Sample:
    """Give the least gain of the conditions that are meant."""
    return _of(own, where, lambda gains: gains.min(axis=0))


def count_at_least_1(own: Gains) -> Sample:
    """Give in how many conditions the gain is 1 or more."""
    return _of(own, EVERYWHERE, lambda gains: (gains >= 1).sum(axis=0).astype(np.float64))


def without_chance(value: float) -> Sample:
    """Give a figure in which chance has no part."""
    return np.array([value])


def _of(own: Gains, where: pl.Expr, what: Callable[[Sample], Sample]) -> Sample:
    """Make a figure of gains, of those that came out and of each draw of them.

    Chance makes ratios too large on average, those that came out and, once more, their draws. So of the
    draws it is taken how widely they spread, and not where.
    """
    frame = own.frame.with_row_index(_PLACE).filter(where)
    came = frame["gain"].to_numpy()[:, None]
    drawn = np.exp(own.draws[frame[_PLACE].to_numpy()].astype(np.float64))
    drawn = np.where(frame["is_random"].to_numpy()[:, None], drawn, came)
    value, draws = what(came), what(drawn)
    return np.concatenate([value, draws + (value - draws.mean())])


def judge_number(claims: Claims, id: str, sample: Sample, why: str = "", *, digits: int = 2) -> None:
    """Judge a number by its relation, unless chance might turn the verdict."""
    ours, spread = float(sample[0]), _spread(sample, 1, digits)
    if holds([np.array([claims.holds(id, float(each)) for each in sample])]) is None:
        open_why = f"chance might turn the verdict: {spread}"
        claims.not_testable(id, _joined(open_why, why), claims.in_unit(id, ours, digits))
    else:
        claims.number(id, ours, _joined(why, spread), digits=digits)


def judge_finding(claims: Claims, id: str, margins: Mapping[str, Sample], ours: str, why: str = "") -> None:
    """Judge a claim that holds if every margin is above 0, unless chance might turn the verdict.

    Margins are named by what they are of.
    """
    spreads = {name: _spread(margin, len(margins)) for name, margin in margins.items()}
    said = "; ".join(f"{name} {margins[name][0]:+.2f} ({each})" for name, each in spreads.items() if each)
    does = holds([margin > 0 for margin in margins.values()])
    if does is None:
        claims.not_testable(id, _joined(f"within chance: {said}", why), ours)
    else:
        claims.finding(id, does, ours, _joined(why, said))


def holds(parts: Sequence[NDArray[np.bool_]]) -> bool | None:
    """Say whether a claim holds, by the draws in which each of its parts does.

    `None` if chance might turn it. It holds if each part clearly does, and does not if one clearly does not.
    """
    tail = _tail(len(parts))
    least = min(float(part.mean()) for part in parts)
    if least >= 1 - tail:
        return True
    return False if least <= tail else None


def _tail(parts: int) -> float:
    """Give the share of draws beyond either end: the more parts, the likelier one is there by chance."""
    return (1 - stats.CONFIDENCE) / 2 / parts


def _spread(sample: Sample, parts: int, digits: int = 2) -> str:
    """Write between what ends it lies by chance, if chance has a part in it."""
    tail = _tail(parts)
    low, high = np.quantile(sample, [tail, 1 - tail])
    return f"{low:.{digits}f} to {high:.{digits}f} by chance" if high - low > _NONE else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


# --- verdicts ---

_BEST: dict[str, Level] = {"page": "A", "servers": 1, "down_mbps": 10, "rtt_ms": 100, "loss_pct": 0}
"""Where the study has its best gain."""
_MOST = 0.75
"""What is so in that share of the conditions is consistent."""
_MODEST = 1.25
"""A mean gain below it is modest."""
_HARDLY = 0.1
"""By so much the study's mean gains of the window differ at most, which it calls hardly."""


def judge(found: Laboratory, curve: list[Point], connections: Sequence[Counts]) -> list[Judged]:
    """Judge every claim."""
    claims = Claims(FOLDER)
    _setup(claims)
    slow_start.judge(claims, curve)
    _headlines(claims, found)
    _spdy(claims, found)
    _by_channel(claims, found)
    _only_page_c(claims, found)
    _connections(claims, connections)
    _window(claims, found)
    _together(claims, found)
    return claims.judged()


def _setup(claims: Claims) -> None:
    claims.same("CL06", "6 connections for each server")
    claims.not_testable("CL08", "it is what SPDY was meant for, not what came out")
    plain, small = _heads("A")
    claims.number(
        "CL10", 100 * (1 - small / plain), "heads of page A on one session, requests and responses", digits=1
    )
    claims.same("CL11", "profiles linux-2.6 (3 segments) and linux-3.7 (10); any other by --iw")
    claims.same("CL20", "studies/cablelabs/files.toml")
    claims.same("CL33", "72 conditions by 4 options")
    claims.same("CL34", "20 loads; where nothing is left to chance one says all")


def _heads(page: str) -> tuple[float, float]:
    """Give the bytes of a page's heads, as HTTP/1.1 writes them and as SPDY/2 compresses them."""
    summary = pages.read(f"synthetic:{page}").summary()
    plain = summary["request_header_bytes"] + summary["response_header_bytes"]
    return plain, sum(summary["compressed_header_bytes"]["spdy/2"].values())


def _headlines(claims: Claims, found: Laboratory) -> None:
    own = found.ours
    all_of_both = mean_gain(own.of(BOTH))
    judge_number(
        claims, "CL01", 100 * (1 - 1 / all_of_both), "of the mean gain, as the study reckons it", digits=1
    )
    judge_number(claims, "CL02", 100 * (1 - 1 / _mean(own, BOTH, **_BEST)), digits=1)
    at = _where(page="C", servers=1, loss_pct=1)
    judge_number(claims, "CL03", 1 / np.minimum(*(least_gain(own.of(each), at) for each in (SPDY, BOTH))))
    window = own.of(WINDOW)
    often, mean = count_at_least_1(window), mean_gain(window)
    conditions = len(window.frame)
    judge_finding(
        claims,
        "CL04",
        {
            "conditions above three quarters": often - _MOST * conditions,
            "mean above 1": mean - 1,
            f"below {_MODEST}": _MODEST - mean,
        },
        f"{often[0]:.0f} of {conditions} at 1 or more, mean {mean[0]:.2f}",
    )


def _where(**at: Level) -> pl.Expr:
    return pl.all_horizontal(pl.col(name) == level for name, level in at.items()) if at else EVERYWHERE


def _mean(own: Gains, option: str, **at: Level) -> Sample:
    return mean_gain(own.of(option), _where(**at))


def _spdy(claims: Claims, found: Laboratory) -> None:
    own = found.ours
    judge_number(claims, "CL35", _mean(own, SPDY))
    for id, page in (("CL36", "A"), ("CL37", "B"), ("CL38", "C")):
        judge_number(claims, id, _mean(own, SPDY, page=page))
    judge_number(claims, "CL39", _mean(own, SPDY, loss_pct=0))
    judge_number(claims, "CL40", _mean(own, SPDY, loss_pct=1), _on_credible_rows(found))
    good, bad = ([_mean(own, SPDY, page=page, servers=count) for count in (1, 2, 4)] for page in "AC")
    judge_finding(
        claims,
        "CL41",
        {
            "A, 1 less 2 servers": good[0] - good[1],
            "2 less 4": good[1] - good[2],
            "C, 2 less 1": bad[1] - bad[0],
            "4 less 2": bad[2] - bad[1],
        },
        "by servers "
        + ", ".join(f"{n}: A {a[0]:.2f}, C {c[0]:.2f}" for n, a, c in zip((1, 2, 4), good, bad, strict=True)),
    )


def _by_channel(claims: Claims, found: Laboratory) -> None:
    for id, loss, sign in (("CL42", 0, 1), ("CL43", 1, -1)):
        near, far = (_mean(found.ours, SPDY, loss_pct=loss, rtt_ms=rtt) for rtt in (20, 100))
        judge_finding(
            claims,
            id,
            {"the difference": sign * (far - near)},
            f"{near[0]:.2f} at 20 ms, {far[0]:.2f} at 100 ms",
        )
    low, high = (_mean(found.ours, SPDY, down_mbps=rate) for rate in (10, 20))
    judge_finding(
        claims,
        "CL45",
        {"the difference": low - high},
        f"{low[0]:.2f} at 10 Mbit/s, {high[0]:.2f} at 20 Mbit/s",
    )


def _on_credible_rows(found: Laboratory) -> str:
    pairs = [pair.gains(SPDY) for pair in found.sound(WIN7) if pair.condition.loss_pct]
    theirs, ours = (statistics.mean(each) for each in zip(*pairs, strict=True))
    return (
        f"over the rows with loss that are credible, those of one server: study {theirs:.2f}, ours {ours:.2f}"
    )


def _only_page_c(claims: Claims, found: Laboratory) -> None:
    own = found.ours.of(SPDY)
    worst = {page: least_gain(own, _where(page=page, loss_pct=0)) for page in "ABC"}
    judge_finding(
        claims,
        "CL44",
        {page: 1 - gain if page == "C" else gain - 1 for page, gain in worst.items()},
        "least gains " + ", ".join(f"{page} {gain[0]:.2f}" for page, gain in worst.items()),
    )


def _connections(claims: Claims, counts: Sequence[Counts]) -> None:
    said = "; ".join(
        f"{each.servers}: {each.at_a_time[0]} and {each.at_a_time[1]} ({each.in_all[0]} and {each.in_all[1]})"
        for each in counts
        if each.page == "A"
    )
    claims.number(
        "CL46",
        max(each.factor for each in counts),
        "the most of any page and number of servers, of those that are open at a time; HTTPS and SPDY for "
        f"page A by servers, in brackets all that are opened: {said}",
        digits=1,
    )


def _window(claims: Claims, found: Laboratory) -> None:
    own = found.ours
    judge_number(claims, "CL48", _mean(own, WINDOW))
    by_page = {page: _mean(own, WINDOW, page=page) for page in "ABC"}
    judge_finding(
        claims,
        "CL49",
        {f"C less {page}": by_page["C"] - by_page[page] for page in "AB"},
        ", ".join(f"{page} {gain[0]:.2f}" for page, gain in by_page.items()),
    )
    near, far = (_mean(own, WINDOW, rtt_ms=rtt) for rtt in (20, 100))
    slow, fast = (_mean(own, WINDOW, down_mbps=rate) for rate in (10, 20))
    clean, lossy = (_mean(own, WINDOW, loss_pct=loss) for loss in (0, 1))
    apart = {"round trip": far - near, "rate": fast - slow, "loss": lossy - clean}
    judge_finding(
        claims,
        "CL50",
        {name: _HARDLY - np.abs(difference) for name, difference in apart.items()},
        f"{near[0]:.2f} at 20 ms, {far[0]:.2f} at 100 ms; {slow[0]:.2f} at 10 Mbit/s, {fast[0]:.2f} at 20 "
        f"Mbit/s; {clean[0]:.2f} without loss, {lossy[0]:.2f} with it",
        f"judged by whether these differ by {_HARDLY} at most, as the study's do; what is left of that",
    )


def _together(claims: Claims, found: Laboratory) -> None:
    own = found.ours
    spdy, window, both = (_mean(own, option) for option in (SPDY, WINDOW, BOTH))
    judge_number(claims, "CL53", both)
    product = spdy * window
    judge_finding(
        claims, "CL54", {"the difference": both - product}, f"{both[0]:.2f} against {product[0]:.2f}"
    )
    best = summary(own.of(BOTH)).best
    elsewhere = "/".join(f"{level}" for level in best.condition.values())
    judge_number(
        claims,
        "CL55",
        _mean(own, BOTH, **_BEST),
        f"where the study has its best; ours is {best.gain:.2f}, at {elsewhere}",
    )
    judge_number(claims, "CL56", mean_gain(own.of(BOTH), (pl.col("page") != "C") & (pl.col("loss_pct") == 0)))
    counts = {option: _counts(found.runs, option) for option in (BASE, SPDY)}
    packets, size = (counts[SPDY][at] / counts[BASE][at] for at in range(2))
    judge_finding(
        claims,
        "CL58",
        {"packets": without_chance(1 - packets), "bytes": without_chance(1 - size)},
        f"{100 * packets:.0f} % of the packets, {100 * size:.0f} % of the bytes, without loss",
    )


def _counts(runs: pl.DataFrame, option: str) -> tuple[int, int]:
    """Give packets and bytes of all conditions without loss."""
    packets, size = pl.col("packets_down") + pl.col("packets_up"), pl.col("bytes_down") + pl.col("bytes_up")
    chosen = runs.filter((pl.col("option") == option) & (pl.col("loss_pct") == 0))
    return chosen.select(packets.sum(), size.sum().alias("size")).row(0)
