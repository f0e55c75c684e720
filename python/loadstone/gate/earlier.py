"""Findings that were kept, to be held against new ones: they have to be of the same networks and variants."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import __version__, files
from loadstone.files import InputError
from loadstone.gate.findings import Findings, NetworkFindings
from loadstone.text import shorten

_REMEDY = "write it again with 'loadstone compare ... --json'"


@dataclass(frozen=True)
class Earlier:
    """What an earlier comparison found."""

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
            why = f"written by loadstone {found.version}, and figures of {__version__} may be others"
            raise InputError(f"{path}: {why}: {_REMEDY}")
        earlier = cls(path, found)
        for page in pages:
            earlier._refuse_other_networks(page, earlier.page(page, len(set(pages))), networks)
        return earlier

    def page(self, name: str, of: int) -> dict[str, NetworkFindings]:
        """Give what was found of that page, one of `of`; where there is one each, names do not matter."""
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
        """Refuse networks that were set otherwise: what differs would not be the page alone."""
        place = f"{self.path}: {page} on {now.name}"
        if now.notation != then.notation:
            raise InputError(f"{place}: the network was {then.notation} and is {now.notation}: {_REMEDY}")
        if list(now.variants) != list(then.variants):
            was, are = _listed(then.variants), _listed(now.variants)
            raise InputError(f"{place}: the variants were {was} and are {are}: {_REMEDY}")
        for name, variant in now.variants.items():
            earlier = then.variants[name]
            if variant.settings != earlier.settings:
                why = f"{name} was set otherwise ({_difference(earlier.settings, variant.settings)})"
                raise InputError(f"{place}: {why}: give the same, or {_REMEDY}")
            if variant.seeds != earlier.seeds:
                why = f"{name} had {_seeds(earlier.seeds)} and has {_seeds(variant.seeds)}"
                raise InputError(f"{place}: {why}: give the same --runs and --seed")


def _listed(names: Collection[str]) -> str:
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
