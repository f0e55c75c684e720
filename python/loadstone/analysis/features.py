"""Factors as rules see them: steps of a scale, high or low, or kinds; and sets of levels in words."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import polars as pl

from loadstone.analysis.question import Level, Question, spelled
from loadstone.files import InputError

_UNITS = {
    "": ("number", 1.0),
    "%": ("share", 0.01),
    "B": ("size", 1.0), "kB": ("size", 1e3), "KB": ("size", 1e3), "MB": ("size", 1e6), "GB": ("size", 1e9),
    "KiB": ("size", 1024.0), "MiB": ("size", 1024.0**2), "GiB": ("size", 1024.0**3),
    "bit": ("rate", 1.0), "kbit": ("rate", 1e3), "mbit": ("rate", 1e6), "gbit": ("rate", 1e9),
    "us": ("time", 1e-3), "ms": ("time", 1.0), "s": ("time", 1e3), "min": ("time", 60e3),
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([A-Za-z%]*)")


class Kind(Enum):
    """How the levels of a factor relate."""

    NUMBER = "number"
    """By size: every level is a number, or text that says one."""
    HIGH = "high"
    """By a threshold, below which all levels count as low."""
    NAME = "name"
    """Not at all."""


@dataclass(frozen=True)
class Factor:
    """A factor as far as it varies: what levels it has, and which of them rules can tell apart."""

    name: str
    kind: Kind
    steps: tuple[tuple[Level, ...], ...]
    """What is told apart, ascending (names: in the matrix's order); levels of one number are one step."""

    @property
    def levels(self) -> list[Level]:
        """Give all levels, in the order of the steps."""
        return [level for step in self.steps for level in step]

    def place(self, level: Level) -> int:
        """Give the step that a level belongs to."""
        return next(at for at, step in enumerate(self.steps) if level in step)

    def scale(self) -> "Factor":
        """Give the factor as it is, where rules take it as high or low."""
        return factor(self.name, self.levels) if self.kind is Kind.HIGH else self

    def words(self, kept: Collection[int]) -> str:
        """Say in words which steps are meant: `size at least 1KB and below 100KB`."""
        if self.kind is Kind.NAME:
            return self._named(sorted(kept))
        low, high = min(kept), max(kept)
        if self.kind is Kind.HIGH:
            word, sign = ("high", ">=") if low else ("low", "<")
            return f"{word} {self.name} ({sign} {self._at(1)})"
        if low == high and 0 < low < len(self.steps) - 1:
            return f"{self.name} {self._at(low)}"
        bounds = [f"at least {self._at(low)}"] if low else []
        if high < len(self.steps) - 1:
            bounds.append(f"below {self._at(high + 1)}")
        return f"{self.name} {' and '.join(bounds) or 'any'}"

    def _named(self, kept: Sequence[int]) -> str:
        without = [at for at in range(len(self.steps)) if at not in kept]
        if not without:
            return f"{self.name} any"
        if len(kept) <= len(without):
            return f"{self.name} {' or '.join(map(self._at, kept))}"
        return f"{self.name} not {' nor '.join(map(self._at, without))}"

    def _at(self, step: int) -> str:
        return spelled(self.steps[step][0])


@dataclass(frozen=True)
class Feature:
    """A column of numbers that a tree may split on."""

    factor: Factor
    only: int | None = None
    """The one step that the column marks with 1; without it, it says which step it is."""

    @property
    def name(self) -> str:
        """Give the column's name."""
        if self.only is not None:
            return self.factor.words([self.only])
        return self.factor.words([1]) if self.factor.kind is Kind.HIGH else self.factor.name

    def value(self, step: int) -> int:
        """Give what the column holds for a step."""
        return step if self.only is None else int(step == self.only)

    def below(self, threshold: float) -> frozenset[int]:
        """Give the steps of which the column holds no more than `threshold`."""
        return frozenset(at for at in range(len(self.factor.steps)) if self.value(at) <= threshold)


def number(level: Level | None) -> tuple[str, float] | None:
    """Read a level as a number: what it measures, and how much in bytes, bit/s, ms or as a share of 1.

    Gives `None` for what is none: other text, a pair of rates, true and false.
    """
    if level is None or isinstance(level, bool):
        return None
    if not isinstance(level, str):
        return "number", float(level)
    match = _QUANTITY.fullmatch(level.strip())
    if match is None or match[2] not in _UNITS:
        return None
    family, size = _UNITS[match[2]]
    return family, float(match[1]) * size


def factor(name: str, levels: Iterable[Level], high: float | None = None) -> Factor:
    """Read a factor with these levels, which are in the matrix's order.

    It is a scale if all levels are numbers of one family; a zero needs no unit. `high` is in the units of
    `number`.
    """
    levels = list(levels)
    numbers = _numbers(levels)
    if numbers is None:
        if high is not None:
            raise InputError(
                f"{name}: has a level that is no number, so none is high: leave the threshold out"
            )
        return Factor(name, Kind.NAME, tuple((level,) for level in levels))
    if high is not None:
        lows, highs = (
            tuple(level for level in _sorted(levels, numbers) if (numbers[level] >= high) == is_high)
            for is_high in (False, True)
        )
        return Factor(name, Kind.HIGH, tuple(step for step in (lows, highs) if step))
    steps: dict[float, list[Level]] = {}
    for level in _sorted(levels, numbers):
        steps.setdefault(numbers[level], []).append(level)
    return Factor(name, Kind.NUMBER, tuple(map(tuple, steps.values())))


def _numbers(levels: Sequence[Level]) -> dict[Level, float] | None:
    read = [number(level) for level in levels]
    if not all(read):
        return None
    pairs = [pair for pair in read if pair]
    families = {family for family, value in pairs if value or family != "number"}
    if len(families) > 1:
        return None
    return {level: value for level, (_, value) in zip(levels, pairs, strict=True)}


def _sorted(levels: Sequence[Level], numbers: dict[Level, float]) -> list[Level]:
    return sorted(levels, key=lambda level: numbers[level])


def factors(frame: pl.DataFrame, question: Question) -> list[Factor]:
    """Read the factors of a frame that vary in it, the compared one left out, in the matrix's order."""
    for name, high in question.high.items():
        if len(factor(name, question.factors[name], high).steps) < 2:
            levels = ", ".join(map(spelled, question.factors[name]))
            raise InputError(
                f"high.{name}: {high:g} does not part {levels} into low and high: give a number between "
                "them, of levels with units in bytes, bit/s, ms or as a share of 1"
            )
    read = [
        factor(name, present(frame, question, name), question.high.get(name))
        for name in question.others
        if name in frame.columns
    ]
    return [one for one in read if len(one.steps) > 1]


def rows_at(frame: pl.DataFrame, name: str, levels: Iterable[Level]) -> pl.DataFrame:
    """Give the rows at these levels of a factor, whether a matrix has them as numbers or as text."""
    texts = {spelled(level) for level in levels}
    found = [level for level in frame[name].unique().to_list() if spelled(level) in texts]
    return frame.filter(
        pl.col(name).is_in(pl.Series(found, dtype=frame.schema[name]).implode(), nulls_equal=True)
    )


def present(frame: pl.DataFrame, question: Question, name: str) -> list[Level]:
    """Give the levels of a factor that a frame has, in the matrix's order."""
    order = {spelled(level): at for at, level in enumerate(question.factors[name])}
    levels = frame[name].unique(maintain_order=True).to_list()
    return sorted(levels, key=lambda level: order.get(spelled(level), len(order)))


def features(read: Sequence[Factor]) -> list[Feature]:
    """Give the columns for factors: one for a scale, and for each of several names one."""
    return [
        Feature(one, only)
        for one in read
        for only in (range(len(one.steps)) if one.kind is Kind.NAME and len(one.steps) > 2 else [None])
    ]


def places(frame: pl.DataFrame, read: Sequence[Factor]) -> list[tuple[int, ...]]:
    """Say for each row which step of each factor it is at."""
    columns = []
    for one in read:
        place = {level: at for at, step in enumerate(one.steps) for level in step}
        columns.append([place[level] for level in frame[one.name].to_list()])
    return list(zip(*columns, strict=True)) if columns else [()] * len(frame)
