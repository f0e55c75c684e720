"""How the load time depends on one factor while the others stay: the times, and below them the gain."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from loadstone.analysis.features import Factor, Kind, factors, number, places, rows_at
from loadstone.analysis.plots.canvas import (
    WIDTH,
    Canvas,
    Plot,
    Stroke,
    label,
    labels,
    name_lines,
    names_room,
    plotting,
    room,
    stroke,
)  # fmt: skip
from loadstone.analysis.question import Level, Question, named, spelled
from loadstone.html import palette

MOST_LEVELS = 16
"""More names have no room next to each other; numbers stay, some without a label."""
_LEFT, _TOP, _TIMES, _BETWEEN, _GAINS, _FOOT = 70.0, 12.0, 230.0, 26.0, 120.0, 48.0
_MOST_BANDS = 3
"""More would hide each other; then there are lines upward instead."""
_STEEP = 30
"""Times that differ by more are drawn by powers of ten."""


@dataclass(frozen=True)
class Around:
    """Where the other factors stay."""

    levels: dict[str, Level]
    note: str
    """What had to differ from what was asked for."""


@dataclass(frozen=True)
class Scale:
    """Where the steps of a factor stand, from 0 to their number less 1."""

    places: list[float]
    is_log: bool = False

    @classmethod
    def of(cls, factor: Factor) -> "Scale":
        """Put numbers where they belong, by powers of ten if they span more than one; names side by side."""
        values = [known[1] for step in factor.steps if (known := number(step[0])) is not None]
        if factor.kind is Kind.NAME or len(values) < 2:
            return cls([float(at) for at in range(len(factor.steps))])
        is_log = values[0] > 0 and values[-1] > 10 * values[0]
        if is_log:
            values = [math.log10(value) for value in values]
        whole = values[-1] - values[0]
        return cls([(value - values[0]) / whole * (len(values) - 1) for value in values], is_log)


@dataclass(frozen=True)
class Line:
    """One level of the compared factor, along the steps of another."""

    name: str
    """Short enough to stand next to it."""
    stroke: Stroke
    xs: list[int]
    """The steps, counted from the lowest."""
    ys: list[float]
    lows: list[float | None]
    highs: list[float | None]


def draw(runs: pl.DataFrame, gains: pl.DataFrame, question: Question) -> list[Plot]:
    """Draw a plot for each factor that varies around a common level of the others."""
    loads = runs.filter(pl.col("completed") & pl.col("plt_ms").is_not_null())
    scales = [factor.scale() for factor in factors(loads, question)]
    found = []
    for factor in scales:
        if factor.kind is Kind.NAME and len(factor.steps) > MOST_LEVELS:
            continue
        around = _around(loads, question, factor, scales)
        if around is not None:
            found.append(_draw(loads, gains, question, factor, around))
    return found


def _around(
    loads: pl.DataFrame, question: Question, varied: Factor, scales: Sequence[Factor]
) -> Around | None:
    """Find where the others stay: where they were asked to, or the nearest place with most of the levels."""
    others = [factor for factor in scales if factor.name != varied.name]
    wanted = {factor.name: _wanted(factor, question) for factor in others}
    found: dict[tuple[int, ...], set[int]] = {}
    rows = loads.select(varied.name, *wanted).unique(maintain_order=True)
    for at, *rest in places(rows, [varied, *others]):
        found.setdefault(tuple(rest), set()).add(at)
    target = tuple(factor.place(wanted[factor.name]) for factor in others)
    best = target
    if len(found.get(target, ())) < 2:
        best = min(found, key=lambda place: (-len(found[place]), _distance(place, target, others), place))
    if len(found[best]) < 2:
        return None
    levels = {factor.name: factor.steps[at][0] for factor, at in zip(others, best, strict=True)}
    moved = [
        f"{name} {spelled(level)} instead of {spelled(wanted[name])}"
        for name, level in levels.items()
        if level != wanted[name]
    ]
    note = f"The matrix has no such row; the nearest has {', '.join(moved)}." if moved else ""
    return Around(levels, note)


def _wanted(factor: Factor, question: Question) -> Level:
    asked = question.around.get(factor.name)
    for level in factor.levels:
        if asked is not None and spelled(level) == spelled(asked):
            return level
    return factor.steps[(len(factor.steps) - 1) // 2][0]


def _distance(place: Sequence[int], target: Sequence[int], others: Sequence[Factor]) -> float:
    """Say how far apart two places are, in shares of each scale; another name is the whole of it."""
    return sum(
        abs(a - b) / (len(factor.steps) - 1) if factor.kind is not Kind.NAME else float(a != b)
        for a, b, factor in zip(place, target, others, strict=True)
    )


def _draw(
    loads: pl.DataFrame, gains: pl.DataFrame, question: Question, factor: Factor, around: Around
) -> Plot:
    times = list(_times(_there(loads, around), question, factor))
    ratios = list(_ratios(_there(gains, around), question, factor))
    right = WIDTH - names_room(line.name for line in times)
    names = labels([spelled(step[0]) for step in factor.steps])
    scale = Scale.of(factor)
    shown, slope = _spacing(names, factor, scale, right - _LEFT)
    with plotting():
        top = _TOP + _TIMES + _BETWEEN
        foot = _FOOT + slope * room(names)
        canvas = Canvas(WIDTH, top + _GAINS + foot)
        upper = canvas.panel(_LEFT, _TOP, right, _TOP + _TIMES)
        _plot(upper, times, factor, scale, _TIMES, is_time=True)
        upper.set_ylabel("page load time, ms")
        lower = canvas.panel(_LEFT, top, right, top + _GAINS)
        lower.axhline(1.0, color=palette.MUTED, linewidth=1)
        _plot(lower, ratios, factor, scale, _GAINS, is_time=False)
        lower.set_ylabel(f"gain over\n{label(named(question.compared, question.baseline))}")
        lower.set_xticks([scale.places[at] for at in shown], [names[at] for at in shown])
        if slope:
            lower.tick_params(axis="x", labelrotation=math.degrees(math.asin(slope)))
            for words in lower.get_xticklabels():
                words.set(horizontalalignment="right", rotation_mode="anchor")
        axis = lower.text(0.5, 14 / _GAINS - foot / _GAINS, label(factor.name), transform=lower.transAxes)
        axis.set(horizontalalignment="center", color=palette.MUTED)
        title = f"How does the load time depend on {factor.name}?"
        return canvas.finish(f"trend-{factor.name}", title, _caption(times, ratios, around, scale))


def _spacing(names: Sequence[str], factor: Factor, scale: Scale, width: float) -> tuple[list[int], float]:
    """Say which steps are named, those that have room next to each other, and how steeply, as the sine."""
    each = (room(names) + 10) / width * len(names)
    if factor.kind is Kind.NAME:
        return [*range(len(names))], 0.6 if each > 1 else 0.0
    shown = [0]
    last = len(names) - 1
    for at in range(1, last):
        if min(scale.places[at] - scale.places[shown[-1]], scale.places[last] - scale.places[at]) >= each:
            shown.append(at)
    return [*shown, last], 0.0


def _there(frame: pl.DataFrame, around: Around) -> pl.DataFrame:
    for name, level in around.levels.items():
        frame = rows_at(frame, name, [level])
    return frame


def _times(loads: pl.DataFrame, question: Question, factor: Factor) -> Iterator[Line]:
    for at, level in enumerate(question.factors[question.compared]):
        parts = _by_step(rows_at(loads, question.compared, [level]), factor, "plt_ms")
        spread = {step: np.percentile(values, [10, 50, 90]).tolist() for step, values in parts.items()}
        if spread:
            lows, ys, highs = (list(column) for column in zip(*spread.values(), strict=True))
            yield Line(label(named(question.compared, level)), stroke(at), list(spread), ys, lows, highs)


def _ratios(gains: pl.DataFrame, question: Question, factor: Factor) -> Iterator[Line]:
    compared = list(question.factors[question.compared])
    for level in question.challengers:
        rows = rows_at(gains, question.compared, [level])
        by_step = {
            at: row for (at,), row in zip(places(rows, [factor]), rows.iter_rows(named=True), strict=True)
        }
        if by_step:
            steps = sorted(by_step)
            ys, lows, highs = ([by_step[at][name] for at in steps] for name in ("gain", "low", "high"))
            yield Line(
                label(named(question.compared, level)), stroke(compared.index(level)), steps, ys, lows, highs
            )


def _by_step(rows: pl.DataFrame, factor: Factor, column: str) -> Mapping[int, list[float]]:
    found: dict[int, list[float]] = {}
    for (at,), value in zip(places(rows, [factor]), rows[column].to_list(), strict=True):
        found.setdefault(at, []).append(value)
    return dict(sorted(found.items()))


def _plot(
    axes: Axes, lines: Sequence[Line], factor: Factor, scale: Scale, height: float, *, is_time: bool
) -> None:
    axes.set_xlim(-0.3, len(factor.steps) - 0.7)
    is_name = factor.kind is Kind.NAME
    has_bands = is_time and not is_name and len(lines) <= _MOST_BANDS
    for at, line in enumerate(lines):
        aside = (at - (len(lines) - 1) / 2) * _aside(len(lines), is_name=is_name, has_bands=has_bands)
        xs = [scale.places[x] + aside for x in line.xs]
        dressed = {"linestyle": "", "color": line.stroke.colour} if is_name else line.stroke.line()
        axes.plot(xs, line.ys, **line.stroke.mark(), **dressed)
        known = [
            (x, low, high) for x, low, high in zip(xs, line.lows, line.highs, strict=True) if low and high
        ]
        if not known:
            continue
        along, lows, highs = zip(*known, strict=True)
        if has_bands:
            axes.fill_between(along, lows, highs, color=line.stroke.colour, alpha=0.13, linewidth=0)
            for edge in (lows, highs):
                axes.plot(along, edge, alpha=0.6, **line.stroke.line(0.8))
        else:
            axes.vlines(along, lows, highs, color=line.stroke.colour, linewidth=1.4)
    _fit(axes, lines, is_time)
    axes.set_xticks([])
    name_lines(axes, [(line.name, line.ys[-1], line.stroke) for line in lines], height)


def _aside(count: int, *, is_name: bool, has_bands: bool) -> float:
    """Say how far apart lines stand, in steps, so that what they reach over does not lie on another's."""
    if is_name:
        return min(0.12, 0.6 / count)
    return 0.0 if has_bands else min(0.02, 0.2 / count)


