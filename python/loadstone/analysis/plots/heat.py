"""Where a challenger is faster: the gain over two factors, a number and a mark in each field."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from loadstone import text
from loadstone.analysis import gain_tables
from loadstone.analysis.features import Factor, factors, places, rows_at
from loadstone.analysis.gains import FASTER, SLOWER, verdicts
from loadstone.analysis.plots.canvas import SIZE, SMALL, WIDTH, Canvas, Plot, label, labels, plotting, room
from loadstone.analysis.question import Level, Question, named, spelled
from loadstone.analysis.training_set import Thresholds
from loadstone.files import InputError
from loadstone.html import palette

MOST_FIELDS = 24
"""Factors with more levels have no room."""
UP, DOWN, UNCLEAR = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}", "~"
_SHARE = Thresholds.likelihood
_ROW, _HEAD, _FOOT, _NARROWEST, _WIDEST = 34.0, 44.0, 8.0, 66.0, 130.0
_DEEPEST = math.log(2)
"""A gain of 2, or of a half, has the full colour."""


@dataclass(frozen=True)
class Field:
    """The conditions at one level of each of the two factors."""

    gains: list[float]
    directions: list[int]
    """Of each condition: 1 if it is clearly faster, -1 if it is clearly slower, else 0; without an interval
    by the thresholds of rules."""

    @property
    def mean(self) -> float:
        """Give the geometric mean of the gains."""
        return math.exp(sum(map(math.log, self.gains)) / len(self.gains))

    @property
    def mark(self) -> str:
        """Say whether more than three quarters of the conditions go one way."""
        count = len(self.directions)
        if self.directions.count(1) > _SHARE * count:
            return UP
        return DOWN if self.directions.count(-1) > _SHARE * count else UNCLEAR


Fields = dict[tuple[int, ...], Field]


def draw(gains: pl.DataFrame, question: Question, by: tuple[str, str] | None = None) -> list[Plot]:
    """Draw a map for each challenger, over the two factors that matter most or those chosen."""
    if by is not None and (unknown := [name for name in by if name not in question.others]):
        known = ", ".join(question.others)
        raise InputError(f"{unknown[0]}: is no factor of a condition: give two of {known}")
    found = []
    for level in question.challengers:
        rows = rows_at(gains, question.compared, [level])
        rows = rows.filter(pl.col("gain").is_finite() & (pl.col("gain") > 0))
        read = {factor.name: factor.scale() for factor in factors(rows, question)}
        chosen = [read[name] for name in by if name in read] if by else _strongest(rows, list(read.values()))
        if len(chosen) == 2:
            found.append(_draw(rows, question, level, chosen))
    return found


def explained(rows: pl.DataFrame, factor: Factor) -> float:
    """Say what share of the variance of the gain's logarithm a factor explains by itself."""
    return gain_tables.explained_variance(
        rows["gain"].log().to_numpy(), np.array([at for (at,) in places(rows, [factor])], np.int64)
    )


def _strongest(rows: pl.DataFrame, read: Sequence[Factor]) -> list[Factor]:
    """Give the two factors that explain most, of equals the first in the matrix's order, in that order."""
    fitting = [factor for factor in read if len(factor.steps) <= MOST_FIELDS]
    best = sorted(fitting, key=lambda factor: -explained(rows, factor))[:2]
    return [factor for factor in fitting if factor in best]


