"""What a comparison found, read from its document: the one just made, or one that was kept."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import __version__, files
from loadstone.files import InputError

COUNTS = ("bytes_down", "bytes_up", "packets_down", "packets_up", "retransmissions", "connections")
"""What is counted in each load."""

_OF_A_LOAD = ("plt_ms", *COUNTS)
_REMEDY = "write it again with 'loadstone compare ... --json'"


@dataclass(frozen=True)
class VariantFindings:
    """What was found of one variant on one network."""

    name: str
    settings: dict[str, Any]
    """The variant, as scenarios have it."""
    seeds: tuple[int, ...]
    loads: tuple[dict[str, float], ...]
    """The loads that were completed: page load time in ms, and what is counted."""
    gain: float | None
    """`None` for the baseline itself, and where nothing can be compared."""
    gain_low: float | None
    gain_high: float | None

    @property
    def incomplete(self) -> int:
        """Say how many loads were not completed."""
        return len(self.seeds) - len(self.loads)


@dataclass(frozen=True)
class NetworkFindings:
    """What was found of one page on one network."""

    name: str
    """As it was asked for."""
    notation: str
    is_random: bool
    variants: dict[str, VariantFindings]
    baseline: str
    best: str | None


@dataclass(frozen=True)
class Findings:
    """What a comparison found: of each page, by name, each network, by name."""

    version: str
    pages: dict[str, dict[str, NetworkFindings]]

    @classmethod
    def of(cls, document: Any) -> "Findings":
        """Take what is needed from a document; if it is none, `ValueError` or `OverflowError`."""
        baseline = _field(document, "baseline", str)
        pages = {
            _field(page, "page", str): _networks(page, baseline) for page in _field(document, "pages", list)
        }
        return cls(_field(document, "version", str), pages)


@dataclass(frozen=True)
class Earlier:
    """Findings that were kept, to be held against new ones."""

    path: str
    findings: Findings

    @classmethod
    def read(cls, path: str, pages: Sequence[str], networks: Sequence[str]) -> "Earlier":
        """Read a document that `compare --json` wrote, of these pages on these networks."""
        data = files.read(path)
        try:
            found = Findings.of(json.loads(data))
        except (ValueError, OverflowError, RecursionError):
            raise InputError(f"{path}: no document of 'loadstone compare --json': {_REMEDY}") from None
        if found.version != __version__:
            raise InputError(
                f"{path}: written by loadstone {found.version}, and figures of {__version__} may be others: "
                f"{_REMEDY}"
            )
        earlier = cls(path, found)
        for page in pages:
            earlier._refuse_other_networks(page, earlier.page(page, len(set(pages))), networks)
        return earlier

    def page(self, name: str, of: int) -> dict[str, NetworkFindings]:
        """Give what was found of that page; where there is one each, it may have had another name."""
        pages = self.findings.pages
        if name in pages:
            return pages[name]
        if len(pages) == of == 1:
            return next(iter(pages.values()))
        raise InputError(f"{self.path}: has no page '{name}', only {_listed(pages)}: {_REMEDY}")

    def _refuse_other_networks(self, page: str, known: Collection[str], networks: Sequence[str]) -> None:
        if set(known) != set(networks):
            raise InputError(
                f"{self.path}: {page} was loaded on {_listed(known)} and is now on {_listed(networks)}: "
                f"give the same networks, or {_REMEDY}"
            )

    def refuse_difference(self, page: str, now: NetworkFindings, then: NetworkFindings) -> None:
        """Refuse networks that were set otherwise: what differs would not be the page."""
        place = f"{self.path}: {page} on {now.name}"
        if now.notation != then.notation:
            raise InputError(f"{place}: the network was {then.notation} and is {now.notation}: {_REMEDY}")
        if list(now.variants) != list(then.variants):
            was, are = _listed(then.variants), _listed(now.variants)
            raise InputError(f"{place}: the variants were {was} and are {are}: {_REMEDY}")
        for name, variant in now.variants.items():
            earlier = then.variants[name]
            if variant.settings != earlier.settings:
                differs = _difference(earlier.settings, variant.settings)
                raise InputError(
                    f"{place}: {name} had other settings ({differs}): give the same, or {_REMEDY}"
                )
            if variant.seeds != earlier.seeds:
                was, are = _seeds(earlier.seeds), _seeds(variant.seeds)
                raise InputError(f"{place}: {name} had {was} and has {are}: give the same --runs and --seed")


def _networks(page: Any, baseline: str) -> dict[str, NetworkFindings]:
    networks = [_network(network, baseline) for network in _field(page, "networks", list)]
    return {network.name: network for network in networks}


def _network(network: Any, baseline: str) -> NetworkFindings:
    variants = [_variant(variant) for variant in _field(network, "variants", list)]
    found = NetworkFindings(
        _field(network, "name", str),
        _field(network, "network", str),
        _field(network, "random", bool),
        {variant.name: variant for variant in variants},
        baseline,
        _field(network, "best", str | None),
    )
    if not {found.baseline, found.best} - {None} <= set(found.variants):
        raise ValueError("the baseline or the best is none of the variants")
    return found


def _variant(variant: Any) -> VariantFindings:
    runs = _field(variant, "runs", list)
    if not runs:
        raise ValueError("a variant without loads")
    return VariantFindings(
        _field(variant, "name", str),
        _field(variant, "variant", dict),
        tuple(_field(run, "seed", int) for run in runs),
        tuple(
            {field: _number(run, field) for field in _OF_A_LOAD}
            for run in runs
            if _field(run, "completed", bool)
        ),
        *(_gain(variant, field) for field in ("gain", "gain_low", "gain_high")),
    )


def _gain(variant: Any, field: str) -> float | None:
    return None if _field(variant, field, int | float | None) is None else _number(variant, field)


def _number(of: Any, field: str) -> float:
    number: float = _field(of, field, int | float)
    if not math.isfinite(float(number)):
        raise ValueError(field)
    return number


def _field(of: Any, field: str, kind: Any) -> Any:
    value = of[field] if isinstance(of, dict) and field in of else _Absent
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(field)
    return value


class _Absent:
    """Stands for a field that is not there."""


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "nothing"


def _seeds(seeds: Sequence[int]) -> str:
    return (
        f"{len(seeds)} loads from seed {seeds[0]} on" if len(seeds) != 1 else f"a load with seed {seeds[0]}"
    )


def _difference(then: dict[str, Any], now: dict[str, Any]) -> str:
    """Name the first field that differs, with both values."""
    field = next(field for field in {**then, **now} if then.get(field) != now.get(field))
    one, other = then.get(field), now.get(field)
    if isinstance(one, dict) and isinstance(other, dict):
        return f"{field}.{_difference(one, other)}"
    return f"{field} was {one} and is {other}"
