"""How speedy is SPDY? (NSDI 2014), run again: synthetic pages, sets of objects, whole pages."""

from loadstone.reproduce.claims import Claims
from loadstone.reproduce.nsdi import (
    assumed,
    corpus,
    graphs,
    ranking,
    recorded,
    rules,
    sets,
    setting,
    synthetic,
    trends,
)
from loadstone.reproduce.nsdi.explained import passages
from loadstone.reproduce.nsdi.loads import sweep
from loadstone.reproduce.results import Results, Table
from loadstone.reproduce.study import Runner
from loadstone.sweep.matrix import Matrix


def run(runner: Runner) -> Results:
    """Run the study again."""
    return study(runner, sweep(), corpus.PAGES)


def study(runner: Runner, matrix: Matrix, pages: int) -> Results:
    """Run it with this matrix of synthetic pages, and so many of the pages of objects."""
    from loadstone.analysis.plots.tree_diagram import draw

    claims = Claims("nsdi")
    swept = synthetic.run(runner, matrix)
    setting.judge(swept, pages, claims)
    followed = rules.judge(swept, claims)
    supplemental, tree = rules.supplemental(swept, claims)
    tables = [followed, *ranking.judge(swept, claims), supplemental, *trends.judge(swept, claims)]
    trends.judge_retransmissions(swept, claims)

    made = dict(corpus.corpus(pages))
    sets.judge_sizes(made, claims)
    alone = sets.sets(runner, made)
    sets.judge(alone, swept.cells, claims)
    sets.judge_equal(runner, made, claims)
    sets.judge_one_connection(runner, made, claims)
    tables.append(sets.table(alone, "sets", "How do the objects of whole pages fare, without dependencies?"))

    whole = graphs.graphs(runner, made)
    graphs.judge(whole, claims)
    graphs.judge_inside(runner, made, claims)
    for judge in (graphs.judge_computing, graphs.judge_priorities, graphs.judge_pushes, graphs.judge_hosts):
        judge(runner, made, claims)
    graphs.judge_mobile(whole, claims)
    tables.append(graphs.table(whole, "pages", "What do dependencies and computing change?"))
    if runner.pages:
        tables += _of_recorded(runner, recorded.read(runner.pages))
    explained = passages(swept, whole, assumed.table(runner, matrix.runs or 1))
    return Results(swept.published(), tables, claims.judged(), explained, [draw(tree)])


def _of_recorded(runner: Runner, found: dict[str, corpus.Page]) -> list[Table]:
    title = f"How do the objects of {len(found)} recorded pages fare, without dependencies?"
    alone = sets.table(sets.sets(runner, found), "recorded-sets", title)
    whole = graphs.graphs(runner, found)
    return [alone, graphs.table(whole, "recorded-pages", "And with their dependencies and computing?")]
