"""The verbs `sweep`, `analyze` and `reproduce`: many loads, what they show, and studies run again."""

import shlex
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone import options, paths
from loadstone.captures.tables_folder import is_of_captures
from loadstone.cli import captures
from loadstone.cli.console import Verb, emit, examples, say
from loadstone.names import shown_words

if TYPE_CHECKING:
    import polars as pl

    from loadstone.analysis.findings import Findings
    from loadstone.analysis.question import Question
    from loadstone.analysis.tree import Tree


@click.command(
    cls=Verb,
    epilog=examples(
        "sweep shop.toml -o shop",
        "sweep shop.toml -o shop --extend",
        "sweep shop.toml --plan",
        "sweep shop.toml -o shop --dask tls://scheduler:8786",
    ),
)
@click.argument("matrix", metavar="MATRIX", type=paths.READ)
@click.option(
    "-o",
    "folder",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Store for the runs: a new directory, or a store to resume or extend.",
)
@options.THREADS
@click.option(
    "--dask",
    metavar="HOST:PORT",
    help="Distribute the runs over the Dask cluster of this scheduler.  [default: the cores of this machine]",
)
@click.option(
    "--dask-insecure",
    is_flag=True,
    help="Connect to a scheduler on another machine without TLS: everyone who reaches its port can run code.",
)
@options.UNTIL
@click.option(
    "--extend", is_flag=True, help="Add the new cells of MATRIX to a store that another matrix made."
)
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Run nothing: show how many cells and runs there are, and how long they take.",
)
@options.KEEP_SECRETS
@options.JSON
def sweep(
    matrix: str,
    folder: str | None,
    threads: int | None,
    dask: str | None,
    dask_insecure: bool,
    until: str | None,
    extend: bool,
    only_plan: bool,
    keep_secrets: bool,
    as_json: bool,
) -> None:
    """Run all combinations in MATRIX, and store the results.

    MATRIX is a TOML file (docs/sweeps.md), the store a directory of Parquet files. Runs that the store has
    are not repeated, so a stopped sweep can be resumed.
    """
    if dask is not None and threads is not None:
        raise click.UsageError("--threads is for this machine: the cluster's workers have their own.")
    if dask_insecure and dask is None:
        raise click.UsageError("--dask-insecure says how --dask connects: give that, or leave it out.")
    if folder is None and not only_plan:
        raise click.UsageError("Missing option '-o': give the folder of the store, or --plan.")
    # Heavy, so only where a sweep is asked for.
    from loadstone import progress
    from loadstone.stores import Matrix
    from loadstone.stores.plan import Extent
    from loadstone.stores.sweep import sweep as run

    read = Matrix.read(matrix)
    read = replace(read, keep_secrets=keep_secrets, until=until or read.until)
    if only_plan:
        with progress.bar("cells") as show:
            extent = Extent.of(read, show)
        said = {"cells": extent.cells, "runs": extent.runs, "seconds_of_a_core": round(extent.seconds, 1)}
        emit(said if as_json else _planned(read, extent))
        return
    with _client(dask, dask_insecure) as client, progress.bar("runs") as show:
        swept = run(read, folder or "", threads=threads, client=client, extend=extend, progress=show)
    if as_json:
        done = {"folder": folder, "cells": swept.cells, "runs": swept.runs, "chunks": swept.chunks}
        emit({**done, "runs_now": swept.ran})
        return
    before = "" if swept.ran == swept.runs else f", {swept.runs - swept.ran:,} of them there before"
    emit(
        f"{folder}: {swept.runs:,} runs of {swept.cells:,} cells{before}\n"
        f"Look at them: loadstone analyze {folder}"
    )


def _client(address: str | None, insecure: bool) -> Any:
    if address is None:
        return nullcontext()
    from loadstone.stores import cluster

    return cluster.connected(address, insecure=insecure)


