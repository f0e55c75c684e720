"""Claims: what a study says, number by number, and what becomes of each when the study is run again."""

import csv
import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.files import InputError

NEAR = 0.25
"""A number comes out if ours lies within a quarter of it."""

_RELATIONS = {
    "eq": lambda ours, low, high, near: abs(ours - low) <= near * abs(low),
    "approx": lambda ours, low, high, near: abs(ours - low) <= near * abs(low),
    "lt": lambda ours, low, high, near: ours < low,
    "le": lambda ours, low, high, near: ours <= low,
    "upto": lambda ours, low, high, near: ours <= low * (1 + near),
    "gt": lambda ours, low, high, near: ours > low,
    "ge": lambda ours, low, high, near: ours >= low,
    "range": lambda ours, low, high, near: low * (1 - near) <= ours <= high * (1 + near),
}


class Verdict(enum.Enum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True)
class Claim:
    """One statement of a study."""

    id: str
    kind: str
    """`number`, `finding` (a direction or a comparison) or `setup` (how it was measured)."""
    says: str
    relation: str
    """How ours stands to `value`: eq, approx, lt, le, gt, ge, upto, range (to `most`), direction or text."""
    value: float | None
    most: float | None
    unit: str
    conditions: str
    section: str


@dataclass(frozen=True)
class Judged:
    """A claim and what became of it."""

    claim: Claim
    verdict: Verdict
    ours: str
    """What came out here, as far as it can be said in a few words."""
    why: str = ""
    """Why it cannot be tested, or what explains a difference."""


class Claims:
    """The claims of a study, each of which is judged once."""

    def __init__(self, folder: Path) -> None:
        """Read the claims of the study in this folder."""
        self._claims = {claim.id: claim for claim in _read(folder / "claims.csv")}
        self._judged: dict[str, Judged] = {}

    def number(
        self, id: str, ours: float | None, why: str = "", *, digits: int = 2, near: float = NEAR
    ) -> None:
        """Judge a number by its relation; `None` is a number that could not be measured.

        `near` is 0 for what follows by arithmetic, which comes out or does not.
        """
        if ours is None or self._claims[id].value is None:
            self.not_testable(id, why)
            return
        self._judge(id, _verdict(self.holds(id, ours, near)), self.in_unit(id, ours, digits), why)

    def holds(self, id: str, ours: float, near: float = NEAR) -> bool:
        """Say whether a number stands to ours as it is said to."""
        claim = self._claims[id]
        if claim.value is None:
            raise ValueError(f"{id}: says no number")
        return bool(_RELATIONS[claim.relation](ours, claim.value, claim.most or claim.value, near))

    def in_unit(self, id: str, ours: float, digits: int = 2) -> str:
        """Write our number in the claim's unit."""
        return f"{ours:.{digits}f} {self._claims[id].unit}".strip()

    def finding(self, id: str, holds: bool, ours: str, why: str = "") -> None:
        """Judge a finding by whether it holds here."""
        self._judge(id, _verdict(holds), ours, why)

    def same(self, id: str, ours: str) -> None:
        """Say that something is set up here as it was there."""
        self._judge(id, Verdict.CONFIRMED, ours, "set up so")

    def not_testable(self, id: str, why: str, ours: str = "-") -> None:
        """Say why something cannot be tested."""
        if not why:
            raise ValueError(f"{id}: not testable, because?")
        self._judge(id, Verdict.NOT_TESTABLE, ours, why)

    def judged(self) -> list[Judged]:
        """Give all claims with their verdicts, in the study's order; one without is a mistake here."""
        if missing := [id for id in self._claims if id not in self._judged]:
            raise ValueError(f"claims without a verdict: {', '.join(missing)}")
        return [self._judged[id] for id in self._claims]

    def _judge(self, id: str, verdict: Verdict, ours: str, why: str) -> None:
        if id in self._judged:
            raise ValueError(f"{id} is judged twice")
        self._judged[id] = Judged(self._claims[id], verdict, ours, why)


def _verdict(holds: bool) -> Verdict:
    return Verdict.CONFIRMED if holds else Verdict.CONTRADICTED


def _read(path: Path) -> list[Claim]:
    return [_claim(row, f"{path}: line {line}") for line, row in enumerate(rows(path), start=2)]


def _claim(row: Mapping[str, str], place: str) -> Claim:
    fields: dict[str, Any] = {field.name: row.get(field.name) for field in dataclasses.fields(Claim)}
    if lacking := [name for name, value in fields.items() if value is None]:
        raise InputError(f"{place}: a claim needs {', '.join(lacking)}: add the columns")
    if fields["relation"] not in {*_RELATIONS, "direction", "text"}:
        raise InputError(f"{place}: relation: write {', '.join(_RELATIONS)}, direction or text")
    return Claim(**{**fields, "value": _number(fields["value"]), "most": _number(fields["most"])})


def rows(path: Path) -> list[Mapping[str, str]]:
    """Read a table of a study."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: a study has it") from None


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        # Several values in one: for people.
        return None
