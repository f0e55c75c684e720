"""The laboratory of the study `yahoo`: its front page over its link, as stated or under an assumption.

Times are in seconds from the first request to the acknowledgement of the last object, as the study measures.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Outcome, Scenario
from loadstone.analysis.question import Level
from loadstone.reproduce.evidence import AS_STATED, Evidence, narrowed
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix

from . import front_page
from .assumptions import AS_IT_IS, ASSUMPTIONS, READINGS, Assumption
from .front_page import Page

FOLDER = Path(__file__).parent
"""Claims, published figures, matrices and pages of the study."""

CLEAN_S = 1.87
"""What the free number is set by: the study's load without loss, with a window of 3."""
SERVER: dict[str, Any] = {"profile": "linux-2.6"}
CLIENT: dict[str, Any] = {"profile": "mac-os-x-10.5"}
LINK = "100mbit,100ms,loss={loss},queue=1000p"

MEASURES = ("seconds",)


def scenario(page: Page, iw: int, loss: str = "0%", common: Mapping[str, Any] | None = None) -> Scenario:
    """Make a load of it over the laboratory's link; `common` is set otherwise."""
    said = common or {}
    server = {**SERVER, "iw": iw, **({"cc": said["cc"]} if "cc" in said else {})}
    server["profile"] = said.get("tcp", server["profile"])
    client = {"profile": said.get("client_tcp", CLIENT["profile"])}
    variant = {"tcp": server, "client_tcp": client}
    return experiment.scenario(
        pages.of_document(page), {"network": LINK.format(loss=loss), "variant": variant}
    )


def seconds(outcome: Outcome) -> float:
    """Give the time of a load as the study measures it."""
    assert outcome.first_request_ms is not None, "a load that was completed has asked"
    return (outcome.plt_ms - outcome.first_request_ms) / 1000


def fitted(assumption: Assumption) -> int:
    """Give the least free number with which a load of window 3 and no loss takes as long as the study's."""
    least, most = 0, assumption.most
    while least < most:
        middle = (least + most) // 2
        load = scenario(assumption.build(middle), 3, common=assumption.common)
        took = seconds(experiment.execute([(load, 1)], 1)[0])
        least, most = (least, middle) if took >= CLEAN_S else (middle + 1, most)
    return least


class Laboratory:
    """Runs matrices of the study as they are stated, or under an assumption."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        """Keep the pages of assumptions in a folder, as files that matrices can load."""
        self.runner = runner
        self.numbers: dict[str, int] = {AS_STATED: front_page.BROWSER_MS}
        """The free number under each assumption that was run."""
        self._folder = folder

    def evidence(
        self,
        name: str,
        *,
        compared: str = "iw",
        only: Mapping[str, Sequence[Level]] | None = None,
        without: Sequence[str] = (),
        seeds: int = 20,
    ) -> Evidence:
        """Give loads of a matrix as evidence, or of some of its levels; `without` some factors."""
        matrix = self.runner.matrix(FOLDER / f"{name}.toml")
        factors = [factor for factor in matrix.levels if factor not in without]

        def run(count: int, assumption: str) -> pl.DataFrame:
            return self.runs(name, assumption, count, only).select(*factors, "seed", *MEASURES)

        return Evidence(run, MEASURES, compared, seeds, assumptions=tuple(ASSUMPTIONS))

    def runs(
        self,
        name: str,
        assumption: str = AS_STATED,
        seeds: int | None = None,
        only: Mapping[str, Sequence[Level]] | None = None,
    ) -> pl.DataFrame:
        """Run a matrix, or some levels of it, under an assumption. The loss is in percent of round trips."""
        stated = self.runner.matrix(FOLDER / f"{name}.toml")
        matrix = narrowed(stated if seeds is None else replace(stated, runs=seeds), only or {})
        if assumption != AS_STATED:
            matrix = self._assuming(matrix, assumption)
        runs = self.runner.runs(matrix).filter("completed")
        runs = runs.with_columns(seconds=(pl.col("plt_ms") - pl.col("first_request_ms")) / 1000)
        if "loss" not in runs.columns:
            return runs
        losses = dict(zip(matrix.levels["loss"], map(of_round_trips, stated.levels["loss"]), strict=True))
        return runs.with_columns(pl.col("loss").replace_strict(losses, return_dtype=pl.Int64))

    def page(self, name: str) -> Page:
        """Give the front page under an assumption, with the free number that goes with it."""
        assumed = ASSUMPTIONS.get(name, AS_IT_IS)
        if name not in self.numbers:
            self.numbers[name] = fitted(assumed)
        return assumed.build(self.numbers[name])

    def outcomes(self, loads: Sequence[tuple[Scenario, int]]) -> list[Outcome]:
        """Run loads that are in no matrix."""
        return self.runner.outcomes(loads)

    def _assuming(self, matrix: Matrix, name: str) -> Matrix:
        """Let a matrix load another page, over a link that loses as it is assumed."""
        assumed = ASSUMPTIONS[name]
        folder = self._folder / f"{[*ASSUMPTIONS].index(name)}"
        if not folder.exists():
            folder.mkdir()
            (folder / "front.page.json").write_text(json.dumps(self.page(name)))

        def lost(factors: Mapping[str, Sequence[Level]]) -> dict[str, Sequence[Level]]:
            way = READINGS[assumed.reading]
            return {
                factor: [way(of_round_trips(each)) for each in levels] if factor == "loss" else levels
                for factor, levels in factors.items()
            }

        network = str(matrix.common["network"]).replace("{loss}%", "{loss}")
        return replace(
            matrix,
            factors=lost(matrix.factors),
            linked=[lost(group) for group in matrix.linked],
            common={**matrix.common, **assumed.common, "network": network},
            folder=folder,
        )


def of_round_trips(each_way: Level) -> int:
    """Give the percent of round trips that fail where each direction loses so many percent."""
    return round(100 * (1 - (1 - float(each_way) / 100) ** 2))
