"""How many connections the browser has open at a time, and how many it opens in all."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from loadstone._native import Outcome
from loadstone.reproduce.cablelabs.laboratory import BASE, SPDY, STUDY
from loadstone.reproduce.study import Runner
from loadstone.sweep.plan import Plan


@dataclass(frozen=True)
class Counts:
    """The connections of a page from so many servers, over HTTPS and over SPDY."""

    page: str
    servers: int
    at_a_time: tuple[int, int]
    """The most that are open at once."""
    in_all: tuple[int, int]

    @property
    def factor(self) -> float:
        """Say by which factor SPDY reduces those that are open at once."""
        https, spdy = self.at_a_time
        return https / spdy


def measure(runner: Runner) -> Iterator[Counts]:
    """Count them at 10 Mbit/s and 100 ms without loss, for every page and number of servers."""
    matrix = runner.matrix(STUDY, "matrix.toml")
    factors = {**matrix.factors, "link": matrix.factors["link"][:1], "rtt": [100], "loss": [0]}
    variants = {option: matrix.variants[option] for option in (BASE, SPDY)}
    plan = Plan.of(replace(matrix, factors=factors, variants=variants))
    jobs = [(cell.scenario(plan.pages[cell.page].json), matrix.seed) for cell in plan.cells]
    outcomes = runner.outcomes(jobs)
    for cell, https, spdy in zip(plan.cells[::2], outcomes[::2], outcomes[1::2], strict=True):
        page = str(cell.levels["page"]).removeprefix("synthetic:")
        yield Counts(
            page,
            int(cell.levels["servers"]),
            (at_a_time(https), at_a_time(spdy)),
            (https.connections, spdy.connections),
        )


def at_a_time(outcome: Outcome) -> int:
    """Give the most connections that are open at once.

    Each is from its SYN to the last byte that came over it: a server that keeps none alive closes it then,
    and the browser one over which it asks for nothing as soon as that is established.
    """
    table, seen = outcome.connection_table(), outcome.waterfall()
    ends = [
        opened if established is None else established
        for opened, established in zip(table["opened_ms"], table["established_ms"], strict=True)
    ]
    for at, last in zip(seen["connection"], seen["last_byte_ms"], strict=True):
        if at is not None and last is not None:
            ends[at] = max(ends[at], last)
    changes = [(opened, 1) for opened in table["opened_ms"]] + [(end, -1) for end in ends]
    most = there = 0
    # At the same time those that end come first: the next one takes their place.
    for _, change in sorted(changes):
        there += change
        most = max(most, there)
    return most
