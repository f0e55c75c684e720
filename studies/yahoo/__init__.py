"""The study `yahoo` run again: which initial window for which clients."""

from loadstone.reproduce.study import Results, Runner

from . import claims, explanations, fairness, initial_window, sensitivity, slow_start
from .claims import measure


def run(runner: Runner) -> Results:
    """Run all of its laboratory."""
    found = measure(runner)
    tables = (
        initial_window.table_1(found.rows),
        initial_window.rtt_table(found.rtt),
        initial_window.loss_table(found.loss),
        fairness.table(found.rates),
        initial_window.abc_table(found.abc),
        slow_start.pipelining_table(found.pipelining),
        slow_start.table(found.pauses),
        sensitivity.table(found.assumed),
    )
    cells = (
        *initial_window.table_1_cells(found.rows),
        *fairness.cells(found.rates),
        *slow_start.pipelining_cells(found.pipelining),
        *initial_window.figure_cells(found.rtt, found.loss, found.abc),
        *slow_start.cells(found.pauses),
    )
    return Results(cells, tables, claims.judge(found), explanations.passages(found))
