"""The verb `sweep` of the command line."""

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import click

from loadstone import options

_EPILOG = "\b\nExamples:\n" + "\n".join(
    f"  loadstone sweep {example}"
    for example in (
        "shop.toml -o shop",
        "shop.toml -o shop --extend",
        "shop.toml --plan",
        "shop.toml -o shop --dask scheduler:8786",
    )
)


@click.command(epilog=_EPILOG)
@click.argument("matrix", metavar="MATRIX")
@click.option("-o", "folder", metavar="DIR", help="The store that the runs are written to, or gone on with.")
@options.THREADS
@click.option(
    "--dask",
    metavar="HOST:PORT",
    help="Spread the runs over the Dask cluster of this scheduler.  [default: the cores of this machine]",
)
@options.UNTIL
@click.option("--extend", is_flag=True, help="Add what is new in MATRIX to a store of another matrix.")
@click.option("--plan", "only_plan", is_flag=True, help="Run nothing: say what would be run.")
@options.JSON
def sweep(
    matrix: str,
    folder: str | None,
    threads: int | None,
    dask: str | None,
    until: str | None,
    extend: bool,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Run every cell of MATRIX, a TOML file (docs/sweeps.md), into a store of Parquet files.

    What is in the store already is not run again: a sweep that was stopped goes on where it was.
    """
    if dask is not None and threads is not None:
        raise click.UsageError("--threads is for this machine: the cluster's workers have their own.")
    if folder is None and not only_plan:
        raise click.UsageError("Missing option '-o': give the folder of the store, or --plan.")
    # Heavy, so only where a sweep is asked for.
    from loadstone import progress
    from loadstone.sweep import Matrix
    from loadstone.sweep.plan import Plan
    from loadstone.sweep.sweep import sweep as run

    read = Matrix.read(matrix)
    read = read if until is None else replace(read, until=until)
    if only_plan:
        plan = Plan.of(read)
        said = {"cells": len(plan.cells), "runs": plan.runs, "seconds_of_a_core": round(plan.seconds, 1)}
        click.echo(json.dumps(said) if as_json else _planned(read, plan))
        return
    with _client(dask) as client, progress.bar("runs") as show:
        swept = run(read, folder or "", threads=threads, client=client, extend=extend, progress=show)
    if as_json:
        done = {"folder": folder, "cells": swept.cells, "runs": swept.runs, "chunks": swept.chunks}
        click.echo(json.dumps({**done, "runs_now": swept.ran}))
        return
    before = "" if swept.ran == swept.runs else f", {swept.runs - swept.ran:,} of them there before"
    click.echo(
        f"{folder}: {swept.runs:,} runs of {swept.cells:,} cells{before}\n"
        f"Look at them: loadstone analyze {folder}"
    )


def _client(address: str | None) -> Any:
    if address is None:
        return nullcontext()
    from loadstone.files import InputError

    try:
        from loadstone.sweep import cluster
    except ImportError:
        raise InputError("--dask: Dask is not installed: pip install distributed") from None
    return cluster.connected(address)


def _planned(matrix: Any, plan: Any) -> str:
    from loadstone import text
    from loadstone.analysis.question import spelled

    factors = [["factor", "levels"]]
    factors += [
        [name, text.shorten(", ".join(map(spelled, levels)), text.width() - 20)]
        for name, levels in matrix.levels.items()
    ]
    most = "at most " if matrix.until else ""
    takes = "one load at a time, in real time" if matrix.live else f"about {plan.seconds:,.0f} s of a core"
    counts = f"{text.count(len(plan.cells), 'cell')}, {most}{text.count(plan.runs, 'run')}, {takes}"
    return f"{text.table(factors, left=2)}\n\n{counts}"
