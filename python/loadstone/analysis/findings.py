"""What an analysis finds: everything that is shown of a matrix, for each challenger."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from loadstone.account import PARTS
from loadstone.analysis.gain_tables import (
    Accounts,
    Cube,
    Influence,
    Summary,
    accounts,
    cube,
    levels_of,
    ranking,
    summary,
)
from loadstone.analysis.gains import Gains, measure
from loadstone.analysis.question import Level, Question, spelled
from loadstone.files import InputError


@dataclass(frozen=True)
class Finding:
    """What came out for one challenger."""

    gains: Gains
    summary: Summary
    ranking: list[Influence]
    cubes: list[Cube]
    accounts: Accounts | None
    """`None` if the runs have none, as those over the kernel."""

    @property
    def challenger(self) -> Level:
        """Give the level that is held against the baseline."""
        return self.summary.challenger


@dataclass(frozen=True)
class Findings:
    """What came out of a matrix."""

    question: Question
    runs: pl.DataFrame
    gains: Gains
    each: list[Finding]
    """One for each challenger that has gains."""


def find(runs: pl.DataFrame, question: Question, by: str | None = None) -> Findings:
    """Analyze runs: gains, summaries, what they depend on, tables by the factors `by` or the usual ones."""
    chosen = None if by is None else [asked_tables(question, by)]
    gains = measure(runs, question)
    tables = usual_tables(gains) if chosen is None else chosen
    has_accounts = all(f"{part}_ms" in runs.columns for part in PARTS)
    found = accounts(runs, gains) if has_accounts else []
    of = {each.challenger: each for each in found}
    each = [
        Finding(own, summary(own), ranking(own), [cube(own, table) for table in tables], of.get(challenger))
        for challenger, own in gains.each()
    ]
    return Findings(question, runs, gains, each)


def asked(runs: pl.DataFrame, question: Question, compare: str | None, baseline: str | None) -> Question:
    """Ask for another factor, or against another level of it: its first, if `baseline` does not say."""
    name = compare or question.compared
    if name not in question.factors:
        raise InputError(f"--compare: there is no factor '{name}': give one of {', '.join(question.factors)}")
    if name != question.compared:
        first = question.factors[name][0]
        question = replace(question, compared=name, baseline=first, linked=_linked(runs, question, name))
        _refuse_held(runs, question)
    levels = question.factors[name]
    if len(levels) < 2:
        raise InputError(f"--compare: {name} has one level only: give a factor that has more")
    if baseline is None:
        return question
    of = {spelled(level): level for level in levels}
    if baseline not in of:
        raise InputError(f"--baseline: {name} is never '{baseline}': give one of {', '.join(of)}")
    return replace(question, baseline=of[baseline])


def _refuse_held(runs: pl.DataFrame, question: Question) -> None:
    """Refuse a factor that has one level only wherever the others stay."""
    compared, others = question.compared, question.others
    cells = runs.select(compared, *others).unique()

    def varies(*held: str) -> bool:
        groups = cells.group_by(held) if held else cells.group_by(pl.lit(0))
        return any(count > 1 for count in groups.agg(pl.col(compared).n_unique())[compared])

    if varies(*others):
        return
    holding = [name for name in others if not varies(name)]
    what = f"{holding[0]} stays, which changes with it" if holding else "the other factors stay"
    remedy = f"compare {holding[0]}" if holding else "compare another factor"
    raise InputError(f"--compare: {compared} is never varied while {what}: {remedy}")


def _linked(runs: pl.DataFrame, question: Question, compared: str) -> tuple[str, ...]:
    """Give the factors whose level follows from that of the compared one, so that none can be held."""
    levels = len(runs.select(compared).unique())

    def follows(name: str) -> bool:
        return runs[name].n_unique() > 1 and len(runs.select(compared, name).unique()) == levels

    return tuple(name for name in question.factors if name != compared and follows(name))


# --- which gain tables are made: those asked for, or by what the factors are named ---


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


def asked_tables(question: Question, by: str) -> tuple[str, ...]:
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


def usual_tables(gains: Gains) -> list[tuple[str, ...]]:
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
