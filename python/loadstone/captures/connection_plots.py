"""One connection in pictures, as tcptrace draws them: numbers over time, what was on its way, round trips."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from loadstone import text
from loadstone.analysis.plots.canvas import WIDTH, Canvas, Plot, name_lines, names_room, plotting, stroke
from loadstone.captures import tables
from loadstone.captures.traffic import table
from loadstone.html import palette

MOST_PACKETS = 6_000
"""Packets that are drawn: those that come first."""
_LEFT, _TOP, _FOOT = 70.0, 14.0, 46.0
_NUMBERS, _PANEL = 380.0, 220.0
_WAYS = {"down": "to the client on connection {}", "up": "from the client on connection {}"}
_CAUSES = {
    "fast": "sent again: fast",
    "tail_loss_probe": "sent again: tail loss probe",
    "timeout": "sent again: timeout",
    "syn": "sent again: SYN",
    "window_probe": "window probe",
}


def packets(folder: str) -> pl.DataFrame | None:
    """Read the packets of a connection that are in a folder, with why each was sent again; or none.

    Times are in seconds since its first packet.

    Raises:
        InputError: if a table is damaged.
    """
    if not Path(folder, f"{tables.PACKETS}.parquet").is_file():
        return None
    again = table(folder, tables.RETRANSMISSIONS)
    causes = again.select("connection", "at_ms", "way", "seq", "cause", "spurious")
    # A packet that is captured twice is the same row twice.
    causes = causes.unique(["connection", "at_ms", "way", "seq"], keep="first", maintain_order=True)
    found = table(folder, tables.PACKETS).head(MOST_PACKETS)
    joined = found.join(causes, on=["connection", "at_ms", "way", "seq"], how="left", maintain_order="left")
    return joined.with_columns(at=(pl.col("at_ms") - pl.col("at_ms").min()) / 1e3)


def draw(found: pl.DataFrame, whole: dict[str, Any]) -> list[Plot]:
    """Draw the direction that carries more of a connection, of which `whole` is the row of its table."""
    way = "down" if (whole["bytes_down"] or 0) >= (whole["bytes_up"] or 0) else "up"
    # At the client what comes is acknowledged at once; what it sends shows how far the server is.
    measured = "up" if whole["captured_at"] == "client" else way
    which = _WAYS[way].format(whole["connection"])
    count = whole["packets_up"] + whole["packets_down"]
    cut = (
        f" The first {found.height:,} of {text.count(count, 'packet')} are drawn."
        if found.height < count
        else ""
    )
    plots = [_numbers(found, way, which, cut), _on_the_way(found, way, which, cut)]
    round_trips = _round_trips(found, measured, _WAYS[measured].format(whole["connection"]), cut)
    return [plot for plot in (*plots, round_trips) if plot is not None]


def _numbers(found: pl.DataFrame, way: str, which: str, cut: str) -> Plot:
    data = found.filter(way=way).filter(pl.col("bytes") > 0)
    acks = found.filter(pl.col("way") != way).drop_nulls("ack")
    again = [(cause, data.filter(cause=cause)) for cause in _CAUSES]
    again = [(cause, rows) for cause, rows in again if rows.height]
    top = max(_most(data["seq"] + data["bytes"]), _most(acks["ack"]), 1)
    window = acks.select("at", edge=(pl.col("ack") + pl.col("window")).clip(0, round(1.12 * top)))
    with plotting():
        names = ["segments", "acknowledged", "window", *(_CAUSES[cause] for cause, _ in again)]
        right = WIDTH - names_room(names)
        canvas = Canvas(WIDTH, _TOP + _NUMBERS + _FOOT)
        axes = canvas.panel(_LEFT, _TOP, right, _TOP + _NUMBERS)
        _time(axes, found)
        axes.set_ylim(0, 1.12 * top)
        axes.set_ylabel("number of a byte")
        _segments(axes, data.filter(pl.col("cause").is_null()), palette.SERIES[0], 2.0)
        axes.step(acks["at"], acks["ack"], where="post", **stroke(1).line(1.3))
        axes.step(window["at"], window["edge"], where="post", **stroke(2).line(1.3))
        lines = [("segments", 0.5 * top, stroke(0)), ("acknowledged", 0.5 * top, stroke(1))]
        lines.append(("window", 1.1 * top, stroke(2)))
        for at, (cause, rows) in enumerate(again, 3):
            _segments(axes, rows, stroke(at).colour, 3.0)
            axes.plot(rows["at"], rows["seq"], linestyle="", **stroke(at).mark())
            lines.append((_CAUSES[cause], 0.4 * top, stroke(at)))
        name_lines(axes, lines, _NUMBERS)
        caption = (
            f"Each segment {which} is an upright stroke from its first byte to its last. Below them "
            "is what the other end has acknowledged, above them as far as its receive window allows; at the "
            f"upper edge it is beyond the drawing.{cut}"
        )
        return canvas.finish("connection-numbers", "Which byte was sent when?", caption)


def _segments(axes: Axes, rows: pl.DataFrame, colour: str, width: float) -> None:
    strokes = [
        [(at, seq), (at, seq + size)] for at, seq, size in rows.select("at", "seq", "bytes").iter_rows()
    ]
    axes.add_collection(LineCollection(strokes, colors=colour, linewidths=width))


def _on_the_way(found: pl.DataFrame, way: str, which: str, cut: str) -> Plot:
    windows = found.filter(pl.col("way") != way).filter(~pl.col("rst"))
    in_flight = found[f"in_flight_{way}"]
    top = max(_most(in_flight), 1)
    with plotting():
        names = ["on its way", "receive window"]
        canvas = Canvas(WIDTH, _TOP + _PANEL + _FOOT)
        axes = canvas.panel(_LEFT, _TOP, WIDTH - names_room(names), _TOP + _PANEL)
        _time(axes, found)
        axes.set_ylim(0, 1.3 * top)
        axes.set_ylabel("bytes")
        axes.step(found["at"], in_flight, where="post", **stroke(0).line(1.4))
        axes.step(
            windows["at"], windows["window"].clip(0, round(1.3 * top)), where="post", **stroke(2).line(1.3)
        )
        name_lines(axes, [(names[0], 0.5 * top, stroke(0)), (names[1], 1.2 * top, stroke(2))], _PANEL)
        caption = (
            f"Bytes {which} that were sent and not yet acknowledged, as captured: at the sender at most "
            f"its congestion window. A receive window beyond the drawing is at its upper edge.{cut}"
        )
        return canvas.finish("connection-window", "How much was on its way?", caption)


def _round_trips(found: pl.DataFrame, way: str, which: str, cut: str) -> Plot | None:
    samples = found.filter(pl.col("way") != way).drop_nulls("rtt_ms")
    if not samples.height:
        return None
    top, least = _most(samples["rtt_ms"]), float(samples["rtt_ms"].min() or 0)  # type: ignore[arg-type]
    with plotting():
        names = ["round trips", "the least"]
        canvas = Canvas(WIDTH, _TOP + _PANEL + _FOOT)
        axes = canvas.panel(_LEFT, _TOP, WIDTH - names_room(names), _TOP + _PANEL)
        _time(axes, found)
        axes.set_ylim(0, 1.1 * max(top, 0.001))
        axes.set_ylabel("ms")
        axes.plot(samples["at"], samples["rtt_ms"], linestyle="", **{**stroke(0).mark(), "markersize": 4})
        axes.axhline(least, **stroke(1).line(1.2))
        name_lines(axes, [(names[0], top, stroke(0)), (names[1], least, stroke(1))], _PANEL)
        caption = (
            f"From a segment {which} to its acknowledgement, as captured, at the time of that. Segments"
            f" that were sent again tell none.{cut}"
        )
        return canvas.finish("connection-round-trips", "How long were round trips?", caption)


def _time(axes: Axes, found: pl.DataFrame) -> None:
    axes.set_xlim(0, max(_most(found["at"]), 0.001))
    axes.grid(visible=True)
    axes.set_xlabel("seconds since its first packet")


def _most(values: pl.Series | Sequence[float]) -> float:
    return float(max(values, default=0))
