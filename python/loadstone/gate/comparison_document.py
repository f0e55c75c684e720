"""What a comparison found, read from its document, and one that was kept, to hold it against."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import files
from loadstone.comparison import NetworkPlan, PagePlan
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.pages import ONLOAD
from loadstone.text import shorten

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
    fastest: str | None
    metric: str
    """Up to which moment loads were measured."""
    spread: dict[str, int]
    """What varied with the seed, in percent."""


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
    metric = _field(page["measured"], "metric", str) if "measured" in page else ONLOAD
    networks = [_network(network, baseline, metric) for network in _field(page, "networks", list)]
    return {network.name: network for network in networks}


def _network(network: Any, baseline: str, metric: str) -> NetworkFindings:
    variants = [_variant(variant) for variant in _field(network, "variants", list)]
    found = NetworkFindings(
        _field(network, "name", str),
        _field(network, "network", str),
        _field(network, "random", bool),
        {variant.name: variant for variant in variants},
        baseline,
        # Documents from before say "best" of the fastest.
        _field(network, "fastest" if "fastest" in network else "best", str | None),
        metric,
        _field(network, "spread", dict),
    )
    if not {found.baseline, found.fastest} - {None} <= set(found.variants):
        raise ValueError("the baseline or the fastest is none of the variants")
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


# --- terms: what figures depend on besides page and engine ---

REMEDY = "write it again with 'loadstone compare ... --json'"
"""What to do about a document that cannot be held against what is now."""


@dataclass(frozen=True)
class Terms:
    """What the figures of a page on a network depend on."""

    notation: str
    settings: dict[str, dict[str, Any]]
    """Each variant, as scenarios have it."""
    seeds: dict[str, tuple[int, ...]]
    """Of each variant's loads."""
    metric: str
    spread: dict[str, int]

    @classmethod
    def of_plan(cls, plan: NetworkPlan, runs: int | None, metric: str) -> "Terms":
        """Give those of a comparison that is still to be run."""
        first = next(iter(plan.cells.values()))
        return cls(
            first.network,
            {name: cell.stated for name, cell in plan.cells.items()},
            {name: tuple(seed for _, seed in jobs) for name, jobs in plan.jobs(runs).items()},
            metric,
            first.spread,
        )

    @classmethod
    def of_findings(cls, found: NetworkFindings) -> "Terms":
        """Give those under which something was found."""
        variants = found.variants.values()
        return cls(
            found.notation,
            {variant.name: variant.settings for variant in variants},
            {variant.name: variant.seeds for variant in variants},
            found.metric,
            found.spread,
        )

    def difference(self, then: "Terms") -> str | None:
        """Say what is otherwise than then, and what to do: what differs would not be the page alone."""
        if self.metric != then.metric:
            return f"the metric was {then.metric} and is {self.metric}: give the same --metric, or {REMEDY}"
        if self.notation != then.notation:
            return f"the network was {then.notation} and is {self.notation}: {REMEDY}"
        if self.spread != then.spread:
            how = _difference(then.spread, self.spread)
            return f"the spread was otherwise ({how}, in percent): give the same, or {REMEDY}"
        if list(self.settings) != list(then.settings):
            return f"the variants were {listed(then.settings)} and are {listed(self.settings)}: {REMEDY}"
        for name, settings in self.settings.items():
            if settings != then.settings[name]:
                how = _difference(then.settings[name], settings)
                return f"{name} was set otherwise ({how}): give the same, or {REMEDY}"
            if self.seeds[name] != then.seeds[name]:
                were, are = _seeds(then.seeds[name]), _seeds(self.seeds[name])
                return f"{name} had {were} and has {are}: give the same --runs and --seed"
        return None


def of_plans(plans: Sequence[PagePlan], runs: int | None) -> dict[str, dict[str, Terms]]:
    """Give the terms of each page, by name, on each network, by name."""
    return {
        plan.page: {
            network.name: Terms.of_plan(network, runs, plan.measured["metric"] if plan.measured else ONLOAD)
            for network in plan.networks
        }
        for plan in plans
    }


def listed(names: Collection[str]) -> str:
    """Name them all."""
    return ", ".join(names) or "nothing"


def _seeds(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seeds from {seeds[0]} on" if len(seeds) > 1 else f"seed {seeds[0]} alone"


def _difference(then: dict[Any, Any], now: dict[Any, Any]) -> str:
    """Name the first field that differs, with both values."""
    field = next(field for field in {**then, **now} if then.get(field) != now.get(field))
    one, other = then.get(field), now.get(field)
    if isinstance(one, dict) and isinstance(other, dict):
        return f"{field}.{_difference(one, other)}"
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return f"{field}.{_difference(dict(enumerate(one)), dict(enumerate(other)))}"
    return f"{field} was {_written(one)} and is {_written(other)}"


def _written(setting: Any) -> str:
    return shorten(json.dumps(setting), 60)


# --- what was kept ---


@dataclass(frozen=True)
class KeptFindings:
    """What an earlier comparison found."""

    path: str
    findings: Findings

    @classmethod
    def read(cls, path: str, now: Mapping[str, Mapping[str, Terms]]) -> "KeptFindings":
        """Read a document that `compare --json` wrote; `now` is what will be held against it.

        Raises `InputError` if that cannot be: nothing has to be run to know.
        """
        data = files.read(path)
        try:
            found = Findings.of(json.loads(data))
        except (ValueError, OverflowError, RecursionError):
            raise InputError(f"{path}: no document of 'loadstone compare --json': {REMEDY}") from None
        if found.engine != engine():
            why = f"written by loadstone {found.engine}, and figures of {engine()} may be others"
            raise InputError(f"{path}: {why}: {REMEDY}")
        earlier = cls(path, found)
        for page, networks in now.items():
            earlier._refuse_difference(page, earlier.page(page, len(now)), networks)
        return earlier

    def page(self, name: str, of: int) -> dict[str, NetworkFindings]:
        """Give what was found of that page, one of `of`; where there is one each, names do not matter."""
        pages = self.findings.pages
        if name in pages:
            return pages[name]
        if len(pages) == of == 1:
            return next(iter(pages.values()))
        raise InputError(f"{self.path}: has no page '{name}', only {listed(pages)}: {REMEDY}")

    def _refuse_difference(
        self, page: str, then: Mapping[str, NetworkFindings], now: Mapping[str, Terms]
    ) -> None:
        if set(then) != set(now):
            raise InputError(
                f"{self.path}: {page} was loaded on {listed(then)} and is now on {listed(now)}: "
                f"give the same networks, or {REMEDY}"
            )
        for network, terms in now.items():
            if difference := terms.difference(Terms.of_findings(then[network])):
                raise InputError(f"{self.path}: {page} on {network}: {difference}")
