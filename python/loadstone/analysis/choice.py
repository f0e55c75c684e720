"""Which gain tables are made: those that were asked for, or by what the factors are named."""

import re
from collections.abc import Sequence

from loadstone.analysis.cube import levels_of
from loadstone.analysis.gains import Gains
from loadstone.analysis.influence import ranking
from loadstone.analysis.question import Question
from loadstone.files import InputError

_OF_PAGES = {
    "page",
    "pages",
    "objects",
    "size",
    "sizes",
    "bytes",
    "kind",
    "hosts",
    "servers",
    "server",
    "depth",
}
_OF_CHANNELS = {
    "network",
    "rate",
    "down",
    "up",
    "bandwidth",
    "rtt",
    "delay",
    "loss",
    "queue",
    "trace",
    "channel",
}

_MOST_FACTORS = 3
_MOST_ROWS = 48
"""A table of more rows, margins included, is not read."""


def asked(question: Question, by: str) -> tuple[str, ...]:
    """Read the factors of one table from `--by`."""
    names = tuple(name.strip() for name in by.split(","))
    for at, name in enumerate(names):
        if name == question.compared:
            raise InputError(f"--by: {name} is what is compared: give other factors, or another --compare")
        if name not in question.factors:
            raise InputError(f"--by: there is no factor '{name}': give some of {', '.join(question.others)}")
        if name in names[:at]:
            raise InputError(f"--by: {name} stands there twice: give it once")
    return names


def usual(gains: Gains) -> list[tuple[str, ...]]:
    """Choose tables: the page's factors by each other, the channel's by each other, any other by itself.

    Where a table would be too long, those factors of it get tables of their own that have the least to do
    with the gain.
    """
    varied = [name for name in gains.question.others if len(levels_of(gains, name)) > 1]
    weight = _weights(gains)
    tables: list[list[str]] = [[], []]
    for name in varied:
        word = re.split(r"[^a-z]", name.lower())[0]
        if word in _OF_PAGES | _OF_CHANNELS:
            tables[word in _OF_CHANNELS].append(name)
        else:
            tables.append([name])
    for table in tables:
        while len(table) > _MOST_FACTORS or (len(table) > 1 and _rows(gains, table) > _MOST_ROWS):
            least = min(reversed(table), key=lambda name: weight.get(name, 0.0))
            table.remove(least)
            tables.append([least])
    return [tuple(table) for table in tables if table]


def _weights(gains: Gains) -> dict[str, float]:
    """Say how much each factor explains, over all challengers."""
    weight: dict[str, float] = {}
    for _, own in gains.each():
        for influence in ranking(own):
            weight[influence.factor] = weight.get(influence.factor, 0.0) + influence.explained
    return weight


def _rows(gains: Gains, table: Sequence[str]) -> int:
    rows = 1
    for name in table:
        rows *= len(levels_of(gains, name)) + 1
    return rows
