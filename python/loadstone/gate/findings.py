"""What a comparison found, read from its document: the one just made, or one that was kept."""

import math
from dataclasses import dataclass
from typing import Any

COUNTS = ("bytes_down", "bytes_up", "packets_down", "packets_up", "retransmissions", "connections")
"""What is counted in each load."""

_OF_A_LOAD = ("plt_ms", *COUNTS)


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

    engine: str
    """The engine that made the figures; of documents that do not say it yet, its version."""
    pages: dict[str, dict[str, NetworkFindings]]

    @classmethod
    def of(cls, document: Any) -> "Findings":
        """Take what is needed from a document; if it is none, `ValueError` or `OverflowError`."""
        baseline = _field(document, "baseline", str)
        pages = {
            _field(page, "page", str): _networks(page, baseline) for page in _field(document, "pages", list)
        }
        return cls(_field(document, "engine" if "engine" in document else "version", str), pages)


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
