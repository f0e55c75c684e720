"""What becomes of section 5.4: the spot tests on Windows XP and Ubuntu are consistent with Windows 7."""

from dataclasses import replace

import polars as pl

from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above

from . import assumptions, gain_figures
from .laboratory import FACTORS, SPDY, UBUNTU, WIN7, WINXP, clients, in_study_terms
from .loads import SEEDS, Loads
from .tables import ERROR, RANK, Score

_MOST = 40


def judge(judge: Judge, loads: Loads) -> None:
    """Judge it."""
    judge.finding(
        "CL80",
        _evidence(loads),
        _consistent,
        "so are the study's own gains (0.11, 0.90; 0.07, 1.00), but not its load times: with loss and "
        "several servers Windows 7 takes 1.65 to 8 times as long as with one server, the others less",
    )


def _evidence(loads: Loads) -> Evidence:
    """Give the conditions of the spot tests on all three systems, by both protocols."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        assumed = assumptions.named(assumption)
        systems = clients(assumed.matrix(loads.matrix))
        spot = systems[WINXP]
        systems[WIN7] = replace(systems[WIN7], factors=spot.factors, variants=spot.variants)
        found = [
            in_study_terms(loads.runner.runs(replace(each, runs=seeds)), assumed.browser_ms).select(
                pl.lit(system).alias("client"), *FACTORS, "option", "seed", "completed", "plt_ms"
            )
            for system, each in systems.items()
        ]
        return pl.concat(found).filter("completed").drop("completed")

    return Evidence(run, compared="option", seeds=SEEDS, most=_MOST, assumptions=loads.held_against)


def _consistent(runs: pl.DataFrame) -> list[Figure]:
    """Hold SPDY's gains on one system against those on the other, as the scores do ours against theirs."""
    of = {
        system: gain_figures.of(runs.filter(pl.col("client") == system), SPDY)
        for system in (WIN7, WINXP, UBUNTU)
    }
    figures = []
    for system in (WINXP, UBUNTU):
        both = of[WIN7].join(of[system], on=FACTORS)
        score = Score.of(both["gain"].to_list(), both["gain_right"].to_list())
        figures += [
            Figure(f"{system}: error", score.error, -1, ERROR),
            above("rank", 0.0 if score.rank is None else score.rank, RANK),
        ]
    return figures
