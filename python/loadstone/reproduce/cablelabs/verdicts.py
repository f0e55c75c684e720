"""What becomes of each claim of the study."""

import statistics

import polars as pl

from loadstone import pages
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level
from loadstone.analysis.summary import summary
from loadstone.reproduce.cablelabs import slow_start
from loadstone.reproduce.cablelabs.laboratory import BASE, BOTH, SPDY, STUDY, WIN7, WINDOW, Laboratory
from loadstone.reproduce.cablelabs.slow_start import Point
from loadstone.reproduce.cablelabs.tables import mean_gain
from loadstone.reproduce.claims import Claims, Judged

_IMAGE = 302_000
"""Bytes of an image of page C, on average."""
_MSS = 1448

At = dict[str, Level]


def judge(found: Laboratory, curve: list[Point]) -> list[Judged]:
    """Judge every claim that a laboratory can test."""
    claims = Claims(STUDY)
    _setup(claims)
    _one_file(claims, curve)
    _headlines(claims, found)
    _spdy(claims, found)
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
    """Give the bytes of a page's heads, as HTTP/1.1 writes them and as SPDY/3.1 compresses them."""
    summary = pages.read(f"synthetic:{page}").summary()
    plain = summary["request_header_bytes"] + summary["response_header_bytes"]
    return plain, sum(summary["compressed_header_bytes"]["spdy/3.1"].values())


