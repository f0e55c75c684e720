"""The study `cablelabs` run again: what SPDY and an initial window of ten segments gain over HTTPS."""

from loadstone.reproduce.study import Results, Runner

from . import claims, explanations, slow_start, tables
from .laboratory import Laboratory, measure
from .loads import Loads


def run(runner: Runner) -> Results:
    """Run all of its laboratory."""
    return study(measure(runner), Loads(runner))


def study(found: Laboratory, loads: Loads, most: int | None = None) -> Results:
    """Say what was found, and judge the claims by so many seeds at most."""
    curve = slow_start.measure(loads.runner)
    made = (
        tables.table(found),
        tables.halves(found),
        *tables.gain_tables(found),
        tables.summary_table(found),
        slow_start.table(),
        slow_start.figure(curve),
    )
    judged = claims.judge(found, loads, most)
    return Results(
        [*found.cells(), *tables.gain_cells(found)], made, judged, explanations.passages(found, loads.runner)
    )
