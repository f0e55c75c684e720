"""The study `yahoo` run again: which initial window for which clients."""

import tempfile
from pathlib import Path

from loadstone.reproduce.study import Results, Runner

from . import (
    claims,
    edge_traffic,
    explanations,
    fairness,
    initial_window,
    pipelining,
    sensitivity,
    slow_start,
)
from .assumptions import READINGS
from .laboratory import FOLDER, Laboratory


def run(runner: Runner) -> Results:
    """Run all of its laboratory, and what of its traffic can be generated."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(runner, Laboratory(runner, Path(folder)))


def _run(runner: Runner, laboratory: Laboratory) -> Results:
    lossy, rtt, loss, abc = (laboratory.runs(name) for name in ("table1", "rtt", "loss", "abc"))
    piped = runner.runs(runner.matrix(FOLDER / "pipelining.toml"))
    rows = initial_window.rows_of(lossy, rtt)
    rates = {reading: fairness.measure(laboratory, reading) for reading in READINGS}
    pauses = slow_start.after_pauses(runner)
    tables = (
        initial_window.table_1(rows),
        initial_window.rtt_table(rtt),
        initial_window.loss_table(loss),
        fairness.table(rates),
        initial_window.abc_table(abc),
        pipelining.pipelining_table(piped),
        slow_start.table(pauses),
        sensitivity.table(laboratory),
        edge_traffic.table(),
    )
    cells = (
        *initial_window.table_1_cells(rows),
        *fairness.cells(rates),
        *pipelining.pipelining_cells(piped),
        *initial_window.figure_cells(rtt, loss, abc),
        *slow_start.cells(pauses),
    )
    return Results(cells, tables, claims.judge(laboratory), explanations.passages(lossy, loss))
