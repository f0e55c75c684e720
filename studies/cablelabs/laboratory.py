"""The laboratory: 72 conditions and four options on Windows 7, the spot tests on two other systems."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from loadstone.analysis import gains
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level, Question
from loadstone.reproduce.claims import rows
from loadstone.reproduce.study import Cell, Runner
from loadstone.stores.matrix import Matrix

from .assumptions import BROWSER_MS

FOLDER = Path(__file__).parent
"""Claims, published figures, matrices and pages of the study."""

BASE, SPDY, WINDOW, BOTH = "HTTPS, window 3", "SPDY, window 3", "HTTPS, window 10", "SPDY, window 10"
COLUMNS = {BASE: "https_iw3_ms", SPDY: "spdy_iw3_ms", WINDOW: "https_iw10_ms", BOTH: "spdy_iw10_ms"}
"""The options, and their columns of the published times."""
KINDS = {SPDY: "SPDY", WINDOW: "window", BOTH: "both"}
"""What each option's gain over the base is called."""

FACTORS = ("page", "servers", "down_mbps", "rtt_ms", "loss_pct")
"""What a condition on a client is made of."""

WIN7, WINXP, UBUNTU = "Windows 7", "Windows XP", "Ubuntu"
_XP_WINDOW = 65_535
"""Windows XP does not scale its window; Chrome asked for 64 KiB there."""


@dataclass(frozen=True)
class Condition:
    """Under what a page was loaded."""

    client: str
    page: str
    servers: int
    down_mbps: int
    rtt_ms: int
    loss_pct: int

    @classmethod
    def of(cls, row: Mapping[str, str]) -> "Condition":
        """Read it from a published row."""
        page, *numbers = (row[name] for name in FACTORS)
        return cls(row["client"], page, *map(int, numbers))

    @property
    def levels(self) -> dict[str, Level]:
        """Give the levels of the factors."""
        return {name: getattr(self, name) for name in FACTORS}


@dataclass(frozen=True)
class Pair:
    """A condition's load times in ms by option: the study's, and ours."""

    condition: Condition
    theirs: dict[str, float]
    ours: dict[str, float]
    is_sound: bool

    def gains(self, option: str) -> tuple[float, float]:
        """Give the gain of an option over the base: theirs, and ours."""
        return self.theirs[BASE] / self.theirs[option], self.ours[BASE] / self.ours[option]


@dataclass(frozen=True)
class Laboratory:
    """What was measured, with what was published."""

    pairs: list[Pair]
    runs: pl.DataFrame
    """The runs on Windows 7, in the study's terms."""
    question: Question

    def of(self, client: str) -> list[Pair]:
        """Give the pairs of one client."""
        return [pair for pair in self.pairs if pair.condition.client == client]

    def sound(self, client: str) -> list[Pair]:
        """Give those of which the published times are credible."""
        return [pair for pair in self.of(client) if pair.is_sound]

    @cached_property
    def ours(self) -> Gains:
        """Give our gains on Windows 7."""
        return gains.measure(self.runs, self.question)

    @cached_property
    def theirs(self) -> Gains:
        """Give the study's gains on Windows 7, from its medians."""
        return gains.measure(_as_runs(self.of(WIN7), self.runs), self.question)

    def cells(self) -> list[Cell]:
        """Give every published time with ours."""
        return [cell for pair in self.pairs for cell in _cells(pair)]


def _cells(pair: Pair) -> Iterator[Cell]:
    for option, theirs in pair.theirs.items():
        yield Cell(
            {**pair.condition.levels, "client": pair.condition.client},
            option,
            theirs,
            round(pair.ours[option], 1),
            "ms",
            pair.is_sound,
        )


def measure(runner: Runner) -> Laboratory:
    """Run all of it."""
    matrix = runner.matrix(FOLDER / "matrix.toml")
    by_client = {client: in_study_terms(runner.runs(each)) for client, each in clients(matrix).items()}
    runs = by_client[WIN7]
    levels = {name: tuple(runs[name].unique(maintain_order=True)) for name in FACTORS}
    question = Question({**levels, "option": tuple(COLUMNS)}, "option", BASE)
    return Laboratory([*pairs(by_client)], runs, question)


def pairs(by_client: Mapping[str, pl.DataFrame]) -> Iterator[Pair]:
    """Give the published conditions that were run, with the medians of the runs."""
    ours = {client: _medians(client, runs) for client, runs in by_client.items()}
    for row in rows(FOLDER / "published.csv"):
        condition = Condition.of(row)
        theirs = {option: float(row[column]) for option, column in COLUMNS.items() if row[column]}
        if own := ours.get(condition.client, {}).get(condition):
            yield Pair(condition, theirs, own, row["sound"] == "1")


def clients(matrix: Matrix) -> dict[str, Matrix]:
    """Give the matrix of each client: the spot tests have some of its conditions, and two options."""
    spot = {option: matrix.variants[option] for option in (BASE, SPDY)}
    xp = {**matrix.common, "variant.client_tcp.receive_window": _XP_WINDOW}
    ubuntu = {**matrix.common, "client_tcp": "linux-2.6"}
    far: dict[str, Sequence[Level]] = {**matrix.factors, "rtt": [100]}
    lossy = {**far, "link": matrix.factors["link"][:1], "loss": [1]}
    return {
        WIN7: matrix,
        WINXP: replace(matrix, variants=spot, common=xp, factors=far),
        UBUNTU: replace(matrix, variants=spot, common=ubuntu, factors=lossy),
    }


_KEEP = ("cell", "seed", "completed", "is_random", "bytes_down", "bytes_up", "packets_down", "packets_up")


def in_study_terms(runs: pl.DataFrame, browser_ms: int = BROWSER_MS) -> pl.DataFrame:
    """Name factors as the study does, and add its browser's time to each load's."""
    own = [name for name in runs.columns if name.endswith("_ms") and name != "plt_ms"]
    return runs.select(
        page=pl.col("page").str.strip_prefix("synthetic:"),
        servers="servers",
        down_mbps=pl.col("link").str.split("/").list.first().cast(pl.Int64),
        rtt_ms="rtt",
        loss_pct="loss",
        option="variant",
        plt_ms=pl.col("plt_ms") + browser_ms,
    ).with_columns(runs.select(*_KEEP, "connections_opened", *own))


def _medians(client: str, runs: pl.DataFrame) -> dict[Condition, dict[str, float]]:
    found: dict[Condition, dict[str, float]] = {}
    grouped = runs.group_by([*FACTORS, "option"], maintain_order=True).agg(pl.col("plt_ms").median())
    for *levels, option, plt_ms in grouped.iter_rows():
        found.setdefault(Condition(client, *levels), {})[option] = plt_ms
    return found


def _as_runs(pairs: list[Pair], like: pl.DataFrame) -> pl.DataFrame:
    """Give published medians as one run each."""
    made: list[dict[str, Any]] = [
        {
            **pair.condition.levels,
            "option": option,
            "plt_ms": theirs,
            "seed": 1,
            "completed": True,
            "is_random": False,
            "cell": f"{pair.condition}{option}",
        }
        for pair in pairs
        for option, theirs in pair.theirs.items()
    ]
    columns = ("seed", "completed", "is_random", "cell", "plt_ms")
    return pl.DataFrame(made, schema_overrides={name: like.schema[name] for name in columns})
