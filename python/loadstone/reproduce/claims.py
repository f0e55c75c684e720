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

_RELATIONS = (
    "eq",
    "exactly",
    "approx",
    "upto",
    "ge",
    "le",
    "gt",
    "lt",
    "range",
    "share",
    "gain",
    "direction",
    "text",
)


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
    """How ours stands to `value`: one of `_RELATIONS`; a range or a share may go on to `most`."""
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
    value: float | None = None
    """Our number, where the claim is one and we have it."""

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


def read(folder: Path) -> dict[str, Claim]:
    """Read the claims of the study in this folder, by their ids."""
    path = folder / "claims.csv"
    found = [_claim(row, f"{path}: line {line}") for line, row in enumerate(rows(path), start=2)]
    return {claim.id: claim for claim in found}


def _claim(row: Mapping[str, str], place: str) -> Claim:
    turned_by = frozenset((row.get("turned_by") or "").split())
    if unknown := turned_by - {*FAMILY}:
        raise InputError(f"{place}: turned_by: write some of {', '.join(FAMILY)}, not {', '.join(unknown)}")
    named = [field.name for field in dataclasses.fields(Claim) if field.name != "turned_by"]
    fields: dict[str, Any] = {name: row.get(name) for name in named}
    if lacking := [name for name, value in fields.items() if value is None]:
        raise InputError(f"{place}: a claim needs {', '.join(lacking)}: add the columns")
    if fields["relation"] not in _RELATIONS:
        raise InputError(f"{place}: relation: write one of {', '.join(_RELATIONS)}")
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
