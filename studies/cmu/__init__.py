"""The study `cmu` run again: what a server that ends SPDY in front of sites is worth."""

from loadstone.reproduce.study import Results, Runner

from . import claims, explanations, tables
from .laboratory import Laboratory


def run(runner: Runner) -> Results:
    """Run its three conditions without BoostEdge, with and without loss."""
    laboratory = Laboratory(runner)
    loads = laboratory.loads(tables.SEEDS)
    return Results(
        tables.cells(loads),
        (tables.averages(loads), tables.differences(loads), tables.assumed(laboratory)),
        claims.judge(laboratory),
        explanations.passages(laboratory),
    )
