"""A part of a matrix, by an expression over its factors: `loss > 0 and page != "news"`."""

import polars as pl

from loadstone.analysis.levels import named
from loadstone.analysis.question import Question
from loadstone.expression import Condition
from loadstone.files import InputError


def where(runs: pl.DataFrame, question: Question, expression: str | None) -> pl.DataFrame:
    """Give the runs of those cells for which the expression holds; all, if there is none."""
    if expression is None:
        return runs
    names = [*question.factors]
    condition = Condition(expression, "--where", names)
    cells = runs.select(names).unique(maintain_order=True)
    holds = [condition.holds(levels) for levels in cells.iter_rows(named=True)]
    chosen = runs.join(cells.filter(holds), on=names, how="semi", nulls_equal=True, maintain_order="left")
    if not len(chosen):
        raise InputError(f"--where: '{expression}' holds for no cell: give what holds for some")
    left = chosen[question.compared].unique().to_list()
    base = named(question.compared, question.baseline)
    if question.baseline not in left:
        raise InputError(
            f"--where: '{expression}' leaves no cell of the baseline, {base}: let it stay, or give another "
            "--baseline"
        )
    if len(left) < 2:
        raise InputError(f"--where: '{expression}' leaves nothing to hold against {base}: let more stay")
    return chosen