def _draw(rows: pl.DataFrame, question: Question, level: Level, chosen: Sequence[Factor]) -> Plot:
    # The longer one goes downward, where there is room.
    down, across = sorted(chosen, key=lambda factor: -len(factor.steps))
    fields = _fields(rows, down, across)
    names = [labels([spelled(step[0]) for step in factor.steps]) for factor in (down, across)]
    left = 16 + max(room(names[0]), room([label(down.name)], SIZE))
    wide = min(_WIDEST, max(_NARROWEST, (WIDTH - left - 8) / len(across.steps)))
    who, base = (named(question.compared, one) for one in (level, question.baseline))
    title = f"By {down.name} and {across.name}, where is {who} faster than {base}?"
    with plotting():
        canvas = Canvas(
            max(WIDTH, left + wide * len(across.steps) + 8), _HEAD + _ROW * len(down.steps) + _FOOT
        )
        axes = canvas.sheet()
        axes.text(8, 18, label(down.name), color=palette.MUTED)
        axes.text(
            left + wide * len(across.steps) / 2, 14, label(across.name), color=palette.MUTED, ha="center"
        )
        for at, name in enumerate(names[0]):
            axes.text(left - 8, _HEAD + _ROW * (at + 0.5) + 4, name, ha="right", color=palette.INK)
        for at, name in enumerate(names[1]):
            short = text.shorten(name, int(wide / room(["m"])))
            axes.text(left + wide * (at + 0.5), _HEAD - 8, short, ha="center", color=palette.INK)
        for (row, column), field in fields.items():
            _field(axes, field, (left + wide * column, _HEAD + _ROW * row), wide)
        has_holes = len(fields) < len(down.steps) * len(across.steps)
        name = f"heat-{spelled(level)}-{down.name}-{across.name}"
        return canvas.finish(name, title, _caption(rows, fields, level, question, has_holes=has_holes))


def _fields(rows: pl.DataFrame, down: Factor, across: Factor) -> Fields:
    fields: Fields = {}
    each = zip(places(rows, [down, across]), rows["gain"], _directions(rows), strict=True)
    for place, gain, direction in each:
        field = fields.setdefault(place, Field([], []))
        field.gains.append(gain)
        field.directions.append(direction)
    return fields


def _directions(rows: pl.DataFrame) -> pl.Series:
    """Say where it is clearly faster, 1, or slower, -1; after too few loads, by the thresholds."""
    gain, verdict = pl.col("gain"), pl.col("verdict")
    is_unknown = pl.col("is_random") & (pl.col("low").is_null() | pl.col("high").is_null())
    up = pl.when(is_unknown).then(gain * Thresholds.faster > 1).otherwise(verdict == FASTER)
    down = pl.when(is_unknown).then(gain * Thresholds.slower < 1).otherwise(verdict == SLOWER)
    found = rows.with_columns(verdict=verdicts(rows))
    return found.select(up.cast(pl.Int64) - down.cast(pl.Int64)).to_series()


def _field(axes: Axes, field: Field, corner: tuple[float, float], wide: float) -> None:
    depth = math.log(field.mean) / _DEEPEST
    colour = palette.FASTER if depth > 0 else palette.SLOWER
    x, y = corner
    alpha = round(min(abs(depth), 1.0) * 0.6, 3)
    axes.add_artist(Rectangle((x + 1, y + 1), wide - 2, _ROW - 2, facecolor=colour, alpha=alpha, linewidth=0))
    is_clear = field.mark != UNCLEAR
    axes.add_artist(
        Rectangle((x + 1, y + 1), wide - 2, _ROW - 2, facecolor="none", edgecolor=palette.LINE, linewidth=1)
    )
    axes.text(
        x + wide / 2,
        y + _ROW / 2 + 4,
        f"{field.mark} {field.mean:.2f}",
        ha="center",
        fontsize=SIZE if is_clear else SMALL,
        color=palette.INK,
        fontweight=600 if is_clear else 400,
    )


def _caption(rows: pl.DataFrame, fields: Fields, level: Level, question: Question, *, has_holes: bool) -> str:
    most = max(len(field.gains) for field in fields.values())
    unsure = rows.filter(pl.col("is_random") & pl.col("low").is_null())
    parts = [
        f"Numbers are gains over {named(question.compared, question.baseline)}"
        + (f", geometric means of up to {most:,} conditions." if most > 1 else "."),
        f"{UP} {named(question.compared, level)} is clearly faster"
        + (" in more than three quarters of them" if most > 1 else "")
        + f", {DOWN} clearly slower, {UNCLEAR} neither.",
    ]
    if has_holes:
        parts.append("Empty fields have no conditions.")
    if len(unsure):
        parts.append("With too few runs for an interval nothing is clear, and marks say what is beyond 10 %.")
    return " ".join(parts)
