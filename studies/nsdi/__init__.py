"""How speedy is SPDY? (NSDI 2014), run again: synthetic pages, sets of objects, whole pages."""

from loadstone.reproduce.judge import Judge
from loadstone.reproduce.study import Results, Runner, Table
from loadstone.stores.matrix import Matrix

from . import (
    advancing,
    deciding_factors,
    discussions,
    independent_objects,
    page_corpus,
    sensitivity,
    set_up,
    sweep_claims,
    synthetic,
    tree_claims,
    whole_pages,
)
from .explanations import passages
from .laboratory import FOLDER, Timed, load, sweep
from .otherwise import PageLoads


def run(runner: Runner) -> Results:
    """Run the study again."""
    return study(runner, sweep(), page_corpus.PAGES)


def study(runner: Runner, matrix: Matrix, pages: int) -> Results:
    """Run it with this matrix of synthetic pages, and this many of the pages of objects."""
    from loadstone.analysis.plots.tree_diagram import draw

    judge, runner = Judge(FOLDER), Timed(runner)
    swept = synthetic.run(runner, matrix)
    loads = synthetic.SweepLoads(runner, matrix)
    set_up.judge(len(swept.ratios("SPDY")), pages, judge)
    tree_claims.judge(loads, judge)
    sweep_claims.judge(runner, matrix, loads, judge)

    independent_objects.judge_sizes(dict(page_corpus.corpus(pages)), judge)
    sets = PageLoads(runner, pages, independent_objects.PLAN)
    independent_objects.judge(sets, swept.cells, judge)
    independent_objects.judge_parts(runner, pages, judge)

    whole = PageLoads(runner, pages, whole_pages.PLAN)
    whole_pages.judge(whole, judge)
    whole_pages.judge_inside(runner, pages, judge)
    whole_pages.judge_computing(runner, pages, judge)
    advancing.judge(runner, pages, judge)
    discussions.judge(runner, pages, whole, judge)

    supplemental, tree = deciding_factors.supplemental(swept)
    tables = [
        deciding_factors.rules_table(swept),
        *deciding_factors.rankings(swept),
        supplemental,
        *synthetic.trends(swept),
        synthetic.retransmissions(swept),
        independent_objects.table(
            sets.all(), "sets", "How do the objects of whole pages fare, without dependencies?"
        ),
        whole_pages.table(whole.all(), "pages", "What do dependencies and computing change?"),
        *_beside(runner, pages),
    ]
    explained = passages(swept, whole.all(), sensitivity.table(runner, matrix.runs or 1))
    return Results(swept.published(), tables, judge.judged(), explained, [draw(tree)])


def _beside(runner: Runner, pages: int) -> list[Table]:
    """Give the same of made pages, where recorded ones are given."""
    if not runner.pages:
        return []
    made = dict(page_corpus.corpus(pages))
    alone, whole = (load(runner, made, plan) for plan in (independent_objects.PLAN, whole_pages.PLAN))
    title = f"How do the objects of {pages} made pages fare, without dependencies?"
    return [
        independent_objects.table(alone, "made-sets", title),
        whole_pages.table(whole, "made-pages", "And with their dependencies and computing?"),
    ]
