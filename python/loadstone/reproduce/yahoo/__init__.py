"""The study `yahoo` run again: which initial window for whom."""

from loadstone.reproduce.results import Results
from loadstone.reproduce.study import Runner
from loadstone.reproduce.yahoo import (
    assumptions,
    explanations,
    fairness,
    pipelining,
    slowstart,
    table1,
    verdicts,
    windows,
)
from loadstone.reproduce.yahoo.findings import measure


def run(runner: Runner) -> Results:
    """Run all of its laboratory."""
    found = measure(runner)
    tables = (
        table1.table(found.rows),
        windows.rtt_table(found.rtt),
        windows.loss_table(found.loss),
        fairness.table(found.rates),
        windows.abc_table(found.abc),
        pipelining.table(found.pipelining),
        slowstart.table(found.pauses),
        assumptions.table(found.assumed),
    )
    cells = (
        *table1.cells(found.rows),
        *fairness.cells(found.rates),
        *pipelining.cells(found.pipelining),
        *windows.cells(found.rtt, found.loss, found.abc),
        *slowstart.cells(found.pauses),
    )
    return Results(cells, tables, verdicts.judge(found), explanations.passages(found))
