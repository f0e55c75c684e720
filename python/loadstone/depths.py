"""What an author sees of a page: how deep objects are embedded, what waits for them, how late they may come.

The measures are those of the study `nsdi`, section 5.3, and slack; `docs/pages.md` has their definitions.
"""

import json
from dataclasses import dataclass
from typing import Any

from loadstone import _native, experiment, variants
from loadstone.experiment import Cell
from loadstone.files import InputError
from loadstone.pages import Page
from loadstone.recorded import inferred

NETWORK = "10/1mbit,100ms"
"""Where a page is loaded that tells of no network."""
PROTOCOL = "h2"
SMALL = 4000
"""Bytes of a body below which an object counts as small."""
SEGMENT = 1448
"""Bytes that one segment of TCP carries over Ethernet, with timestamps."""


@dataclass(frozen=True)
class Depths:
    """A page with its depths, and the load in which they were measured."""

    page: Page
    cell: Cell
    plt_ms: float
    objects: list[dict[str, Any]]
    """In page order, as the engine gives them."""
    critical_path: list[dict[str, Any]]
    """Its activities, from the start of the load to its end."""

    @property
    def sizes(self) -> dict[str, float]:
        """Give the spread of the bodies' bytes; between two sizes percentiles are interpolated."""
        of = _native.Summary.of([each["bytes"] for each in self.objects])
        assert of is not None, "a page has an object"
        return {
            "min": of.least,
            "p25": of.p25,
            "median": of.median,
            "p75": of.p75,
            "p90": of.p90,
            "max": of.most,
        }

    def below(self, size: int) -> int:
        """Count the objects with fewer bytes than that."""
        return sum(each["bytes"] < size for each in self.objects)

    def path_ms(self) -> dict[str, float]:
        """Give what the load went into."""
        parts = ("network", "computing", "waiting")
        return {part: sum(leg[f"{part}_ms"] for leg in self.critical_path) for part in parts}


def depths(page: Page, given: dict[str, Any]) -> Depths:
    """Load a page once, exactly: on the network and over the protocols that are asked for, else as recorded.

    Raises `InputError` if the load is not completed.
    """
    chosen = experiment.asked(given, exact=True)
    loaded = page
    if "network" not in chosen:
        loaded, chosen["network"] = inferred(page) or (page, NETWORK)
    if "variant.protocol" not in chosen:
        chosen |= variants.recorded(page) or {"variant.protocol": PROTOCOL}
    cell = experiment.cell(loaded, chosen)
    found = json.loads(_native.load_depths(cell.scenario, cell.seed))
    if not found["completed"]:
        raise InputError(f"{page.name}: its load is not completed on {cell.network}: give another --network")
    return Depths(page, cell, found["plt_ms"], found["objects"], found["critical_path"])
