"""Terms: what figures depend on besides page and engine, so that it has to be what it was."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.comparison import NetworkPlan, PagePlan
from loadstone.gate.findings import NetworkFindings
from loadstone.text import shorten

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

    @classmethod
    def of_plan(cls, plan: NetworkPlan, runs: int | None) -> "Terms":
        """Give those of a comparison that is still to be run."""
        return cls(
            next(iter(plan.cells.values())).network,
            {name: cell.variant for name, cell in plan.cells.items()},
            {name: tuple(seed for _, seed in jobs) for name, jobs in plan.jobs(runs).items()},
        )

    @classmethod
    def of_findings(cls, found: NetworkFindings) -> "Terms":
        """Give those under which something was found."""
        variants = found.variants.values()
        return cls(
            found.notation,
            {variant.name: variant.settings for variant in variants},
            {variant.name: variant.seeds for variant in variants},
        )

    def difference(self, then: "Terms") -> str | None:
        """Say what is otherwise than then, and what to do: what differs would not be the page alone."""
        if self.notation != then.notation:
            return f"the network was {then.notation} and is {self.notation}: {REMEDY}"
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
        plan.page: {network.name: Terms.of_plan(network, runs) for network in plan.networks} for plan in plans
    }


def listed(names: Collection[str]) -> str:
    """Name them all."""
    return ", ".join(names) or "nothing"


def _seeds(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seeds from {seeds[0]} on" if len(seeds) > 1 else f"seed {seeds[0]} alone"


def _difference(then: dict[str, Any], now: dict[str, Any]) -> str:
    """Name the first field that differs, with both values."""
    field = next(field for field in {**then, **now} if then.get(field) != now.get(field))
    one, other = then.get(field), now.get(field)
    if isinstance(one, dict) and isinstance(other, dict):
        return f"{field}.{_difference(one, other)}"
    return f"{field} was {_written(one)} and is {_written(other)}"


def _written(setting: Any) -> str:
    return shorten(json.dumps(setting), 60)