def _planned(matrix: Any, extent: Any) -> str:
    from loadstone import text
    from loadstone.analysis.question import spelled

    factors = [["factor", "levels"]]
    factors += [
        [name, text.shorten(", ".join(map(spelled, levels)), text.width() - 20)]
        for name, levels in matrix.levels.items()
    ]
    most = "at most " if matrix.until else ""
    takes = "one load at a time, in real time" if matrix.live else f"about {extent.seconds:,.0f} s of a core"
    counts = f"{text.count(extent.cells, 'cell')}, {most}{text.count(extent.runs, 'run')}, {takes}"
    return f"{text.table(factors, left=2)}\n\n{counts}"


@click.command(
    cls=Verb,
    epilog=examples(
        "analyze results",
        "analyze results --by page,loss --where 'rtt >= 100'",
        "analyze results --compare iw --baseline 3 --json",
        "analyze results --tree -o report",
        "analyze traffic --by country --networks countries.csv --html traffic.html",
    ),
)
@click.argument("store", metavar="DIR", type=paths.READ_FOLDER)
@click.option(
    "--compare", metavar="FACTOR", help="Compare the levels of this factor.  [default: the matrix's]"
)
@click.option(
    "--baseline", metavar="LEVEL", help="Level that the others are compared with.  [default: the matrix's]"
)
@click.option(
    "--by",
    metavar="FACTOR,...",
    help="Show one table by these factors.  [default: one by the factors of pages, one by those of "
    "channels, one by each other factor]  For captures, group clients by prefix, server, or a column "
    "of --networks.  [default: prefix]",
)
@click.option(
    "--where",
    metavar="EXPRESSION",
    help="Use only cells whose factors fulfil this condition, as in 'loss > 0 and iw == 10'.",
)
@click.option(
    "--tree",
    is_flag=True,
    help="Show rules (a decision tree) that say where a challenger is faster or slower.",
)
@click.option(
    "--depth",
    type=int,
    metavar="N",
    help="Maximum number of conditions in a rule.  [default: by cross-validation]",
)
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Write report.html (with plots), gains.csv and tables.csv to this directory; for captures, "
    "tables as CSV.",
)
@click.option(
    "--networks",
    metavar="FILE",
    multiple=True,
    type=paths.READ,
    help="For captures: networks of the clients, as CSV with a column network, or as RouteViews' "
    "prefixes. May be repeated.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=paths.WRITTEN,
    help="For captures: also write a report to this file: one HTML page with plots that needs no other "
    "files.",
)
@options.JSON
def analyze(
    store: str,
    compare: str | None,
    baseline: str | None,
    by: str | None,
    where: str | None,
    tree: bool,
    depth: int | None,
    output: str | None,
    networks: tuple[str, ...],
    html: str | None,
    as_json: bool,
) -> None:
    """Analyze the results of a sweep, or of captures.

    DIR is the store of a sweep: shows the gains under each condition, tables, and the factors that the
    gains depend on. Gain is the baseline's median page load time divided by the challenger's: above 1 is
    faster. Or DIR has the tables of `loadstone capture`: shows the distributions of round trips, sizes and
    losses, and the differences between clients.
    """
    if is_of_captures(store):
        of_sweeps: dict[str, object] = {"--compare": compare, "--baseline": baseline, "--where": where}
        of_sweeps |= {"--depth": depth, "--tree": True if tree else None}
        if wrong := next((name for name, value in of_sweeps.items() if value is not None), None):
            raise click.UsageError(f"{wrong} is of a sweep's runs, and {store} is of captures.")
        captures.analyze(store, by, networks, output, html, as_json=as_json)
        return
    if html is not None:
        raise click.UsageError(f"--html is of captures, and {store} is of a sweep: give -o for its report.")
    if networks:
        raise click.UsageError(f"--networks is of captures, and {store} is of a sweep.")
    # Heavy, so only where it is asked for.
    from loadstone import text
    from loadstone.analysis import analysis_report, findings
    from loadstone.analysis.question import part_of

    runs, question, state = _opened(store)
    question = findings.asked(runs, question, compare, baseline)
    chosen = part_of(runs, question, where)
    if where is not None:
        state += f", only where {where}"
    with _analysis_folder(output) as write:
        found = findings.find(chosen, question, by)
        trees = _trees(found, depth) if tree or output else []
        given = {"--compare": compare, "--baseline": baseline, "--by": by, "--where": where}
        given["--depth"] = None if depth is None else f"{depth}"
        write(found, state, _repeated(store, given), trees)
    if as_json:
        document = analysis_report.document(found, state)
        document |= {"trees": [each.document() for each in trees]} if tree else {}
        emit(document)
    else:
        emit(analysis_report.in_words(found, state, text.width(), trees if tree else ()))


