"""The verb `analyze` of the command line."""

import json
import shlex
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from loadstone import options

if TYPE_CHECKING:
    import polars as pl

    from loadstone.analysis.findings import Findings
    from loadstone.analysis.question import Question
    from loadstone.analysis.tree import Tree

_EPILOG = "\b\nExamples:\n" + "\n".join(
    f"  loadstone analyze {example}"
    for example in (
        "results",
        "results --by page,loss --where 'rtt >= 100'",
        "results --compare iw --baseline 3 --json",
        "results --tree -o report",
    )
)


@click.command(epilog=_EPILOG)
@click.argument("store", metavar="DIR")
@click.option(
    "--compare", metavar="FACTOR", help="Hold its levels against each other.  [default: the matrix's]"
)
@click.option(
    "--baseline", metavar="LEVEL", help="The level that the others are held against.  [default: the matrix's]"
)
@click.option(
    "--by",
    metavar="FACTOR,...",
    help="One table by these factors.  [default: by those of pages, by those of channels, by each other]",
)
@click.option(
    "--where", metavar="EXPRESSION", help="Only cells that are so, by their factors: 'loss > 0 and iw == 10'."
)
@click.option("--tree", is_flag=True, help="Show by which rules a challenger is faster or slower.")
@click.option(
    "--depth",
    type=int,
    metavar="N",
    help="Let rules ask at most so many questions in a row.  [default: by cross-validation]",
)
@click.option(
    "-o",
    "output",
    metavar="DIR",
    help="Write report.html (with plots), gains.csv and tables.csv there as well.",
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
    as_json: bool,
) -> None:
    """Say what the runs of a sweep in DIR show: gains in every condition, tables, what they depend on.

    Gain is the baseline's median page load time over the challenger's: above 1 is faster.
    """
    # Heavy, so only where it is asked for.
    from loadstone import text
    from loadstone.analysis import analysis_report, findings
    from loadstone.analysis.question import part_of

    runs, question, state = _opened(store)
    question = findings.asked(runs, question, compare, baseline)
    chosen = part_of(runs, question, where)
    if where is not None:
        state += f", only where {where}"
    with _report_folder(output) as write:
        found = findings.find(chosen, question, by)
        trees = _trees(found, depth) if tree or output else []
        given = {"--compare": compare, "--baseline": baseline, "--by": by, "--where": where}
        given["--depth"] = None if depth is None else f"{depth}"
        write(found, state, _command(store, given), trees)
    if as_json:
        document = analysis_report.document(found, state)
        document |= {"trees": [each.document() for each in trees]} if tree else {}
        click.echo(json.dumps(document))
    else:
        click.echo(analysis_report.in_words(found, state, text.width(), trees if tree else ()))


def _opened(path: str) -> "tuple[pl.DataFrame, Question, str]":
    """Give the runs of a store, what is asked of them, and how much of it is there."""
    from loadstone.sweep import Store

    opened = Store.open(path)
    return opened.runs(), opened.question(), opened.state()


def _trees(found: "Findings", depth: int | None) -> "list[Tree]":
    # Heavier still.
    from loadstone.analysis import tree

    return tree.grow_all(found.gains.frame, found.question, depth=depth) if found.each else []


def _report_folder(path: str | None) -> Any:
    if path is None:
        return nullcontext(lambda *given: None)
    from loadstone.analysis import report_folder

    return report_folder.folder(path)


def _command(store: str, given: dict[str, str | None]) -> str:
    """Write the command that gives the same figures again."""
    chosen = [word for option, value in given.items() if value is not None for word in (option, value)]
    return shlex.join(["loadstone", "analyze", store, *chosen])
