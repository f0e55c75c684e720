"""Whose page load times are compared: kinds of users, each with a network and a weight, from a CSV file."""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadstone import comparison, files
from loadstone.comparison import NetworkResult, PagePlan
from loadstone.experiment import Chosen
from loadstone.files import InputError
from loadstone.names import shown
from loadstone.pages import Page
from loadstone.stats import Until
from loadstone.variants import Variant

_NEEDED = ("weight", "down", "up", "rtt")
_OTHERS = ("loss", "queue", "name")
_MOST = 1_000
"""The most kinds of users: each is simulated under every variant."""

LOSS_FACTORS = (0.5, 2.0)
"""How much of a user's loss comes from where nobody knows: what is found is found again with these."""


def is_file(network: str) -> bool:
    """Say whether a network is a file of users."""
    return network.lower().endswith(".csv")


@dataclass(frozen=True)
class UserKind:
    """Users whose networks are alike."""

    name: str
    weight: float
    link: str
    """Rates and round trip, in the notation."""
    loss: float
    """In percent."""
    queue: str

    def network(self, loss_factor: float = 1.0) -> str:
        """Give the network in the notation, with so many times the loss."""
        loss = min(self.loss * loss_factor, 99.0)
        return (
            f"{self.link}{f',loss={loss:g}%' if loss else ''}{f',queue={self.queue}' if self.queue else ''}"
        )


def read(path: str) -> list[UserKind]:
    """Read kinds of users, a line each.

    The head names `weight`, `down`, `up` and `rtt`, and any of `loss`, `queue` and `name`. Bare numbers are
    Mbit/s, ms, percent and ms. Raises `InputError`, which names the line.
    """
    text = files.read(path).decode("utf-8-sig", errors="replace")
    rows = csv.DictReader(io.StringIO(text), strict=True)
    try:
        fields = [name.strip().lower() for name in rows.fieldnames or []]
        rows.fieldnames = fields
        _check_head(path, fields)
        kinds = [_kind(path, rows.line_num, row) for row in rows if any(value for value in row.values())]
    except csv.Error as error:
        raise InputError(f"{path}: line {rows.line_num}: no CSV: {error}") from None
    if not kinds:
        raise InputError(f"{path}: no users: write a line for each kind under the head")
    if len(kinds) > _MOST:
        raise InputError(f"{path}: {len(kinds):,} kinds of users: give at most {_MOST:,}")
    return kinds


def _check_head(path: str, fields: Sequence[str]) -> None:
    if missing := [name for name in _NEEDED if name not in fields]:
        head = ",".join([*_NEEDED, *_OTHERS])
        raise InputError(f"{path}: line 1: no column {' or '.join(missing)}: begin with {head}")
    if unknown := [name for name in fields if name not in (*_NEEDED, *_OTHERS)]:
        known = ", ".join([*_NEEDED, *_OTHERS])
        raise InputError(f"{path}: line 1: unknown column '{unknown[0]}': take {known}")


def _kind(path: str, line: int, row: dict[str, str | None]) -> UserKind:
    given = {name: (value or "").strip() for name, value in row.items() if name is not None}
    place = f"{path}: line {line}"
    if None in row:
        raise InputError(f"{place}: more values than the head has columns")
    if empty := [name for name in _NEEDED if not given[name]]:
        raise InputError(f"{place}: no {empty[0]}")
    weight = _number(place, "weight", given["weight"])
    loss = _number(place, "loss", given.get("loss", "").removesuffix("%") or "0")
    if weight <= 0 or loss >= 100:
        raise InputError(f"{place}: give a weight above 0, and a loss below 100")
    down, up = (_with_unit(given[name], "mbit") for name in ("down", "up"))
    link = f"{down}/{up},{_with_unit(given['rtt'], 'ms')}"
    queue = _with_unit(given.get("queue", ""), "ms")
    return UserKind(given.get("name") or f"line {line}", weight, link, loss, queue)


def _number(place: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{place}: {name}: '{text}' is no number from 0 on")
    return value


def _with_unit(text: str, unit: str) -> str:
    return f"{text}{unit}" if text and text[-1].isdigit() else text


@dataclass(frozen=True)
class Effect:
    """What a variant is worth to users, against the baseline."""

    variant: str
    gains: float
    """The share of users for whom it is clearly faster."""
    loses: float
    """The share of users for whom it is clearly slower."""
    median_gain: float | None
    """Half of the users have at least this gain."""
    losers: list[tuple[UserKind, float]]
    """For whom it is slower, and their gains, the worst first."""


def effects(kinds: Sequence[UserKind], results: Sequence[NetworkResult]) -> list[Effect]:
    """Say what each variant but the baseline is worth to these users, from a result for each kind."""
    total = sum(kind.weight for kind in kinds)
    found = []
    for at, variant in enumerate(results[0].variants[1:], start=1):
        gains = [(kind, result.variants[at].gain) for kind, result in zip(kinds, results, strict=True)]
        known = sorted(
            ((gain.ratio, kind.weight) for kind, gain in gains if gain is not None), key=lambda one: one[0]
        )
        clear = [(kind, gain.ratio) for kind, gain in gains if gain is not None and gain.is_clear]
        losers = sorted(((kind, ratio) for kind, ratio in clear if ratio < 1), key=lambda one: one[1])
        found.append(
            Effect(
                variant.name,
                sum(kind.weight for kind, ratio in clear if ratio > 1) / total,
                sum(kind.weight for kind, _ in losers) / total,
                _weighted_median(known),
                losers,
            )
        )
    return found


def _weighted_median(values: Sequence[tuple[float, float]]) -> float | None:
    """Give the value that half of the weight is not below, of values in order with their weights."""
    half, passed = sum(weight for _, weight in values) / 2, 0.0
    for value, weight in values:
        passed += weight
        if passed >= half:
            return value
    return None


@dataclass(frozen=True)
class UsersResult:
    """What variants are worth to the users of one file, for one page."""

    page: str
    file: str
    kinds: list[UserKind]
    effects: list[Effect]
    by_loss: dict[float, list[Effect]]
    """The same with so many times the loss, where there is any."""


@dataclass(frozen=True)
class UsersPlan:
    """Variants of a page for the users of one file, as they will run: as stated, and with other loss."""

    file: str
    kinds: list[UserKind]
    page: PagePlan

    @classmethod
    def of(cls, page: Page, path: str, variants: Sequence[Variant], chosen: Chosen) -> "UsersPlan":
        """Read a file of users, without running anything."""
        kinds = read(path)
        networks = [kind.network() for kind in kinds]
        networks += [kind.network(factor) for factor in LOSS_FACTORS for kind in kinds if kind.loss]
        planned = [comparison.network_plan(page, variants, chosen, name, name) for name in networks]
        return cls(shown([path])[0], kinds, PagePlan(page.name, None, planned))

    def carry_out(
        self, runs: int | Until | None, threads: int | None, progress: Callable[[int, int], None]
    ) -> UsersResult:
        """Compare the variants for each kind of users."""
        (result,) = comparison.carry_out([self.page], runs, threads, progress)
        stated, others = result.networks[: len(self.kinds)], iter(result.networks[len(self.kinds) :])
        has_loss = any(kind.loss for kind in self.kinds)
        by_loss = {
            factor: effects(
                self.kinds,
                [next(others) if kind.loss else one for kind, one in zip(self.kinds, stated, strict=True)],
            )
            for factor in (LOSS_FACTORS if has_loss else ())
        }
        return UsersResult(self.page.page, self.file, self.kinds, effects(self.kinds, stated), by_loss)