def _opened(path: str) -> "tuple[pl.DataFrame, Question, str]":
    """Give the runs of a store, what is asked of them, and how much of it is there."""
    from loadstone.stores import Store

    opened = Store.open(path)
    return opened.runs(), opened.question(), opened.state()


def _trees(found: "Findings", depth: int | None) -> "list[Tree]":
    # Heavier still.
    from loadstone.analysis import tree

    return tree.grow_all(found.gains.frame, found.question, depth=depth) if found.each else []


def _analysis_folder(path: str | None) -> Any:
    if path is None:
        return nullcontext(lambda *given: None)
    from loadstone.analysis import report_folder

    return report_folder.folder(path)


def _repeated(store: str, given: dict[str, str | None]) -> str:
    """Write the command that gives the same figures again."""
    chosen = [word for option, value in given.items() if value is not None for word in (option, value)]
    return shlex.join(["loadstone", "analyze", *shown_words([store]), *chosen])


@click.command(
    cls=Verb,
    epilog=examples(
        "reproduce cablelabs",
        "reproduce nsdi -o nsdi",
        "reproduce yahoo ece540",
        "reproduce yahoo --json",
        "reproduce mine",
    ),
)
@click.argument("studies", metavar="STUDY|DIR...", type=paths.STUDY, nargs=-1, required=True)
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Write report.html, report.md, cells.csv and claims.csv to this directory; with several studies, "
    "to a directory for each in it. Runs are kept there, too, so that a stopped study can be "
    "resumed.",
)
@click.option(
    "--pages",
    metavar="DIR",
    type=paths.READ_FOLDER,
    help="For nsdi: use the recorded pages (*.wacz, HARs) in this directory as the pages of the study.",
)
@click.option("--trust", is_flag=True, help="Run the code of a study in DIR without asking.")
@options.THREADS
@options.JSON
def reproduce(
    studies: tuple[str, ...],
    output: str | None,
    pages: str | None,
    trust: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Repeat published studies, and check their claims.

    Compares the published numbers with new ones. STUDY is cablelabs, yahoo, nsdi, ece540 or cmu, which come
    with Loadstone; DIR is the directory of another study, with its code (docs/studies.md).
    """
    # Heavy, so only where a study is run.
    from loadstone import progress
    from loadstone.reproduce import study_report
    from loadstone.reproduce.study import Runner, Study

    chosen = [Study.open(study) for study in studies]
    for study in chosen:
        if not (study.is_own or trust):
            _ask(study.folder)
    documents = []
    for study in chosen:
        folder = None if output is None else Path(output, *([study.name] if len(chosen) > 1 else []))
        with _study_folder(folder) as write:
            with progress.bar("runs") as show:
                kept = folder and folder / "runs"
                results = study.run(Runner(threads, show, Path(pages) if pages else None, kept))
            write(study, results)
        if as_json:
            documents.append(study_report.document(study, results))
        else:
            emit(study_report.in_words(study, results))
    if as_json:
        emit(documents[0] if len(documents) == 1 else {"studies": documents})


def _ask(folder: Path) -> None:
    """Let the user say whether a stranger's code shall run."""
    say(f"{folder} holds a program that did not come with Loadstone: it can do whatever you can")
    if not sys.stdin.isatty():
        raise click.UsageError("nobody is there to be asked: give --trust if you know what it does.")
    click.confirm("Run it?", abort=True, err=True)


def _study_folder(path: Path | None) -> Any:
    if path is None:
        return nullcontext(lambda study, results: None)
    from loadstone.reproduce import study_report

    return study_report.folder(path)
