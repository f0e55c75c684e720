"""What plots are drawn on: panels measured in pixels, strokes that need no colour, and the finished plot.

As in the report, colours are placeholders for which the page's style sheet has the light and the dark ones.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from loadstone import text
from loadstone.html import palette, svg
from loadstone.html.charts import NOTHING, drawing

WIDTH = 920.0
SIZE = 12.5
SMALL = 11.0
_INCH = 72
_CHARACTER = 0.6
_COLOURS = re.compile(r"^(?::root|@media screen and \(prefers-color-scheme: dark\)) \{.*?^\}", re.DOTALL | re.M)
_MARKERS = "os^Dv<>"
_DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (1.5, 1.5), (8, 2, 1.5, 2), (3, 1.2), (12, 3))


@dataclass(frozen=True)
class Plot:
    """A plot that is part of a page."""

    name: str
    """What it is called among others: `trend-loss`."""
    title: str
    """The question that it answers."""
    svg: str
    """The drawing, with the colours of the style sheet of reports."""
    caption: str
    """How to read it, and what was left out."""

    def standalone(self) -> str:
        """Give the drawing as a file of its own, with colours, on a ground of its own."""
        sheet = resources.files("loadstone.html").joinpath("report.css").read_text("utf-8")
        colours = "\n".join(_COLOURS.findall(sheet))
        box = re.search(r'viewBox="0 0 (\S+) (\S+)"', self.svg)
        assert box is not None
        style = f"<style>{colours}\nsvg {{ background: var(--page); font-family: sans-serif; }}</style>"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{box[1]}" height="{box[2]}" '
        return re.sub(r">", lambda _: f">{style}", self.svg, count=1).replace("<svg ", head, 1)

    def _repr_svg_(self) -> str:
        """Show it in a notebook."""
        return self.standalone()


@dataclass(frozen=True)
class Stroke:
    """How a line is told from the others, by its marks and dashes alone if need be."""

    colour: str
    marker: str
    dashes: tuple[float, ...]

    def line(self, width: float = 1.8) -> dict[str, Any]:
        """Give it as matplotlib's settings for a line."""
        return {
            "color": self.colour,
            "linewidth": width,
            "linestyle": (0, self.dashes) if self.dashes else "-",
            "dash_capstyle": "butt",
        }


def stroke(at: int) -> Stroke:
    """Give the stroke of a line; 42 are different without their colours."""
    colours = palette.SERIES
    return Stroke(colours[at % len(colours)], _MARKERS[at % len(_MARKERS)], _DASHES[at % len(_DASHES)])


class Canvas:
    """A drawing that is begun. All lengths are pixels, counted from the top left."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width / _INCH, height / _INCH), dpi=_INCH)
        FigureCanvasSVG(self.figure)
        self.figure.patch.set_visible(False)

    def panel(self, left: float, top: float, right: float, bottom: float) -> Axes:
        """Add axes between these distances from the left and the top."""
        box = (
            left / self.width,
            1 - bottom / self.height,
            (right - left) / self.width,
            (bottom - top) / self.height,
        )
        axes = self.figure.add_axes(box)
        axes.patch.set_visible(False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(length=0, pad=6)
        axes.set_axisbelow(True)
        return axes

    def sheet(self) -> Axes:
        """Add axes over all of it whose units are pixels."""
        axes = self.figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        return axes

    def finish(self, name: str, title: str, caption: str) -> Plot:
        """Give the plot."""
        drawn = io.BytesIO()
        # It tells the plot's marks from those of others on the same page.
        matplotlib.rcParams["svg.hashsalt"] = f"loadstone analysis {name}"
        self.figure.savefig(drawn, format="svg", metadata=NOTHING)
        return Plot(name, title, str(svg.adopt(drawn.getvalue(), title, "plot", {})), caption)


@contextmanager
def plotting() -> Iterator[None]:
    """Draw within: in the page's colours, with text taken as it stands."""
    with drawing():
        matplotlib.rcParams.update(
            {
                "font.size": SMALL,
                "text.color": palette.INK,
                "text.parse_math": False,
                "axes.labelcolor": palette.MUTED,
                "axes.labelsize": SMALL,
                "axes.edgecolor": palette.LINE,
                "axes.grid": False,
                "axes.unicode_minus": False,
                "grid.color": palette.LINE,
                "grid.linewidth": 1,
                "xtick.color": palette.MUTED,
                "ytick.color": palette.MUTED,
                "xtick.labelsize": SMALL,
                "ytick.labelsize": SMALL,
            }
        )
        yield


def room(texts: Sequence[str], size: float = SMALL) -> float:
    """Say how wide the widest of some texts is at most, whatever font a system has."""
    return max((len(one) for one in texts), default=0) * size * _CHARACTER


def label(words: str) -> str:
    """Cut a level's name to what fits beside a plot."""
    return text.shorten(text.harmless(words), 24)


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move places, as little as is simple, until none is nearer to another than `gap`."""
    order = sorted(range(len(places)), key=lambda at: places[at])
    moved = list(places)
    for before, at in zip([None, *order], order, strict=False):
        moved[at] = max(moved[at], low if before is None else moved[before] + gap)
    over = max(0.0, max(moved, default=0.0) - high)
    for after, at in zip([None, *reversed(order)], reversed(order), strict=False):
        moved[at] = moved[at] - over if after is None else min(moved[at], moved[after] - gap)
    return moved
