"""Plots of a server's users: distributions, by group of clients if few, and how far groups are apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from loadstone import text
from loadstone.analysis.plots.canvas import (
    WIDTH,
    Canvas,
    Plot,
    label,
    name_lines,
    names_room,
    plotting,
    room,
    stroke,
)  # fmt: skip
from loadstone.captures.traffic import PREFIX, SERVER, Traffic
from loadstone.html import palette

MOST_CURVES = 6
"""Groups of which each has a curve: those with most values. With more, curves hide each other."""
_POINTS = 300
"""Points of a curve: more than a screen shows."""
_LEAST = 2
_MOST_NAMED = 24
"""With more groups than that their names have no room."""
_LEFT, _TOP, _BODY, _FOOT = 64.0, 14.0, 280.0, 46.0
_PANEL, _BETWEEN = 130.0, 22.0


@dataclass(frozen=True)
class Curve:
    """Values of a group: how much of them is up to each."""

    name: str
    xs: list[float]
    shares: list[float]


@dataclass(frozen=True)
class Shown:
    """A distribution that is shown."""

    name: str
    title: str
    axis: str
    column: str
    is_log: bool = True
    per_exchange: bool = False


_OF_RTO = "gaps-rto"
_SHOWN = (
    Shown("rtt", "How long are round trips?", "round trip, ms", "rtt_ms"),
    Shown("bytes", "How much does a connection carry?", "bytes to the client", "bytes_down"),
    Shown("duration", "How long do connections last?", "duration, ms", "duration_ms"),
    Shown(
        "sent-again",
        "How much is sent again?",
        "packets of a connection that were sent again, %",
        "retransmitted_pct",
        is_log=False,
    ),
    Shown("requests", "How many requests does a connection carry?", "requests", "requests"),
    Shown("gaps", "How long is it until the next request?", "gap, ms", "gap_ms", per_exchange=True),
    Shown(
        _OF_RTO,
        "Are gaps longer than an RTO, after which the window begins anew?",
        "gap, in RTOs of the connection",
        "gap_rtos",
        per_exchange=True,
    ),
)


def draw(found: Traffic, by: str) -> list[Plot]:
    """Draw all distributions, and how far groups are apart; what has fewer than two values is left out."""
    group = curves_by(found, by)
    exchanges = found.exchanges.with_columns(
        gap_rtos=pl.when(pl.col("rto_ms") > 0).then(pl.col("gap_ms") / pl.col("rto_ms"))
    )
    if group is not None:
        groups = found.connections.select("connection", group)
        exchanges = exchanges.join(groups, on="connection", how="left", maintain_order="left")
    plots = []
    for shown in _SHOWN:
        rows = exchanges if shown.per_exchange else found.connections
        plots.append(_distribution(shown, _curves(rows, shown.column, group), group))
    plots += [_sizes(exchanges), *_windows(exchanges)]
    plots += [_groups(found, one) for one in dict.fromkeys((by, PREFIX, *found.places))]
    return [plot for plot in plots if plot is not None]


def curves_by(found: Traffic, by: str) -> str | None:
    """Say by which column of clients there are curves: few groups of it have to be worth one each."""
    for column in (by, SERVER):
        if 1 < found.connections[column].n_unique() <= MOST_CURVES:
            return column
    return None


def _curves(rows: pl.DataFrame, column: str, group: str | None) -> list[Curve]:
    if group is None:
        parts = [("all", rows[column])]
    else:
        counted = rows.group_by(group).len().sort(["len", group], descending=[True, False])
        parts = [
            ("?" if one is None else str(one), rows.filter(pl.col(group).eq_missing(pl.lit(one)))[column])
            for one in sorted(counted[group].head(MOST_CURVES).to_list(), key=str)
        ]
    curves = [(name, curve(name, values.drop_nulls())) for name, values in parts]
    return [curve for _, curve in curves if curve is not None]


def curve(name: str, values: pl.Series, weights: pl.Series | None = None) -> Curve | None:
    """Sum up values, each by its weight, at so many points as can be seen."""
    known = pl.DataFrame({"x": values}).with_columns(weight=pl.lit(1.0) if weights is None else weights)
    if known.height < _LEAST or not (total := float(known["weight"].cast(pl.Float64).sum())):
        return None
    summed = known.sort("x").with_columns(share=pl.col("weight").cast(pl.Float64).cum_sum() / total)
    # Of values that are one point of the curve the last one has the whole share.
    point = (pl.col("share") * _POINTS).floor().alias("point")
    thin = summed.group_by(point, maintain_order=True).last()
    return Curve(label(name), thin["x"].cast(pl.Float64).to_list(), thin["share"].to_list())


def _distribution(shown: Shown, curves: Sequence[Curve], group: str | None) -> Plot | None:
    if not curves:
        return None
    each = f" A curve for each {group}." if group else ""
    caption = f"Half of all lies left of where a curve crosses 50 %.{each}"
    return _plot(shown.name, shown.title, shown.axis, curves, caption, is_log=shown.is_log)


def _plot(name: str, title: str, axis: str, curves: Sequence[Curve], caption: str, *, is_log: bool) -> Plot:
    with plotting():
        right = WIDTH - names_room(curve.name for curve in curves)
        canvas = Canvas(WIDTH, _TOP + _BODY + _FOOT)
        axes = canvas.panel(_LEFT, _TOP, right, _TOP + _BODY)
        low, high = _limits(curves, is_log=is_log)
        if is_log:
            axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        axes.set_xticks([], minor=True)
        ticks = _ticks(low, high) if is_log else [tick for tick in axes.get_xticks() if low <= tick <= high]
        axes.set_xticks(ticks, [_short(tick) for tick in ticks])
        axes.grid(visible=True)
        axes.set_xlabel(axis)
        axes.set_ylabel("share with that or less")
        if name == _OF_RTO and low < 1 < high:
            axes.axvline(1.0, color=palette.MUTED, linewidth=1.2)
        for at, curve in enumerate(curves):
            xs = [min(max(x, low), high) for x in curve.xs]
            axes.step([low, *xs, high], [0, *curve.shares, 1], where="post", **stroke(at).line())
        named = [(curve.name, _middle(curve), stroke(at)) for at, curve in enumerate(curves)]
        name_lines(axes, named, _BODY)
        return canvas.finish(f"traffic-{name}", title, caption)


def _middle(curve: Curve) -> float:
    """Give where the name of a curve stands: names are apart anyway, and all curves end at 1."""
    return curve.shares[len(curve.shares) // 2]


def _limits(curves: Sequence[Curve], *, is_log: bool) -> tuple[float, float]:
    values = [x for curve in curves for x in curve.xs]
    high = max(values)
    if not is_log:
        return 0.0, max(high, 1.0)
    above = [x for x in values if x > 0]
    low = min(above, default=1.0)
    # What is far below all else, such as a gap of a microsecond, stands at the edge.
    low = max(low, max(high, 1e-9) / 1e6)
    return low / 1.1, max(high * 1.1, low * 1.2)


def _ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1, 3) if len(decades) <= 4 else (1,)
    return [tick for at in decades for step in steps if low <= (tick := step * 10.0**at) <= high]


def _short(value: float) -> str:
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def _sizes(exchanges: pl.DataFrame) -> Plot | None:
    """Draw sizes by how many there are, and by their bytes."""
    sizes = exchanges["response_bytes"]
    curves = [curve("of responses", sizes), curve("of their bytes", sizes, sizes)]
    found = [curve for curve in curves if curve is not None]
    caption = "Few large responses bring most bytes: the second curve counts each response by its bytes."
    title = "How large are responses, by count and by bytes?"
    return _plot("sizes", title, "bytes of a response", found, caption, is_log=True) if found else None


def _windows(exchanges: pl.DataFrame) -> list[Plot]:
    """Draw how long responses took in round trips by the initial window, all of them and first ones."""
    known = exchanges.drop_nulls(["initial_window_down", "transfer_rtts"])
    plots = []
    for name, which, rows in (
        ("all", "responses", known),
        ("first", "first responses of connections", known.filter(exchange=1)),
    ):
        if not rows.height:
            continue
        most = float(rows["transfer_rtts"].quantile(0.98) or 0)
        counted = rows["initial_window_down"].value_counts().sort("count", descending=True)
        windows = sorted(counted["initial_window_down"].head(MOST_CURVES).to_list())
        curves = [
            curve(
                text.count(window, "segment"),
                rows.filter(initial_window_down=window)["transfer_rtts"].clip(0, max(most, 1)),
            )
            for window in windows
        ]
        title = f"How many round trips do {which} take, by the server's initial window?"
        caption = (
            "From the first byte of a response to its last, as the server sends them, over the connection's "
            "mean round trip: what fits into a window takes none. Of connections whose window can be known."
        )
        found = [curve for curve in curves if curve is not None]
        if found:
            plots.append(_plot(f"window-{name}", title, "round trips", found, caption, is_log=False))
    return plots


# --- how far groups are apart ---


def _groups(found: Traffic, by: str) -> Plot | None:
    """Draw round trips, what was sent again and connections of each group, the largest first."""
    groups = found.groups(by)
    if groups.height < _LEAST:
        return None
    names = [label("?" if name is None else str(name)) for name in groups["group"].to_list()]
    is_named = len(names) <= _MOST_NAMED
    is_level = len(names) * (max(map(room, ([name] for name in names))) + 10) < WIDTH - _LEFT
    foot = 24 + (room(names) if is_named and not is_level else 0)
    with plotting():
        canvas = Canvas(WIDTH, _TOP + 3 * _PANEL + 2 * _BETWEEN + foot)
        panels = [
            canvas.panel(_LEFT, top, WIDTH - 12, top + _PANEL)
            for top in (_TOP + at * (_PANEL + _BETWEEN) for at in range(3))
        ]
        _spread(panels[0], groups, "rtt_ms", is_log=True)
        panels[0].set_ylabel("round trip, ms")
        _spread(panels[1], groups, "retransmitted_pct", is_log=False)
        panels[1].set_ylabel("sent again, %")
        counts = groups["connections"].to_list()
        panels[2].bar(range(len(counts)), counts, width=0.7, color=palette.SERIES[0])
        panels[2].set_ylabel("connections")
        for axes in panels:
            axes.set_xlim(-0.7, len(names) - 0.3)
            axes.grid(visible=True, axis="y")
            axes.set_xticks([])
        if is_named:
            panels[2].set_xticks(range(len(names)), names, rotation=0 if is_level else 90)
        caption = (
            "A line from the 10th to the 90th percentile of a group's connections, a mark at the median; "
            f"{text.count(len(names), 'group')}, those with most connections from the left."
        )
        return canvas.finish(f"traffic-by-{_plain(by)}", f"How far are groups apart, by {by}?", caption)


def _spread(axes: Axes, groups: pl.DataFrame, column: str, *, is_log: bool) -> None:
    rows = groups.with_row_index("at").drop_nulls([f"{column}_p{share}" for share in (10, 50, 90)])
    places, low, middle, high = (
        rows[name].cast(pl.Float64).to_list()
        for name in ("at", f"{column}_p10", f"{column}_p50", f"{column}_p90")
    )
    if is_log:
        axes.set_yscale("log")
        low, middle, high = ([max(value, 1e-3) for value in values] for values in (low, middle, high))
    lines = [[(x, one), (x, other)] for x, one, other in zip(places, low, high, strict=True)]
    axes.add_collection(LineCollection(lines, colors=palette.SERIES[0], linewidths=2.2))
    axes.plot(places, middle, linestyle="", **{**stroke(1).mark(), "markersize": 5})
    top, bottom = max(high, default=1.0), min(low, default=0.0)
    axes.set_ylim((bottom / 1.3, max(top, bottom) * 1.3) if is_log else (0, max(top, 1) * 1.08))
    axes.set_yticks([], minor=True)
    if is_log:
        ticks = _ticks(*axes.get_ylim())
        axes.set_yticks(ticks, [_short(tick) for tick in ticks])


def _plain(name: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in name)
