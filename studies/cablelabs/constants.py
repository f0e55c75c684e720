"""How the laboratory's few constants were set: all combinations, on the loss-free rows of 10 Mbit/s alone.

Each combination is judged by the mean of |ln ours - ln published| of load times; the rows of 20 Mbit/s and
those with loss have no say. Prints a Markdown table: `.venv/bin/python studies/cablelabs/constants.py`.
"""

import itertools
import math
import statistics
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

import click

from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix, Settings
from loadstone.studies.cablelabs import laboratory
from loadstone.studies.cablelabs.assumptions import BROWSER_MS, MEGABYTE, RESPONSE, with_network
from loadstone.studies.cablelabs.laboratory import BASE, FOLDER, WINDOW, Pair

QUEUES = (50, 100, 150, 200)
RESPONSES_US = (0, 1_000, 2_000, 4_000)
HTTPS_MEGABYTES_US = (0, 200_000, 400_000)
SPDY_MEGABYTES_US = (300_000, 500_000, 800_000, 1_100_000)
BROWSERS_MS = range(300, 1_401, 100)
SHOWN = 10


@dataclass(frozen=True)
class Constants:
    """One choice."""

    queue: int
    """Packets."""
    response_us: int
    """What a response costs the server's processor."""
    https_megabyte_us: int
    """What a megabyte costs it over HTTPS."""
    spdy_megabyte_us: int
    """What it costs over SPDY."""
    browser_ms: int
    """What load times have besides."""


def laboratories(matrix: Matrix) -> Iterator[tuple[tuple[int, int, int, int], Matrix]]:
    """Give the laboratory with each choice of the simulated constants, at 10 Mbit/s without loss."""
    factors = {**matrix.factors, "link": matrix.factors["link"][:1], "loss": [0]}
    for chosen in itertools.product(QUEUES, RESPONSES_US, HTTPS_MEGABYTES_US, SPDY_MEGABYTES_US):
        queue, response_us, https_us, spdy_us = chosen
        queued = with_network(matrix, "150p", f"{queue}p")
        variants: dict[str, Settings] = {}
        for option, settings in matrix.variants.items():
            megabyte_us = https_us if option in (BASE, WINDOW) else spdy_us
            work = {RESPONSE: response_us, MEGABYTE: megabyte_us}
            variants[option] = {**settings, **work}
        yield chosen, replace(queued, factors=factors, variants=variants)


def pairs_of(runner: Runner, matrix: Matrix) -> list[Pair]:
    """Run it on Windows 7 and Windows XP."""
    clients = {
        client: each for client, each in laboratory.clients(matrix).items() if client != laboratory.UBUNTU
    }
    runs = {client: laboratory.in_study_terms(runner.runs(each)) for client, each in clients.items()}
    return list(laboratory.pairs(runs))


def error(pairs: list[Pair], browser_ms: int) -> float:
    """Give the mean error of the load times."""
    shift = browser_ms - BROWSER_MS
    return statistics.mean(
        abs(math.log((pair.ours[option] + shift) / theirs))
        for pair in pairs
        for option, theirs in pair.theirs.items()
    )


def main() -> None:
    """Print the best."""
    runner = Runner(None, lambda done, total: None)
    tried: list[tuple[float, Constants]] = []
    for chosen, matrix in laboratories(runner.matrix(FOLDER / "matrix.toml")):
        pairs = pairs_of(runner, matrix)
        tried += [(error(pairs, browser), Constants(*chosen, browser)) for browser in BROWSERS_MS]
    tried.sort(key=lambda each: each[0])
    head = [
        "error",
        "queue, packets",
        "response, us",
        "megabyte over HTTPS, us",
        "over SPDY, us",
        "browser, ms",
    ]
    click.echo(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for found, constants in tried[:SHOWN]:
        click.echo(f"| {found:.4f} | {' | '.join(f'{each:,}' for each in astuple(constants))} |")
    click.echo(f"\n{len(tried):,} combinations.")


if __name__ == "__main__":
    main()
