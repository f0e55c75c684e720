"""How the gain is spread over pages or conditions: under how many a challenger is faster, and by how much."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes

from loadstone.analysis.features import factors, present, rows_at
from loadstone.analysis.plots.canvas import (
    WIDTH,
    Canvas,
    Plot,
    Stroke,
    label,
    name_lines,
    names_room,
    plotting,
    stroke,
)  # fmt: skip
from loadstone.analysis.question import Question, named, spelled
from loadstone.html import palette

PAGE = "page"
NETWORK = "network"
LEAST_PAGES = 5
"""Fewer pages are no distribution; it is over all conditions then."""
MOST_CURVES = 6
"""With more than that, networks have no curves of their own."""
_LEFT, _TOP, _BODY, _FOOT = 64.0, 14.0, 300.0, 46.0
_TICKS = (1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Curve:
    """The gains of a challenger, ascending."""

    name: str
    """Short enough to stand next to it."""
    gains: list[float]
    stroke: Stroke

    @property
    def above_one(self) -> float:
        """Give the share of them above 1."""
        return sum(gain > 1 for gain in self.gains) / len(self.gains)

    @property
    def up_to_one(self) -> float:
        """Give the share of them that is not."""
        return 1 - self.above_one

    @property
    def title(self) -> str:
        """Give name and share."""
        return f"{self.name}, above 1: {self.above_one:.0%}"


def draw(gains: pl.DataFrame, question: Question) -> list[Plot]:
    """Draw the distribution; of fewer than two conditions there is none."""
    known = gains.filter(pl.col("gain").is_finite() & (pl.col("gain") > 0))
    things, curves = _curves(known, question)
    if not curves or max(len(curve.gains) for curve in curves) < 2:
        return []
    base = named(question.compared, question.baseline)
    each = [named(question.compared, level) for level in question.challengers]
    who = each[0] if len(each) == 1 else "each challenger"
    under = "On" if things == "pages" else "Under"
    title = f"{under} how many {things} is {who} faster than {base}, and by how much?"
    with plotting():
        right = WIDTH - names_room(curve.title for curve in curves)
        canvas = Canvas(WIDTH, _TOP + _BODY + _FOOT)
        axes = canvas.panel(_LEFT, _TOP, right, _TOP + _BODY)
        _scales(axes, curves, things, base)
        for curve in curves:
            _step(axes, curve)
        name_lines(axes, [(curve.title, 1 - curve.above_one / 2, curve.stroke) for curve in curves], _BODY)
        return [canvas.finish("distribution", title, _caption(known, question, things, curves))]


def _curves(known: pl.DataFrame, question: Question) -> tuple[str, list[Curve]]:
    """Give what is counted, and the curves."""
    of_page = PAGE in question.others and known[PAGE].n_unique() >= LEAST_PAGES
    networks = present(known, question, NETWORK) if NETWORK in question.others and len(known) else []
    by_network = len(networks) > 1 and len(networks) * len(question.challengers) <= MOST_CURVES
    curves: list[Curve] = []
    compared = question.factors[question.compared]
    for level in question.challengers:
        who, rows = named(question.compared, level), rows_at(known, question.compared, [level])
        parts = [(who, rows)]
        if by_network:
            parts = [(f"{who}, {spelled(one)}", rows_at(rows, NETWORK, [one])) for one in networks]
        for name, part in parts:
            if of_page:
                part = part.group_by(PAGE, maintain_order=True).agg(gain=pl.col("gain").log().mean().exp())
            at = len(curves) if by_network else compared.index(level)
            if len(part):
                curves.append(Curve(label(name), sorted(part["gain"].to_list()), stroke(at)))
    return "pages" if of_page else "conditions", curves


def _scales(axes: Axes, curves: Sequence[Curve], things: str, base: str) -> None:
    low = min(min(curve.gains[0] for curve in curves), 1.0)
    high = max(max(curve.gains[-1] for curve in curves), 1.0)
    margin = max((high / low) ** 0.04, 1.01)
    axes.set_xscale("log")
    axes.set_xlim(low / margin, high * margin)
    axes.set_ylim(0, 1)
    axes.set_xticks([], minor=True)
    ticks = _ticks(low / margin, high * margin)
    axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.grid(visible=True)
    axes.axvline(1.0, color=palette.MUTED, linewidth=1.2)
    axes.set_xlabel(f"gain over {label(base)} (above 1 is faster)")
    axes.set_ylabel(f"share of {things} with that gain or less")


def _ticks(low: float, high: float) -> list[float]:
    """Choose round gains, at most about ten; what is one over a round one counts as round below 1."""
    if high / low < 1.5:
        step = next(step for step in (0.01, 0.02, 0.05, 0.1) if (high - low) / step <= 9)
        first, last = math.ceil(low / step), math.floor(high / step)
        return [at * step for at in range(first, last + 1)]
    below = (0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
    near = [tick for tick in sorted((*below, *_TICKS)) if low <= tick <= high]
    return near if len(near) <= 10 else [tick for tick in near if tick not in (0.9, 0.7, 1.1, 0.8, 1.2)]


def _step(axes: Axes, curve: Curve) -> None:
    """Draw the curve from edge to edge, a mark where it crosses 1, and a few along it."""
    count = len(curve.gains)
    low, high = axes.get_xlim()
    xs = [low, *(gain for gain in curve.gains for _ in (0, 1)), high]
    ys = [0.0, *(at / count for k in range(count) for at in (k, k + 1)), 1.0]
    axes.plot(xs, ys, **curve.stroke.line())
    some = [curve.gains[min(count - 1, round(share * (count - 1)))] for share in (0.1, 0.3, 0.5, 0.7, 0.9)]
    heights = [sum(gain <= one for gain in curve.gains) / count for one in some]
    axes.plot(some, heights, linestyle="", **curve.stroke.mark())
    crossing = {
        **curve.stroke.mark(),
        "markerfacecolor": palette.PAGE,
        "markeredgecolor": curve.stroke.colour,
    }
    axes.plot([1.0], [curve.up_to_one], linestyle="", **{**crossing, "markersize": 9, "markeredgewidth": 1.6})


def _caption(known: pl.DataFrame, question: Question, things: str, curves: Sequence[Curve]) -> str:
    shares = ", ".join(f"{curve.name} on {curve.above_one:.0%} of {len(curve.gains):,}" for curve in curves)
    averaged = [
        factor.name
        for factor in factors(known, question)
        if factor.name != PAGE and not (factor.name == NETWORK and len(curves) > len(question.challengers))
    ]
    is_mean = things == "pages" and averaged
    mean = f" The gain of a page is the geometric mean over {' and '.join(averaged)}." if is_mean else ""
    return (
        f"Above 1, by however little and whatever chance has to do with it: {shares}. "
        f"A hollow mark shows where a curve crosses 1.{mean}"
    )
