"""The charts of a report, drawn by matplotlib: how the runs are spread, and where their time went."""

import io
import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from loadstone import text
from loadstone.account import PARTS
from loadstone.html import palette, svg
from loadstone.html.palette import HATCHES, Stroke

MOST_DOTS = 200
"""More runs are shown as a hundred dots, each of which stands for a hundredth of them."""

NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}
_INCH = 72
_HEAVY = 700
# The widest of the fonts that a system may have.
_CHARACTER = 0.66


@dataclass(frozen=True)
class Variant:
    """What the charts need of a variant."""

    name: str
    is_best: bool
    runs: list[tuple[int, float]]
    """Seed and page load time of each completed run."""
    median_ms: float | None
    account: dict[str, float] | None

    @property
    def title(self) -> str:
        """Give the name; the best one has a star."""
        return f"\N{BLACK STAR} {self.name}" if self.is_best else self.name


@dataclass(frozen=True)
class Form:
    """A size a chart is drawn for. Lengths are pixels where it is shown in full size."""

    name: str
    width: float
    left: float
    right: float
    names_above: bool
    """Whether the variants' names have a line of their own."""
    dot: float
    ticks: int


FORMS = (
    Form("wide", 920, left=220, right=100, names_above=False, dot=4.0, ticks=7),
    Form("narrow", 358, left=14, right=30, names_above=True, dot=3.2, ticks=4),
)

_FOOT = 28
_SIZE = 12.5
_SMALL = 11.0


