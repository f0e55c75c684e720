"""The report of a validation as files: `validation.md` and its plot, `validation.svg`.

Nothing in them is of the moment, so the same measurements and engine give the same bytes.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from loadstone import files, text
from loadstone.validation import agreement, chart, judgement, levels, report
from loadstone.validation.grid import FULL, LOSSY_RUNS, QUICK
from loadstone.validation.score import Score, Validation

PAGE, PLOT = "validation.md", "validation.svg"

_TEMPLATES = Environment(
    loader=PackageLoader("loadstone.validation", "."),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


@contextmanager
def folder(path: str) -> Iterator[Callable[[Validation], None]]:
    """Give a function that writes the report into a folder; one that cannot be written is refused at once."""
    page_path, plot_path = (str(Path(path) / name) for name in (PAGE, PLOT))
    with files.replacement(page_path) as page, files.replacement(plot_path) as plot:

        def write(validation: Validation) -> None:
            page(markdown(validation))
            plot(chart.svg(validation.scores))

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
        conditions=report.conditions_in_words(validation),
        factors=_factors(validation),
        counts=_counts(validation),
        worst=_worst(validation),
    )


def _judged(validation: Validation) -> str:
    rows = [["what", "cells", "figure", "goal", ""]]
    for group, scores in judgement.grouped(validation.scores).items():
        rows.append([f"**{group.title}**", f"{len(scores):,}", "", "", ""])
        rows += [[row.what, "", *report.figure(row)] for row in judgement.rows(group, scores)]
    return _table(rows, left=1)


def _factors(validation: Validation) -> list[tuple[str, str]]:
    groups = judgement.grouped(validation.scores).items()
    return [(group.title, _by_factor(scores)) for group, scores in groups if group.is_judged]


def _by_factor(scores: Sequence[Score]) -> str:
    rows = [["factor", "level", "cells", "signed", "median", "95 %", "good"]]
    for factor, by_level in levels.by_factor(scores).items():
        for level, members in by_level.items():
            figures = (
                f"{judgement.signed_error(members):+.2f}",
                f"{judgement.median_error(members):.2f}",
                f"{judgement.percentile_error(members, 0.95):.2f}",
                f"{judgement.share(members, judgement.is_good):.1f} %",
            )
            rows.append([factor, level, f"{len(members):,}", *figures])
    return _table(rows, left=2)


def _counts(validation: Validation) -> str:
    rows = [["", "count", "kernel", "simulator", "cells that agree to 1 %"]]
    for group, scores in judgement.grouped(validation.scores).items():
        for count in report.COUNTS:
            pairs = [report.medians_of(score, count) for score in scores]
            agree = sum(abs(simulated - measured) <= 0.01 * measured for measured, simulated in pairs)
            sums = [f"{sum(values):,.0f}" for values in zip(*pairs, strict=True)]
            rows.append([group.title, count.replace("_", " "), *sums, f"{100 * agree / len(pairs):.1f} %"])
    return _table(rows, left=2)


def _worst(validation: Validation) -> str:
    rows = [["cell", "kernel", "its range, ms", "simulated", "off by", "packets down", "sent again"]]
    for score in judgement.worst(validation.scores, report.WORST):
        times = score.measured_ms
        kernel, simulated = (text.ms(statistics.median(each)) for each in (times, score.simulated_ms))
        shown = [f"{score.cell}", kernel, f"{min(times):,.1f}-{max(times):,.1f}", simulated]
        counts = (report.medians_of(score, count) for count in ("packets_down", "retransmissions"))
        pairs = [" / ".join(f"{value:,.0f}" for value in pair) for pair in counts]
        rows.append([*shown, f"{100 * score.miss:+.1f} %", *pairs])
    return _table(rows, left=1)


def _table(rows: Sequence[Sequence[str]], left: int) -> str:
    head, *body = rows
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))
