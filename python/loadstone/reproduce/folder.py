"""A study that was run again as files: a page, the same in Markdown, cells and claims as CSV."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from markupsafe import Markup

from loadstone import __version__, files, text
from loadstone.analysis.sections import Section
from loadstone.files import InputError
from loadstone.html.templates import embedded, environment
from loadstone.reproduce import report
from loadstone.reproduce.results import Results, Table
from loadstone.reproduce.study import Study

_NAMES = ("report.html", "report.md", "cells.csv", "claims.csv")


@contextmanager
def folder(path: str) -> Iterator[Callable[[Study, Results], None]]:
    """Give a function that writes results into a folder; one that cannot be written is refused at once."""
    try:
        Path(path).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"-o {path}: cannot be made ({(error.strerror or str(error)).lower()})") from None
    with ExitStack() as stack:
        writers = [stack.enter_context(files.replacement(str(Path(path) / name))) for name in _NAMES]

        def write(study: Study, results: Results) -> None:
            contents = (
                html(study, results),
                report.markdown(study, results),
                report.cells_csv(results),
                report.claims_csv(results),
            )
            for writer, content in zip(writers, contents, strict=True):
                writer(content)

        yield write


def html(study: Study, results: Results) -> str:
    """Write it as one page that needs nothing else."""
    template = environment({"plain": text.harmless}).get_template("study.html")
    return template.render(
        study=study,
        counts=report.counts(results),
        sections=[_section(table) for table in results.tables],
        plots=[(plot.title, Markup(plot.svg), plot.caption) for plot in results.plots],
        passages=[
            (passage.title, passage.text.split("\n\n"), [_section(table) for table in passage.tables])
            for passage in results.passages
        ],
        claims=_section(report.claims_table(results)),
        command=f"loadstone reproduce {study.name}",
        version=__version__,
        styles=[embedded("report.css"), embedded("analysis.css")],
    )


def _section(table: Table) -> Section:
    return Section(table.title, [[*table.head], *([*row] for row in table.rows)], table.left, table.note)
