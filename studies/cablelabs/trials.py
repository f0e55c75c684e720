"""Single pages loaded in several ways, for what the study says of protocols and networks in general.

Each trial is made over the study's four channels without loss, between the systems that it names.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Outcome
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.study import Runner

Document = dict[str, Any]
"""A page as a page file has it (docs/pages.md)."""
Fields = dict[str, Any]
"""Fields of a scenario by their paths."""
Measure = Callable[[Outcome], float]

CHANNELS = (("10/1mbit", 20), ("10/1mbit", 100), ("20/2mbit", 20), ("20/2mbit", 100))
"""Links and round trips in ms."""
SYSTEMS: Fields = {
    "variant.tls": "1.0",
    "variant.tcp.profile": "linux-2.6",
    "variant.client_tcp.profile": "windows-7",
    "variant.tcp.iw": 3,
}
SPDY: Fields = {"variant.protocol": "spdy/2"}


def load(runner: Runner, ways: Sequence[tuple[Document, Fields]]) -> list[Outcome]:
    """Load pages, each under its fields."""
    jobs = []
    for page, fields in ways:
        content = pages.of_document(page)
        jobs.append((experiment.scenario(content, experiment.nested({**SYSTEMS, **fields})), 1))
    return runner.outcomes(jobs)


def evidence(
    runner: Runner,
    ways: Mapping[str, tuple[Document, Fields]],
    measure: Measure,
    otherwise: Mapping[str, Mapping[str, tuple[Document, Fields]]] | None = None,
    channels: Sequence[tuple[str, int]] = CHANNELS,
) -> Evidence:
    """Give what the ways measure, over each channel; `otherwise` has other ones of the same names."""
    changes = otherwise or {}

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        assumed = ways if assumption == AS_STATED else changes[assumption]
        rows = [(link, rtt, name) for link, rtt in channels for name in assumed]
        outcomes = load(runner, [_over(assumed[name], link, rtt) for link, rtt, name in rows])
        return pl.DataFrame(
            [
                {"link": link, "rtt_ms": rtt, "way": name, "seed": 1, "measured": float(measure(outcome))}
                for (link, rtt, name), outcome in zip(rows, outcomes, strict=True)
            ]
        )

    return Evidence(run, ("measured",), "way", assumptions=tuple(changes))


def _over(way: tuple[Document, Fields], link: str, rtt: int) -> tuple[Document, Fields]:
    page, fields = way
    return page, {"network": f"{link},{rtt}ms,queue=150p", **fields}


def by_way(loads: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each channel, with a column for each way."""
    return loads.pivot("way", index=["link", "rtt_ms"], values="measured")


def end_of(*chosen: str) -> Measure:
    """Measure when the last of some objects is complete, in ms; names are parts of URLs."""

    def measure(outcome: Outcome) -> float:
        seen = outcome.waterfall()
        ends = [
            end
            for name, end in zip(seen["name"], seen["last_byte_ms"], strict=True)
            if end is not None and any(each in name for each in chosen)
        ]
        return max(ends)

    return measure
