"""The study `cablelabs` run again: what SPDY and an initial window of ten segments gain over HTTPS."""

from loadstone.reproduce.cablelabs import connections, explanations, scores, slow_start, tables, verdicts
from loadstone.reproduce.cablelabs.laboratory import measure
from loadstone.reproduce.results import Results
from loadstone.reproduce.study import Runner


def run(runner: Runner) -> Results:
    """Run all of its laboratory."""
    found = measure(runner)
    curve = slow_start.measure(runner)
    made = (
        scores.table(found),
        scores.halves(found),
        *tables.gain_tables(found),
        tables.summary_table(found),
        slow_start.table(),
        slow_start.figure(curve),
    )
    judged = verdicts.judge(found, curve, list(connections.measure(runner)))
    return Results(found.cells(), made, judged, explanations.passages(found, runner))
