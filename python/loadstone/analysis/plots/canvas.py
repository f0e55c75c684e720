"""What plots are drawn on: panels measured in pixels, strokes that need no colour, and the finished plot.

As in the report, colours are placeholders for which the page's style sheet has the light and the dark ones.
"""

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from loadstone import text
from loadstone.analysis.plots import svg
from loadstone.analysis.plots.svg import NOTHING, drawing
from loadstone.html import palette
from loadstone.html.palette import Box, Hatch

WIDTH = 920.0
SIZE = 12.5
SMALL = 11.0
_INCH = 72
_CHARACTER = 0.6
_COLOURS = re.compile(
    r"^(?::root|@media screen and \(prefers-color-scheme: dark\)) \{.*?^\}", re.DOTALL | re.M
)
_PATTERNS = (
    Hatch(),
    Hatch(leaning=(1.0,), gap=6.0),
    Hatch(dotted=True, gap=5.0, width=2.0),
    Hatch(leaning=(-1.0,), gap=6.0),
    Hatch(leaning=(0.0,), gap=5.0),
    Hatch(leaning=(1.0, -1.0), gap=8.0),
    Hatch(level=True, gap=4.0),
)
_LONGEST = 24
"""Characters of a name."""
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

    def mark(self) -> dict[str, Any]:
        """Give its marks as matplotlib's settings for a line."""
        return {
            "marker": self.marker,
            # A triangle of the same size looks smaller.
            "markersize": 8.5 if self.marker in "^v<>" else 7,
            "markeredgewidth": 0.8,
            "markerfacecolor": self.colour,
            "markeredgecolor": palette.PAGE,
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
        title, caption = text.harmless(title), text.harmless(caption)
        with warnings.catch_warnings():
            # Text stays text, so it is the reader's fonts that matter.
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
            self.figure.savefig(drawn, format="svg", metadata=NOTHING)
        return Plot(name, title, svg.adopt(drawn.getvalue(), title, "plot"), caption)


def fill(axes: Axes, box: Box, at: int, colour: str) -> None:
    """Fill a rectangle of a sheet as one of the things that patterns tell apart."""
    left, top, right, bottom = box
    corner, wide, high = (left, top), right - left, bottom - top
    axes.add_artist(Rectangle(corner, wide, high, facecolor=colour, alpha=0.35, linewidth=0))
    pattern = _PATTERNS[at % len(_PATTERNS)]
    strokes = pattern.strokes(box)
    along = [x for x1, _, x2, _ in strokes for x in (x1, x2, math.nan)]
    across = [y for _, y1, _, y2 in strokes for y in (y1, y2, math.nan)]
    lines = Line2D(along, across, color=colour, linewidth=pattern.width, solid_capstyle="butt")
    if pattern.dotted:
        # Dots are dashes without length, with round ends; dashes are counted in line widths.
        lines.set_dashes((0.001, pattern.gap / pattern.width))
        lines.set_dash_capstyle("round")
    if strokes:
        axes.add_artist(lines)


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
    """Cut a name to what fits next to a plot."""
    return text.shorten(text.harmless(words), _LONGEST)


def labels(names: Sequence[str]) -> list[str]:
    """Cut names to what fits, around what tells them apart if they would look alike otherwise."""
    short = [label(name) for name in names]
    if len(set(short)) < len(set(names)):
        begin = _alike(names)
        end = _alike([name[begin:][::-1] for name in names])
        longest = max(len(name) - begin - end for name in names)
        around = max(0, (_LONGEST - 6 - longest) // 2)
        short = [
            label(_cut(name, max(0, begin - around), min(len(name), len(name) - end + around)))
            for name in names
        ]
    if len(set(short)) < len(set(names)):
        return [f"{at}: {text.shorten(one, _LONGEST - 5)}" for at, one in enumerate(short, 1)]
    return short


def _alike(names: Sequence[str]) -> int:
    """Say with how many characters all of them begin."""
    columns = enumerate(zip(*names, strict=False))
    return next((at for at, column in columns if len(set(column)) > 1), min(map(len, names)))


def _cut(name: str, begin: int, end: int) -> str:
    return f"{'...' if begin else ''}{name[begin:end]}{'...' if end < len(name) else ''}"


def name_lines(axes: Axes, lines: Sequence[tuple[str, float, Stroke]], height: float) -> None:
    """Write the names of lines next to their ends, each after a piece of its line, so that none overlap."""
    bottom = float(axes.transAxes.transform((0, 0))[1])
    wide = float(axes.transAxes.transform((1, 0))[0] - axes.transAxes.transform((0, 0))[0])
    ends = [float(axes.transData.transform((0, end))[1]) - bottom for _, end, _ in lines]
    for (name, _, drawn), end in zip(lines, apart(ends, 15.0, 0.0, height), strict=True):
        left, middle, right = (1 + pixels / wide for pixels in (8, 22, 36))
        y = end / height
        how: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
        axes.add_artist(Line2D([left, right], [y, y], **drawn.line(), **how))
        axes.add_artist(Line2D([middle], [y], linestyle="", **drawn.mark(), **how))
        axes.text(1 + 42 / wide, y, name, va="center_baseline", color=palette.INK, transform=axes.transAxes)


def names_room(names: Iterable[str]) -> float:
    """Say how much room `name_lines` takes to the right."""
    return 50 + room(list(names))


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