def _fit(axes: Axes, lines: Sequence[Line], is_time: bool) -> None:
    """Choose the scale upward; whatever is drawn lies within."""
    every = [
        value for line in lines for column in (line.ys, line.lows, line.highs) for value in column if value
    ]
    low, high = min(every, default=1.0), max(every, default=1.0)
    if is_time and high > _STEEP * low:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.2, high * 1.2)
        axes.set_yticks([], minor=True)
    elif is_time:
        axes.set_ylim(0, high * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    else:
        low, high = min(low, 1.0), max(high, 1.0)
        margin = max((high - low) * 0.1, 0.02)
        axes.set_ylim(low - margin, high + margin)
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.grid(visible=True, axis="y")


def _caption(times: Sequence[Line], ratios: Sequence[Line], around: Around, scale: Scale) -> str:
    where = ", ".join(f"{name} {spelled(level)}" for name, level in around.levels.items())
    is_spread = any(line.lows != line.highs for line in times)
    has_intervals = any(low is not None for line in ratios for low in line.lows)
    band = " and the middle 80 % of the runs" if is_spread else ""
    interval = " and its 95 % interval" if has_intervals else ""
    parts = [f"At {where}." if where else "", around.note]
    parts += ["Levels stand by powers of ten."] if scale.is_log else []
    parts.append(f"Above: the median load time{band}. Below: the gain{interval}; above 1 is faster.")
    return " ".join(part for part in parts if part)
