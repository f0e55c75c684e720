"""The verb `reproduce` of the command line."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from loadstone import options

_STUDIES = ("cablelabs", "yahoo", "nsdi", "ece540")
_EPILOG = "\b\nExamples:\n" + "\n".join(
    f"  loadstone reproduce {example}" for example in ("cablelabs", "nsdi -o nsdi", "yahoo --json")
)


@click.command(epilog=_EPILOG)
@click.argument("study", type=click.Choice(_STUDIES), metavar="|".join(_STUDIES))
@click.option(
    "-o", "output", metavar="DIR", help="Write report.html, report.md, cells.csv and claims.csv there."
)
@click.option("--pages", metavar="DIR", help="nsdi: load the recorded pages (HARs) of this folder, too.")
@options.THREADS
@options.JSON
def reproduce(study: str, output: str | None, pages: str | None, threads: int | None, as_json: bool) -> None:
    """Run a published study again: its numbers beside ours, and what becomes of every claim.

    Needs a checkout, which has the studies' figures.
    """
    # Heavy, so only where a study is run.
    from loadstone import progress
    from loadstone.reproduce import study_report
    from loadstone.reproduce.study import STUDIES_BY_NAME, Runner

    chosen = STUDIES_BY_NAME[study]
    with _folder(output) as write:
        with progress.bar("runs") as show:
            results = chosen.run(Runner(threads, show, Path(pages) if pages else None))
        write(chosen, results)
    click.echo(
        json.dumps(study_report.document(chosen, results))
        if as_json
        else study_report.in_words(chosen, results)
    )


def _folder(path: str | None) -> Any:
    if path is None:
        return nullcontext(lambda study, results: None)
    from loadstone.reproduce import study_report

    return study_report.folder(path)
