"""The study `cablelabs` run again: what SPDY and an initial window of ten segments gain over HTTPS."""

from loadstone.reproduce.study import Results, Runner

from . import claims, explanations, slow_start, tables
from .laboratory import measure


def run(runner: Runner) -> Results:
    """Run all of its laboratory."""
    found = measure(runner)
    curve = slow_start.measure(runner)
    made = (
        tables.table(found),
        tables.halves(found),
        *tables.gain_tables(found),
        tables.summary_table(found),
        slow_start.table(),
        slow_start.figure(curve),
    )
    judged = claims.judge(found, curve, list(explanations.measure_connections(runner)))
    return Results(found.cells(), made, judged, explanations.passages(found, runner))
