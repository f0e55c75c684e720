"""Claims: what a study says, number by number, and what becomes of each when the study is run again."""

import csv
import dataclasses
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.files import InputError
from loadstone.reproduce.altered import FAMILY

NEAR = 0.25
"""A number comes out if ours lies within a quarter of it."""

_RELATIONS = {
    "exactly": lambda ours, low, high, near: ours == low,
    "eq": lambda ours, low, high, near: abs(ours - low) <= near * abs(low),
    "approx": lambda ours, low, high, near: abs(ours - low) <= near * abs(low),
    "lt": lambda ours, low, high, near: ours < low,
    "le": lambda ours, low, high, near: ours <= low,
    "share": lambda ours, low, high, near: abs(ours - low) <= near * min(low, 100 - low),
    "upto": lambda ours, low, high, near: ours <= low * (1 + near),
    "gt": lambda ours, low, high, near: ours > low,
    "ge": lambda ours, low, high, near: ours >= low,
    "range": lambda ours, low, high, near: low * (1 - near) <= ours <= high * (1 + near),
}


class Verdict(enum.Enum):
    """What became of a claim."""

    SET_UP = "set-up"
    """It says how the laboratory was made, and nothing is tested by that."""
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    """Chance or assumptions could turn it."""
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
    turned_by: frozenset[str] = frozenset()
    """Altered outcomes (`altered.FAMILY`) in which it must not hold: said beforehand."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Give the bounds between which our number has to lie, a quarter at most from the study's.

        Of a share of a whole, in percent, the rest is as near to theirs. "Up to" is about the largest of some
        figures, which has to be near. "At least" and "at most" are bounds themselves, and the other one is a
        quarter further on. "More than" and "less than" are about a direction.
        """
        if self.value is None:
            raise ValueError(f"{self.id}: says no number")
        near = NEAR * abs(self.value)
        match self.relation:
            case "range":
                most = self.value if self.most is None else self.most
                return self.value - near, most + NEAR * abs(most)
            case "share":
                most = self.value if self.most is None else self.most
                return max(self.value - near, self.value - NEAR * (100 - self.value)), min(
                    most + NEAR * most, most + NEAR * (100 - most)
                )
            case "exactly":
                return self.value, self.value
            case "ge":
                return self.value, self.value + near
            case "le":
                return self.value - near, self.value
            case "gain" if self.value > 1:
                return max(self.value - near, 1), self.value + near
            case "gain" if self.value < 1:
                return self.value - near, min(self.value + near, 1)
            case "gt":
                return self.value, math.inf
            case "lt":
                return -math.inf, self.value
            case _:
                return self.value - near, self.value + near


@dataclass(frozen=True)
class Judged:
    """A claim and what became of it."""

    claim: Claim
    verdict: Verdict
    ours: str
    """What came out here, as far as it can be said in a few words."""
    why: str = ""
    """Why it cannot be tested, or what explains a difference."""
    altered: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Whether it would hold in each of the altered outcomes; nothing if it is not judged by loads."""
    holds: bool = False
    """Whether it holds as it came out, whatever chance and assumptions make of that."""

    @property
    def fails_in(self) -> frozenset[str]:
        """Name the altered outcomes in which it does not hold."""
        return frozenset(name for name, holds in self.altered.items() if not holds)

    @property
    def survives(self) -> frozenset[str]:
        """Name the altered outcomes that should have turned it, and did not. A test says that there are none.

        What does not hold as it came out has been turned already.
        """
        return self.claim.turned_by - self.fails_in if self.holds else frozenset()


class Claims:
    """The claims of a study, each of which is judged once."""

    def __init__(self, folder: Path) -> None:
        """Read the claims of the study in this folder."""
        self._claims = {claim.id: claim for claim in _read(folder / "claims.csv")}
        self._judged: dict[str, Judged] = {}

    def __getitem__(self, id: str) -> Claim:
        """Give a claim of the list."""
        return self._claims[id]

    def add(self, judged: Judged) -> None:
        """Take a verdict."""
        if judged.claim.id in self._judged:
            raise ValueError(f"{judged.claim.id} is judged twice")
        self._judged[judged.claim.id] = judged

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
        self._judge(id, Verdict.SET_UP, ours, "")

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
        self.add(Judged(self._claims[id], verdict, ours, why))


def _verdict(holds: bool) -> Verdict:
    return Verdict.CONFIRMED if holds else Verdict.CONTRADICTED


def _read(path: Path) -> list[Claim]:
    return [_claim(row, f"{path}: line {line}") for line, row in enumerate(rows(path), start=2)]


def _claim(row: Mapping[str, str], place: str) -> Claim:
    turned_by = frozenset((row.get("turned_by") or "").split())
    if unknown := turned_by - {*FAMILY}:
        raise InputError(f"{place}: turned_by: write some of {', '.join(FAMILY)}, not {', '.join(unknown)}")
    named = [field.name for field in dataclasses.fields(Claim) if field.name != "turned_by"]
    fields: dict[str, Any] = {name: row.get(name) for name in named}
    if lacking := [name for name, value in fields.items() if value is None]:
        raise InputError(f"{place}: a claim needs {', '.join(lacking)}: add the columns")
    if fields["relation"] not in {*_RELATIONS, "gain", "direction", "text"}:
        raise InputError(f"{place}: relation: write {', '.join(_RELATIONS)}, gain, direction or text")
    numbers = {name: _number(fields[name]) for name in ("value", "most")}
    return Claim(**{**fields, **numbers, "turned_by": turned_by})


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
