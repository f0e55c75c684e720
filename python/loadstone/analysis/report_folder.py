"""An analysis as files: `report.html`, `gains.csv`, `tables.csv`.

Nothing in them is of the moment, so the same store gives the same bytes.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from markupsafe import Markup

from loadstone import __version__, files, text
from loadstone.analysis import analysis_report, plots, sections
from loadstone.analysis.findings import Findings
from loadstone.analysis.gain_tables import ALL
from loadstone.analysis.question import spelled
from loadstone.analysis.tree import Tree
from loadstone.files import InputError, Kind
from loadstone.html import PAGE
from loadstone.html.templates import embedded, environment

_GAINS = Kind("table of gains", rb"[^\n]*\bis_counted\b")
_TABLES = Kind("file of gain tables", rb"by,[^\n]*,conditions,max,mean,min,")
_TITLED = ("report.html", "gains.csv", "tables.csv")


@contextmanager
def folder(path: str) -> Iterator[Callable[[Findings, str, str, Sequence[Tree]], None]]:
    """Give a function that writes findings into a folder; one that cannot be written is refused at once."""
    try:
        Path(path).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"-o {path}: cannot be made ({(error.strerror or str(error)).lower()})") from None
    page_path, gains_path, tables_path = (str(Path(path) / name) for name in _TITLED)
    with (
        files.replacement(page_path, PAGE) as page,
        files.replacement(gains_path, _GAINS) as gains,
        files.replacement(tables_path, _TABLES) as tables,
    ):

        def write(findings: Findings, state: str, command: str, trees: Sequence[Tree]) -> None:
            gains(findings.gains.measured.write_csv())
            tables(table(findings))
            page(html(findings, state, command, trees))

        yield write


def html(findings: Findings, state: str, command: str, trees: Sequence[Tree]) -> str:
    """Write the report as one page that needs nothing else; `command` repeats it."""
    question = findings.question
    baseline = sections.challenger(question, question.baseline)
    drawn = plots.draw(findings.runs, findings.gains.frame, question, trees) if findings.each else []
    template = environment({"plain": _plain}).get_template("analysis.html")
    return template.render(
        title=analysis_report.title(findings),
        said=analysis_report.said(findings, state),
        headlines=analysis_report.headlines(findings),
        methods=analysis_report.methods(question),
        live=question.live,
        first=list(analysis_report.first(findings)),
        challengers=[
            (
                f"{sections.challenger(question, each.challenger)} against {baseline}",
                list(sections.of_challenger(findings, each)),
            )
            for each in findings.each
        ],
        plots=[(plot.title, Markup(plot.svg), plot.caption) for plot in drawn],
        trees=[(tree.title, tree.body().split("\n")) for tree in trees],
        last=list(analysis_report.last(findings)),
        command=command,
        version=__version__,
        styles=[embedded("report.css"), embedded("analysis.css")],
    )


def _plain(line: str) -> str:
    """Keep out what is not to be seen, and numbers and their per cent on one line."""
    return text.harmless(line).replace(" %", "\N{NO-BREAK SPACE}%")


def table(findings: Findings) -> str:
    """Write all gain tables as one: a factor that is not in a table is `all` there."""
    question = findings.question
    factors = [name for name in question.factors if name in question.others]
    figures = ("conditions", "max", "mean", "min", "geometric_mean", "low", "high")
    lines = io.StringIO()
    write = csv.writer(lines, lineterminator="\n").writerow
    write(["by", question.compared, *factors, *figures])
    for finding in findings.each:
        for cube in finding.cubes:
            for row in cube.rows:
                levels = dict(zip(cube.by, row.levels, strict=True))
                shown = [ALL if levels.get(name) is None else spelled(levels[name]) for name in factors]
                known = [getattr(row.figures, name) for name in figures]
                write([" ".join(cube.by), spelled(finding.challenger), *shown, *known])
    return lines.getvalue()
