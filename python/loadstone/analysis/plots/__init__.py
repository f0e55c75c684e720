"""Plots of a store of runs, each of which answers a question."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadstone.analysis.plots import distribution, heat, tree_diagram, trends
from loadstone.analysis.plots.canvas import Plot
from loadstone.analysis.question import Question

if TYPE_CHECKING:
    import polars as pl

    from loadstone.analysis.tree import Tree


def draw(
    runs: "pl.DataFrame", gains: "pl.DataFrame", question: Question, trees: "Sequence[Tree]" = ()
) -> list[Plot]:
    """Draw where it is faster, under how many conditions, how it depends on each factor, and the trees."""
    return [
        *heat.draw(gains, question),
        *distribution.draw(gains, question),
        *trends.draw(runs, gains, question),
        *map(tree_diagram.draw, trees),
    ]


__all__ = ["Plot", "draw"]