def _one_file(claims: Claims, curve: list[Point]) -> None:
    small, large = slow_start.WINDOWS
    saved = {
        segments: slow_start.data_rounds(segments, small) - slow_start.data_rounds(segments, large)
        for segments in range(1, 400)
    }
    claims.number("CL14", max(saved.values()), digits=0)
    best = max(
        range(1, 400), key=lambda n: 1 - slow_start.round_trips(n, large) / slow_start.round_trips(n, small)
    )
    claims.number("CL15", best, "by table 1: nine packets are 3 + 6 and need no fourth round trip", digits=0)
    claims.number("CL16", slow_start.round_trips(best, small), f"of a file of {best} packets", digits=0)
    claims.number("CL17", slow_start.round_trips(best, large), f"of a file of {best} packets", digits=0)
    claims.number(
        "CL18", slow_start.at(curve, 14).reductions[1], "simulated, 14 KB are ten packets", digits=0
    )
    least = max(segments for segments in range(1, 10) if all(not saved[n] for n in range(1, segments + 1)))
    claims.number(
        "CL19", least * slow_start.SEGMENT / 1000, "three packets of 1460 bytes are 4.4 KB, not 3", digits=1
    )
    claims.number(
        "CL51", -(-_IMAGE // _MSS), "302 KB of 1000 bytes; of 1024 they would be 214 packets", digits=0
    )
    image = slow_start.at(curve, 302)
    slow = (image.simulated[0] - _IMAGE * 8 / slow_start.RATE) / slow_start.RTT_MS
    claims.number(
        "CL52", round(slow), "simulated: round trips besides the time of the bytes, handshake included"
    )


def _headlines(claims: Claims, found: Laboratory) -> None:
    own = found.ours
    both = summary(own.of(BOTH))
    claims.number(
        "CL01", 100 * (1 - 1 / both.overall.mean), "of the mean gain, as the study reckons it", digits=1
    )
    top = _gain(own, BOTH, {"page": "A", "servers": 1, "down_mbps": 10, "rtt_ms": 100, "loss_pct": 0})
    claims.number("CL02", 100 * (1 - 1 / top), digits=1)
    at_c = (pl.col("page") == "C") & (pl.col("loss_pct") == 1)
    slower = [own.of(option).frame.filter(at_c)["gain"].to_list() for option in (SPDY, BOTH)]
    worst = min(gain for each in slower for gain in each)
    claims.number("CL03", 1 / worst)
    window = summary(own.of(WINDOW))
    claims.finding(
        "CL04",
        window.at_least_1 >= 0.75 * 72 and 1 < window.overall.mean < 1.25,
        f"{window.at_least_1} of 72 at 1 or more, mean {window.overall.mean:.2f}",
    )


def _gain(own: Gains, option: str, at: At) -> float:
    return mean_gain(own, option, lambda row: all(row[name] == level for name, level in at.items()))


def _spdy(claims: Claims, found: Laboratory) -> None:
    own = found.ours

    def mean(**at: Level) -> float:
        return _gain(own, SPDY, at)

    claims.number("CL35", mean())
    for id, page in (("CL36", "A"), ("CL37", "B"), ("CL38", "C")):
        claims.number(id, mean(page=page))
    claims.number("CL39", mean(loss_pct=0))
    claims.number("CL40", mean(loss_pct=1), _on_credible_rows(found))
    spread = {count: [mean(page=page, servers=count) for page in "AC"] for count in (1, 2, 4)}
    (a1, c1), (a2, c2), (a4, c4) = spread.values()
    shrinks = a1 > a2 > a4 and c1 < c2 < c4
    shown = ", ".join(f"{count}: A {a:.2f}, C {c:.2f}" for count, (a, c) in spread.items())
    claims.finding("CL41", shrinks, f"by servers {shown}")
    near, far = mean(loss_pct=0, rtt_ms=20), mean(loss_pct=0, rtt_ms=100)
    claims.finding("CL42", near < far, f"{near:.2f} at 20 ms, {far:.2f} at 100 ms")
    near, far = mean(loss_pct=1, rtt_ms=20), mean(loss_pct=1, rtt_ms=100)
    claims.finding("CL43", near > far, f"{near:.2f} at 20 ms, {far:.2f} at 100 ms")
    _only_page_c(claims, found)
    low, high = mean(down_mbps=10), mean(down_mbps=20)
    claims.finding("CL45", low > high, f"{low:.2f} at 10 Mbit/s, {high:.2f} at 20 Mbit/s")
    claims.number(
        "CL46", 6, "at a time; in all HTTPS opens one for each object, since none is kept alive", digits=0
    )


def _on_credible_rows(found: Laboratory) -> str:
    pairs = [pair.gains(SPDY) for pair in found.sound(WIN7) if pair.condition.loss_pct]
    theirs, ours = (statistics.mean(each) for each in zip(*pairs, strict=True))
    return (
        f"over the rows with loss that are credible, those of one server: study {theirs:.2f}, ours {ours:.2f}"
    )


def _only_page_c(claims: Claims, found: Laboratory) -> None:
    frame = found.ours.of(SPDY).frame.filter((pl.col("loss_pct") == 0) & (pl.col("gain") < 1))
    slower = dict(frame.group_by("page", maintain_order=True).len().iter_rows())
    shown = ", ".join(f"{page}: {count}" for page, count in slower.items())
    claims.finding(
        "CL44",
        set(slower) == {"C"},
        f"slower conditions by page: {shown or 'none'}",
        "where not on C alone: SYNs lost in the full queue of 50 packets, which cost 3 s each",
    )


def _window(claims: Claims, found: Laboratory) -> None:
    own = found.ours

    def mean(**at: Level) -> float:
        return _gain(own, WINDOW, at)

    claims.number("CL48", mean())
    by_page = {page: mean(page=page) for page in "ABC"}
    claims.finding(
        "CL49",
        by_page["C"] > max(by_page["A"], by_page["B"]),
        ", ".join(f"{page} {gain:.2f}" for page, gain in by_page.items()),
    )
    by_channel = [mean(rtt_ms=20), mean(rtt_ms=100), mean(loss_pct=0), mean(loss_pct=1)]
    near, far, clean, lossy = by_channel
    claims.finding(
        "CL50",
        max(by_channel) - min(by_channel) <= 0.1,
        f"{near:.2f} at 20 ms, {far:.2f} at 100 ms; {clean:.2f} without loss, {lossy:.2f} with it",
        "judged by whether the means lie within 0.1, as the study's do",
    )


def _together(claims: Claims, found: Laboratory) -> None:
    own = found.ours
    spdy, window, both = (_gain(own, option, {}) for option in (SPDY, WINDOW, BOTH))
    claims.number("CL53", both)
    claims.finding("CL54", both > spdy * window, f"{both:.2f} against {spdy * window:.2f}")
    claims.number("CL55", summary(own.of(BOTH)).best.gain)
    claims.number("CL56", mean_gain(own, BOTH, lambda at: at["page"] != "C" and at["loss_pct"] == 0))
    counts = {option: _counts(found.runs, option) for option in (BASE, SPDY)}
    packets, size = (counts[SPDY][at] / counts[BASE][at] for at in range(2))
    claims.finding(
        "CL58",
        packets < 1 and size < 1,
        f"{100 * packets:.0f} % of the packets, {100 * size:.0f} % of the bytes, without loss",
    )


def _counts(runs: pl.DataFrame, option: str) -> tuple[int, int]:
    """Give packets and bytes of all conditions without loss."""
    packets, size = pl.col("packets_down") + pl.col("packets_up"), pl.col("bytes_down") + pl.col("bytes_up")
    chosen = runs.filter((pl.col("option") == option) & (pl.col("loss_pct") == 0))
    return chosen.select(packets.sum(), size.sum().alias("size")).row(0)
