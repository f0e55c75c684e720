"""The report of a validation as files: `validation.md` and its plot, `validation.svg`.

Nothing in them is of the moment, so the same measurements and engine give the same bytes.
"""

import io
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone import files, text
from loadstone.analysis.plots.svg import NOTHING, drawing
from loadstone.files import Kind
from loadstone.studies.validation import accuracy, agreement, validation_report
from loadstone.studies.validation.grid import FULL, LOSSY_RUNS, QUICK
from loadstone.studies.validation.score import Score, Validation

PAGE, PLOT = "validation.md", "validation.svg"
_REPORT = Kind("report of a validation", b"# Validation: the simulator compared with a live kernel\n")
_DRAWING = Kind("drawing of loadstone", rb"<\?xml [^>]*>\n<!DOCTYPE svg ")

_TEMPLATES = Environment(
    loader=PackageLoader("loadstone.studies.validation", "."),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


@contextmanager
def folder(path: str) -> Iterator[Callable[[Validation], None]]:
    """Give a function that writes the report into a folder; one that cannot be written is refused at once."""
    page_path, plot_path = (str(Path(path) / name) for name in (PAGE, PLOT))
    with files.replacement(page_path, _REPORT) as page, files.replacement(plot_path, _DRAWING) as plot:

        def write(validation: Validation) -> None:
            page(markdown(validation))
            plot(svg(validation.scores))

        yield write


def markdown(validation: Validation) -> str:
    """Write the report."""
    lossy = sum(cell.is_random for cell in FULL.cells)
    source = validation.measured.source
    return _TEMPLATES.get_template("page.md").render(
        loads=text.count(len(validation.measured.measurements), "load"),
        cells=text.count(len(validation.scores), "cell"),
        source=source,
        profile=validation.profile,
        plot=PLOT,
        exact_cells=f"{len(FULL.cells) - lossy:,}",
        lossy_cells=lossy,
        repeats=FULL.repeats,
        lossy_runs=LOSSY_RUNS,
        quick_cells=len(QUICK.cells),
        quick_runs=text.count(len(QUICK.runs()), "load"),
        allowed=agreement.ALLOWED_MS,
        judged=_judged(validation),
        conditions=validation_report.conditions_in_words(validation),
        factors=_factors(validation),
        counts=_counts(validation),
        worst=_worst(validation),
    )


def _judged(validation: Validation) -> str:
    rows = [["what", "cells", "figure", "goal", ""]]
    for group, scores in accuracy.grouped(validation.scores).items():
        rows.append([f"**{group.title}**", f"{len(scores):,}", "", "", ""])
        rows += [[row.what, "", *validation_report.figure(row)] for row in accuracy.rows(group, scores)]
    return _table(rows, left=1)


def _factors(validation: Validation) -> list[tuple[str, str]]:
    groups = accuracy.grouped(validation.scores).items()
    return [(group.title, _by_factor(scores)) for group, scores in groups if group.is_judged]


def _by_factor(scores: Sequence[Score]) -> str:
    rows = [["factor", "level", "cells", "signed", "median", "95 %", "good"]]
    for factor, by_level in by_factor(scores).items():
        for level, members in by_level.items():
            figures = (
                f"{accuracy.signed_error(members):+.2f}",
                f"{accuracy.median_error(members):.2f}",
                f"{accuracy.percentile_error(members, 0.95):.2f}",
                f"{accuracy.share(members, accuracy.is_good):.1f} %",
            )
            rows.append([factor, level, f"{len(members):,}", *figures])
    return _table(rows, left=2)


def _counts(validation: Validation) -> str:
    rows = [["", "count", "kernel", "simulator", "cells that agree to 1 %"]]
    for group, scores in accuracy.grouped(validation.scores).items():
        for count in validation_report.COUNTS:
            pairs = [validation_report.medians_of(score, count) for score in scores]
            agree = sum(abs(simulated - measured) <= 0.01 * measured for measured, simulated in pairs)
            sums = [f"{sum(values):,.0f}" for values in zip(*pairs, strict=True)]
            rows.append([group.title, count.replace("_", " "), *sums, f"{100 * agree / len(pairs):.1f} %"])
    return _table(rows, left=2)


def _worst(validation: Validation) -> str:
    rows = [["cell", "kernel", "its range, ms", "simulated", "off by", "packets down", "sent again"]]
    for score in accuracy.worst(validation.scores, validation_report.WORST):
        times = score.measured_ms
        kernel, simulated = (text.ms(statistics.median(each)) for each in (times, score.simulated_ms))
        shown = [f"{score.cell}", kernel, f"{min(times):,.1f}-{max(times):,.1f}", simulated]
        counts = (validation_report.medians_of(score, count) for count in ("packets_down", "retransmissions"))
        pairs = [" / ".join(f"{value:,.0f}" for value in pair) for pair in counts]
        rows.append([*shown, f"{100 * score.miss:+.1f} %", *pairs])
    return _table(rows, left=1)


def _table(rows: Sequence[Sequence[str]], left: int) -> str:
    head, *body = rows
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))


# --- cells by the levels of each factor ---


_TITLES = {
    "name": "size or page",
    "protocol": "protocol",
    "rate": "rate",
    "rtt": "RTT",
    "queue": "queue",
    "iw": "IW",
    "cc": "congestion control",
    "loss": "loss",
}
"""Factors by which figures are shown. Connections and kind say nothing that protocol and name do not."""


def by_factor(scores: Sequence[Score]) -> dict[str, dict[str, list[Score]]]:
    """Give the scores of each level of each factor that has more than one level here, under their titles."""
    found = {title: _levels(factor, scores) for factor, title in _TITLES.items()}
    return {title: levels for title, levels in found.items() if len(levels) > 1}


def _levels(factor: str, scores: Sequence[Score]) -> dict[str, list[Score]]:
    known = [cell.factors[factor] for cell in FULL.cells]
    levels: dict[str, list[Score]] = {level: [] for level in dict.fromkeys(known)}
    for score in scores:
        levels.setdefault(score.cell.factors[factor], []).append(score)
    return {level: members for level, members in levels.items() if members}


# --- the plot: every cell's error over its page load time, and its spread by factor ---
#
# Drawn like the charts of the report: by matplotlib's own settings, with nothing in it of the moment or the
# machine, so that the same measurements give the same bytes.

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
    for group, members in accuracy.grouped(scores).items():
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
