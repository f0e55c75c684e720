"""The charts of a report as SVG: how the runs are spread, and where their time went.

Marks have no styles of their own, which the page's security policy refuses. What they say on hover and
focus is in `data-tip`.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markupsafe import Markup

from loadstone import text
from loadstone.account import PARTS
from loadstone.html import palette
from loadstone.html.palette import HATCHES, Stroke

MOST_DOTS = 200
"""More runs are shown as a hundred dots, each of which stands for a hundredth of them."""

_HEAVY = "700"
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
    marks: list[tuple[float, Element]] = field(default_factory=list)
    """With their order from back to front."""
    strokes: dict[str, list[Stroke]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.body = self.rows * self.row
        self._rule()

    @property
    def pixel(self) -> float:
        """Say how many milliseconds a pixel is."""
        return (self.high - self.low) / (self.form.width - self.form.left - self.form.right)

    def at(self, ms: float) -> float:
        """Give the place of a time, in pixels from the left."""
        return self.form.left + (ms - self.low) / self.pixel

    def _rule(self) -> None:
        """Draw the scale; a label that would leave the drawing is left out with its line."""
        step = _step((self.high - self.low) / self.form.ticks)
        decimals = max(0, -math.floor(math.log10(step)))
        shown = []
        for tick in (step * at for at in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)):
            label = f"{tick:,.{decimals}f} ms" if tick else "0"
            half = len(label) * _SMALL * _CHARACTER / 2
            if half <= self.at(tick) <= self.form.width - half:
                shown.append(tick)
                self.write(
                    self.at(tick), self.body + 19, label, size=_SMALL, colour=palette.MUTED, align="middle"
                )
        if not self.form.names_above:
            self.lines(shown, (0, self.body + 4), palette.LINE, 1)
            return
        for begin in (at * self.row for at in range(self.rows)):
            self.lines(shown, (begin + self.band[0], begin + self.band[1]), palette.LINE, 1)

    def _add(self, order: float, tag: str, **attributes: str | float) -> Element:
        named = {name.replace("_", "-"): _number(value) for name, value in attributes.items()}
        mark = Element(tag, named)
        self.marks.append((order, mark))
        return mark

    def write(self, x: float, y: float, what: str, **how: Any) -> None:
        """Write text with its baseline at `y`, both in pixels."""
        written = self._add(
            3,
            "text",
            x=x,
            y=y,
            font_size=how.get("size", _SIZE),
            fill=palette.paint(how.get("colour", palette.INK)),
            text_anchor=how.get("align", "start"),
        )
        if how.get("heavy"):
            written.set("font-weight", _HEAVY)
        written.text = what

    def head(self, variant: Variant, top: float, middle: float, figure: str) -> None:
        """Write a variant's name and its figure: next to its row, or above it."""
        base = top + 16 if self.form.names_above else middle + 4.5
        self.write(0, base, variant.title, heavy=variant.is_best)
        self.write(self.form.width, base, figure, align="end", heavy=variant.is_best)

    def box(self, x: tuple[float, float], y: tuple[float, float], colour: str, row: int, tip: str) -> None:
        """Fill a rectangle, which says `tip`."""
        width, height = (x[1] - x[0]) / self.pixel, y[1] - y[0]
        fill = palette.paint(colour)
        mark = self._add(1, "rect", x=self.at(x[0]), y=y[0], width=width, height=height, fill=fill)
        _speak(mark, row, tip)

    def dot(self, x: float, y: float, colour: str, row: int, tip: str) -> None:
        """Draw a dot, which says `tip`."""
        mark = self._add(2, "circle", cx=self.at(x), cy=y, r=self.form.dot, fill=palette.paint(colour))
        _speak(mark, row, tip)

    def lines(
        self, xs: Sequence[float], y: tuple[float, float], colour: str, width: float, order: float = 0
    ) -> None:
        """Draw vertical lines."""
        if xs:
            path = "".join(f"M{_number(self.at(x))} {_number(y[0])}V{_number(y[1])}" for x in xs)
            self._add(order, "path", d=path, stroke=palette.paint(colour), stroke_width=width)

    def hatch(self, part: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Cover a rectangle with the pattern of a part, when all are known."""
        box = (self.at(x[0]), y[0], self.at(x[1]), y[1])
        self.strokes.setdefault(part, []).extend(HATCHES[part].strokes(box))

    def _draw_hatches(self) -> None:
        for part, strokes in self.strokes.items():
            if not strokes:
                continue
            pattern = HATCHES[part]
            path = "".join("M{} {}L{} {}".format(*map(_number, stroke)) for stroke in strokes)
            line = self._add(
                1.5,
                "path",
                d=path,
                stroke=palette.paint(palette.of_hatch(part)),
                stroke_width=pattern.width,
            )
            if pattern.dotted:
                # Dots are dashes without length, with round ends.
                line.attrib |= {"stroke-dasharray": f"0 {_number(pattern.gap)}", "stroke-linecap": "round"}

    def finish(self, label: str) -> Markup:
        """Give the drawing."""
        self._draw_hatches()
        box = f"0 0 {_number(self.form.width)} {_number(self.body + _FOOT)}"
        shape = {"class": f"chart {self.form.name}", "viewBox": box, "role": "group", "aria-label": label}
        root = Element("svg", shape)
        root.extend(mark for _, mark in sorted(self.marks, key=lambda ordered: ordered[0]))
        # Tab goes to the first mark, the arrow keys to the others.
        for at, mark in enumerate(each for each in root if "data-tip" in each.attrib):
            mark.set("tabindex", "-1" if at else "0")
        # Text follows each element on a line of its own otherwise.
        return Markup(ElementTree.tostring(root, encoding="unicode"))


def _step(least: float) -> float:
    """Give the next number of 1, 2, 5, 10, 20, ... that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _speak(mark: Element, row: int, tip: str) -> None:
    """Let a mark say something; `data-row` says which stand side by side."""
    mark.attrib |= {"role": "img", "data-row": f"{row}", "data-tip": tip}


# --- how the runs are spread ---


def spread(variants: Sequence[Variant], form: Form) -> Markup:
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
    return chart.finish("Page load time of every run, by variant")


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
        tip = (
            f"{variant.name}\nmedian {text.ms(median)} of {text.count(len(times), 'run')}\n"
            f"middle half {text.ms(low)} to {text.ms(high)}\n"
            f"all {text.ms(min(times))} to {text.ms(max(times))}"
        )
        chart.box((low, high), (middle - reach, middle + reach), palette.BAND, at, tip)
    dots, tips = _dots(variant)
    offsets = _swarm([ms / chart.pixel for ms in dots], chart.form.dot, reach)
    colour = palette.BEST if variant.is_best else palette.DOT
    for ms, offset, tip in zip(dots, offsets, tips, strict=True):
        chart.dot(ms, middle + offset, colour, at, tip)
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


def accounts(variants: Sequence[Variant], form: Form) -> Markup:
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
    return chart.finish("Where the time of each variant's median run went")


def _account_row(chart: _Chart, at: int, variant: Variant, account: dict[str, float], top: float) -> None:
    begin = 0.0
    total = sum(account.values())
    ends = []
    for part, words in PARTS.items():
        spent = account[part]
        if spent <= 0:
            continue
        tip = f"{variant.name}\n{words.label}: {text.ms(spent)}\n{spent / total:.0%} of {text.ms(total)}"
        chart.box((begin, begin + spent), (top, top + 19), palette.of_part(part), at, tip)
        chart.hatch(part, (begin, begin + spent), (top, top + 19))
        label = f"{spent:,.0f}"
        if spent / chart.pixel > len(label) * _SMALL * _CHARACTER + 4 and spent >= 0.5:
            middle = chart.at(begin + spent / 2)
            chart.write(middle, top - 5, label, size=_SMALL, colour=palette.MUTED, align="middle")
        begin += spent
        ends.append(begin)
    chart.lines(ends, (top, top + 19), palette.PAGE, 1, order=2)
