"""The plot of a validation: every cell's error beside its page load time, and its spread by factor.

Drawn like the charts of the report: by matplotlib's own settings, with nothing in it of the moment or the
machine, so that the same measurements give the same bytes.
"""

import io
import math
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.html.charts import NOTHING, drawing
from loadstone.validation import agreement, judgement
from loadstone.validation.levels import by_factor
from loadstone.validation.score import Score

_COLOURS = {"objects": "#0072b2", "pages": "#e69f00", "loss": "#009e73", "bbr": "#cc79a7"}
_OTHERS = "#999999"
_BAND, _MIDDLE, _INK = "#c9d3dc", "#7d93a8", "#1c2733"
_MOST = 0.3
"""Errors beyond 30 % are drawn at the edge."""
_TICKS = (-0.3, -0.05, -0.01, 0.0, 0.01, 0.05, 0.3)
_INCH = 72
_ROW = 15.0
_WIDTH, _MARGIN, _TOP, _FOOT = 920.0, 62.0, 40.0, 46.0


def svg(scores: Sequence[Score]) -> str:
    """Draw the plot."""
    factors = by_factor(scores)
    height = _TOP + _FOOT + _ROW * sum(len(levels) + 1 for levels in factors.values())
    with drawing():
        figure = Figure(figsize=(_WIDTH / _INCH, height / _INCH), dpi=_INCH, facecolor="white")
        FigureCanvasSVG(figure)
        body = (height - _TOP - _FOOT) / height
        _cells(figure.add_axes((_MARGIN / _WIDTH, _FOOT / height, 0.56, body)), scores)
        _strips(figure.add_axes((0.76, _FOOT / height, 0.22, body)), factors)
        drawn = io.BytesIO()
        matplotlib.rcParams["svg.hashsalt"] = "loadstone validation"
        figure.savefig(drawn, format="svg", metadata=NOTHING)
    return drawn.getvalue().decode()


def _cells(axes: Axes, scores: Sequence[Score]) -> None:
    """Draw a dot for each cell: the kernel's time to the right, the error upward."""
    _scale(axes, "y")
    axes.set_xscale("log")
    axes.set_title("Error of every cell", loc="left", fontsize=12)
    axes.set_xlabel("page load time over the kernel, ms")
    axes.set_ylabel("simulated less measured, %")
    for group, members in judgement.grouped(scores).items():
        colour = _COLOURS.get(group.name, _OTHERS)
        along = [agreement.percentile(score.measured_ms, 0.5) for score in members]
        _dots(axes, along, [_shown(score.error) for score in members], colour)
        # The legend's entry: a line of one dot, for which there are no data.
        axes.plot([], [], linestyle="", marker="o", markersize=5, color=colour, label=group.title)
    if scores:
        axes.legend(loc="lower left", fontsize=9, frameon=False)


def _dots(axes: Axes, xs: Sequence[float], ys: Sequence[float], colour: str) -> None:
    """Draw dots as dashes of next to no length, which take half the room of markers in the file."""
    along = [at for x in xs for at in (x, x * 1.003, math.nan)]
    across = [at for y in ys for at in (y, y, math.nan)]
    axes.add_artist(Line2D(along, across, color=colour, linewidth=3.4, alpha=0.55, solid_capstyle="round"))
    axes.update_datalim(list(zip(xs, ys, strict=True)))
    axes.autoscale_view()


def _shown(error: float) -> float:
    return min(max(error, -_MOST), _MOST)


def _strips(axes: Axes, factors: dict[str, dict[str, list[Score]]]) -> None:
    """Draw a row for each level of each factor: the middle nine tenths, the middle half, the median."""
    _scale(axes, "x")
    axes.set_title("By factor: 5-95 %, 25-75 %, median", loc="right", fontsize=12)
    axes.set_xlabel("simulated less measured, %")
    names: list[str] = []
    for factor, levels in factors.items():
        names.append(factor)
        for level, members in levels.items():
            _strip(axes, len(names), [score.error for score in members])
            names.append(level)
    axes.set_ylim(len(names), -0.5)
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        if label.get_text() in factors:
            label.set_fontweight("bold")


def _strip(axes: Axes, row: int, errors: Sequence[float]) -> None:
    low, first, median, third, high = (
        _shown(agreement.percentile(errors, share)) for share in (0.05, 0.25, 0.5, 0.75, 0.95)
    )
    axes.plot([low, high], [row, row], color=_BAND, linewidth=9, solid_capstyle="butt")
    axes.plot([first, third], [row, row], color=_MIDDLE, linewidth=9, solid_capstyle="butt")
    axes.plot([median, median], [row - 0.36, row + 0.36], color=_INK, linewidth=2, solid_capstyle="butt")


def _scale(axes: Axes, which: str) -> None:
    """Give an axis for errors: even up to 1 %, then by decades, so that small and large ones are seen."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("symlog", linthresh=0.01, linscale=1.0)
    (axes.set_xlim if which == "x" else axes.set_ylim)(-_MOST * 1.12, _MOST * 1.12)
    axis.set_ticks(_TICKS, [f"{100 * tick:+g}" if tick else "0" for tick in _TICKS], fontsize=10)
    axis.set_ticks([], minor=True)
    axis.grid(visible=True, color="#e3e8ec", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
