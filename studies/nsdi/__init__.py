"""How speedy is SPDY? (NSDI 2014), run again: synthetic pages, sets of objects, whole pages."""

from loadstone.reproduce.claims import Claims
from loadstone.reproduce.study import Results, Runner, Table
from loadstone.stores.matrix import Matrix

from . import (
    deciding_factors,
    independent_objects,
    page_corpus,
    sensitivity,
    synthetic,
    whole_pages,
)
from .explanations import passages
from .laboratory import FOLDER, sweep


def run(runner: Runner) -> Results:
    """Run the study again."""
    return study(runner, sweep(), page_corpus.PAGES)


def study(runner: Runner, matrix: Matrix, pages: int) -> Results:
    """Run it with this matrix of synthetic pages, and this many of the pages of objects."""
    from loadstone.analysis.plots.tree_diagram import draw

    claims = Claims(FOLDER)
    swept = synthetic.run(runner, matrix)
    sensitivity.judge_setup(swept, pages, claims)
    followed = deciding_factors.judge_rules(swept, claims)
    supplemental, tree = deciding_factors.supplemental(swept, claims)
    tables = [
        followed,
        *deciding_factors.judge_ranking(swept, claims),
        supplemental,
        *synthetic.judge_trends(swept, claims),
    ]
    synthetic.judge_retransmissions(swept, claims)

    made = dict(page_corpus.corpus(pages))
    independent_objects.judge_sizes(made, claims)
    alone = independent_objects.load_sets(runner, made)
    independent_objects.judge(alone, swept.cells, claims)
    independent_objects.judge_equal(runner, made, claims)
    independent_objects.judge_one_connection(runner, made, claims)
    tables.append(
        independent_objects.table(
            alone, "sets", "How do the objects of whole pages fare, without dependencies?"
        )
    )

    whole = whole_pages.load_pages(runner, made)
    whole_pages.judge(whole, claims)
    whole_pages.judge_inside(runner, made, claims)
    for judge in (
        whole_pages.judge_computing,
        whole_pages.judge_priorities,
        whole_pages.judge_pushes,
        whole_pages.judge_hosts,
    ):
        judge(runner, made, claims)
    whole_pages.judge_mobile(whole, claims)
    tables.append(whole_pages.table(whole, "pages", "What do dependencies and computing change?"))
    if runner.pages:
        tables += _of_recorded(runner, page_corpus.recorded(runner.pages))
    explained = passages(swept, whole, sensitivity.table(runner, matrix.runs or 1))
    return Results(swept.published(), tables, claims.judged(), explained, [draw(tree)])


def _of_recorded(runner: Runner, found: dict[str, page_corpus.Page]) -> list[Table]:
    title = f"How do the objects of {len(found)} recorded pages fare, without dependencies?"
    alone = independent_objects.table(independent_objects.load_sets(runner, found), "recorded-sets", title)
    whole = whole_pages.load_pages(runner, found)
    return [alone, whole_pages.table(whole, "recorded-pages", "And with their dependencies and computing?")]