@dataclass
class _Chart:
    """A chart being drawn: time to the right, pixels downward."""

    form: Form
    rows: int
    row: float
    low: float
    high: float
    band: tuple[float, float]
    """Where in a row the marks are; the rest is for text if names stand above."""
    tips: dict[str, list[str]] = field(default_factory=dict)
    strokes: dict[str, list[Stroke]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        form = self.form
        self.body = self.rows * self.row
        height = self.body + _FOOT
        self.figure = Figure(figsize=(form.width / _INCH, height / _INCH), dpi=_INCH)
        FigureCanvasSVG(self.figure)
        self.figure.patch.set_visible(False)
        span = (form.width - form.left - form.right) / form.width
        self.axes: Axes = self.figure.add_axes(
            (form.left / form.width, _FOOT / height, span, self.body / height)
        )
        self.axes.set_axis_off()
        self.axes.set_xlim(self.low, self.high)
        self.axes.set_ylim(self.body, 0)
        self._rule()

    @property
    def pixel(self) -> float:
        """Say how many milliseconds a pixel is."""
        return (self.high - self.low) / (self.form.width - self.form.left - self.form.right)

    def _rule(self) -> None:
        """Draw the scale; a label that would leave the drawing is left out with its line."""
        ticks = MaxNLocator(self.form.ticks, steps=[1, 2, 5, 10]).tick_values(self.low, self.high)
        decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0])))
        shown = []
        for tick in map(float, ticks):
            label = f"{tick:,.{decimals}f} ms" if tick else "0"
            half = len(label) * _SMALL * _CHARACTER / 2
            at = self.form.left + (tick - self.low) / self.pixel
            if self.low <= tick <= self.high and half <= at <= self.form.width - half:
                shown.append(tick)
                self.write(tick, self.body + 19, label, size=_SMALL, colour=palette.MUTED, align="center")
        begins = [at * self.row for at in range(self.rows)] if self.form.names_above else []
        for begin in begins:
            self.lines(shown, (begin + self.band[0], begin + self.band[1]), palette.LINE, 1)
        if not begins:
            self.lines(shown, (0, self.body + 4), palette.LINE, 1)

    def write(self, x: float, y: float, what: str, **how: Any) -> None:
        """Write text with its baseline at `y`."""
        self.axes.text(
            x,
            y,
            what,
            fontsize=how.get("size", _SIZE),
            color=how.get("colour", palette.INK),
            ha=how.get("align", "left"),
            va="baseline",
            fontweight=_HEAVY if how.get("heavy") else 400,
            parse_math=False,
        )

    def head(self, variant: Variant, top: float, middle: float, figure: str) -> None:
        """Write a variant's name and its figure: next to its row, or above it."""
        form = self.form
        edge = self.low - form.left * self.pixel
        end = edge + form.width * self.pixel
        base = top + 16 if form.names_above else middle + 4.5
        self.write(edge, base, variant.title, heavy=variant.is_best)
        self.write(end, base, figure, align="right", heavy=variant.is_best)

    def box(self, x: tuple[float, float], y: tuple[float, float], colour: str, gid: str) -> None:
        """Fill a rectangle."""
        corner, width, height = (x[0], y[0]), x[1] - x[0], y[1] - y[0]
        box = Rectangle(corner, width, height, facecolor=colour, linewidth=0, gid=gid, zorder=1)
        self.axes.add_artist(box)

    def lines(
        self, xs: Sequence[float], y: tuple[float, float], colour: str, width: float, order: int = 0
    ) -> None:
        """Draw vertical lines."""
        along = [at for x in xs for at in (x, x, math.nan)]
        across = [*y, math.nan] * len(xs)
        self.axes.add_artist(
            Line2D(along, across, color=colour, linewidth=width, zorder=order, solid_capstyle="butt")
        )

    def hatch(self, part: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Cover a rectangle with the pattern of a part, when all are known."""
        box = (x[0] / self.pixel, y[0], x[1] / self.pixel, y[1])
        self.strokes.setdefault(part, []).extend(HATCHES[part].strokes(box))

    def _draw_hatches(self) -> None:
        for part, strokes in self.strokes.items():
            pattern = HATCHES[part]
            along = [at for x1, _, x2, _ in strokes for at in (x1 * self.pixel, x2 * self.pixel, math.nan)]
            across = [at for _, y1, _, y2 in strokes for at in (y1, y2, math.nan)]
            line = Line2D(along, across, color=palette.of_hatch(part), linewidth=pattern.width, zorder=1.5)
            line.set_solid_capstyle("butt")
            if pattern.dotted:
                # Dots are dashes without length, with round ends; dashes are counted in line widths.
                line.set_dashes((0.001, pattern.gap / pattern.width))
                line.set_dash_capstyle("round")
            self.axes.add_artist(line)

    def finish(self, label: str, salt: str) -> Markup:
        """Give the drawing; `salt` tells it from the page's others."""
        self._draw_hatches()
        drawn = io.BytesIO()
        matplotlib.rcParams["svg.hashsalt"] = f"loadstone {salt} {self.form.name}"
        self.figure.savefig(drawn, format="svg", metadata=NOTHING)
        return svg.adopt(drawn.getvalue(), label, self.form.name, self.tips)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw within: by matplotlib's own settings, whatever the user's are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.fonttype"] = "none"
        matplotlib.rcParams["path.simplify"] = False
        yield


# --- how the runs are spread ---


def spread(variants: Sequence[Variant], form: Form, salt: str) -> Markup:
    """Draw every run as a dot, with the median and, of several runs, the middle half."""
    several = any(len(variant.runs) > 1 for variant in variants)
    reach = 13.0 if several else 6.0
    above = 24.0 if form.names_above else 7.0
    row = above + 2 * reach + 9
    chart = _Chart(form, len(variants), row, *_limits(variants), band=(above - 3, row - 6))
    for at, variant in enumerate(variants):
        top = at * row
        middle = top + above + reach
        chart.head(variant, top, middle, text.ms(variant.median_ms))
        if variant.median_ms is not None:
            _spread_row(chart, at, variant, (middle, reach))
    return chart.finish("Page load time of every run, by variant", salt)


def _limits(variants: Sequence[Variant]) -> tuple[float, float]:
    times = [ms for variant in variants for _, ms in variant.runs] or [0.0, 1.0]
    margin = max((max(times) - min(times)) * 0.06, max(times) * 0.01)
    return min(times) - margin, max(times) + margin


def _spread_row(chart: _Chart, at: int, variant: Variant, place: tuple[float, float]) -> None:
    middle, reach = place
    times = [ms for _, ms in variant.runs]
    median = statistics.median(times)
    if len(times) > 1:
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        chart.box((low, high), (middle - reach, middle + reach), palette.BAND, f"band-{at}")
        chart.tips[f"band-{at}"] = [
            f"{variant.name}\nmedian {text.ms(median)} of {text.count(len(times), 'run')}\n"
            f"middle half {text.ms(low)} to {text.ms(high)}\n"
            f"all {text.ms(min(times))} to {text.ms(max(times))}"
        ]
    dots, tips = _dots(variant)
    offsets = _swarm([ms / chart.pixel for ms in dots], chart.form.dot, reach)
    colour = palette.BEST if variant.is_best else palette.DOT
    ys = [middle + offset for offset in offsets]
    size = (2 * chart.form.dot) ** 2
    chart.axes.scatter(dots, ys, s=size, c=colour, linewidths=0, gid=f"dots-{at}", zorder=2)
    chart.tips[f"dots-{at}"] = tips
    if len(times) > 1:
        chart.lines([median], (middle - reach - 3, middle + reach + 3), palette.INK, 2, order=3)


def _dots(variant: Variant) -> tuple[list[float], list[str]]:
    """Give the dots from left to right, and what each says."""
    runs = sorted(variant.runs, key=lambda run: run[::-1])
    if len(runs) <= MOST_DOTS:
        return [ms for _, ms in runs], [f"{variant.name}, seed {seed}\n{text.ms(ms)}" for seed, ms in runs]
    times = [runs[(2 * k + 1) * len(runs) // 200][1] for k in range(100)]
    return times, [
        f"{variant.name}\n{k + 0.5:.1f} % of {text.count(len(runs), 'run')} took no more than {text.ms(ms)}"
        for k, ms in enumerate(times)
    ]


def _swarm(xs: Sequence[float], radius: float, reach: float) -> list[float]:
    """Move dots, in order from left to right, up and down until they do not hide one another."""
    steps = [0.0]
    for k in range(1, int((reach - radius / 2) / radius) + 1):
        steps += [k * radius, -k * radius]
    placed: list[tuple[float, float]] = []
    for x in xs:
        near = [(px, py) for px, py in placed[-60:] if x - px < 2 * radius]
        free = (
            y for y in steps if all((x - px) ** 2 + (y - py) ** 2 >= (1.9 * radius) ** 2 for px, py in near)
        )
        placed.append((x, next(free, 0.0)))
    return [y for _, y in placed]


# --- where the time went ---


def accounts(variants: Sequence[Variant], form: Form, salt: str) -> Markup:
    """Draw the account of each variant's median run as a bar of its parts."""
    row, above = (66.0, 40.0) if form.names_above else (50.0, 20.0)
    longest = max((variant.median_ms or 0.0 for variant in variants), default=0.0)
    chart = _Chart(form, len(variants), row, 0.0, longest or 1.0, band=(above - 4, above + 23))
    for at, variant in enumerate(variants):
        top = at * row
        bar = top + above
        chart.head(variant, top, bar + 9, text.ms(variant.median_ms))
        if variant.account is not None:
            _account_row(chart, at, variant, variant.account, bar)
    return chart.finish("Where the time of each variant's median run went", salt)


def _account_row(chart: _Chart, at: int, variant: Variant, account: dict[str, float], top: float) -> None:
    begin = 0.0
    total = sum(account.values())
    ends = []
    for part, words in PARTS.items():
        spent = account[part]
        if spent <= 0:
            continue
        gid = f"{part}-{at}"
        chart.box((begin, begin + spent), (top, top + 19), palette.of_part(part), gid)
        chart.hatch(part, (begin, begin + spent), (top, top + 19))
        chart.tips[gid] = [
            f"{variant.name}\n{words.label}: {text.ms(spent)}\n{spent / total:.0%} of {text.ms(total)}"
        ]
        label = f"{spent:,.0f}"
        if spent / chart.pixel > len(label) * _SMALL * _CHARACTER + 4 and spent >= 0.5:
            middle = begin + spent / 2
            chart.write(middle, top - 5, label, size=_SMALL, colour=palette.MUTED, align="center")
        begin += spent
        ends.append(begin)
    chart.lines(ends, (top, top + 19), palette.PAGE, 1, order=2)
