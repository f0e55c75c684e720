"""Cold, again and next: what a cache and open connections change on recorded pages, over HTTP/1.1 and SPDY.

    .venv/bin/python studies/ece540/visits.py FOLDER

loads each recording (*.wacz) of FOLDER on the network of the production site: for the first time; again 5 s
later, with the cache and the open connections; again an hour later, with the cache alone; and 5 s later the
next page, which has the same style sheets, scripts and fonts, and documents and pictures of its own. See
README.md.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from loadstone import Page, load
from loadstone.api import Load

NETWORK = "20/5mbit,50ms"
PROTOCOLS: tuple[Literal["http/1.1"], Literal["spdy/2"]] = ("http/1.1", "spdy/2")
NEXT = "the next page"
VISITS: dict[str, dict[str, Any]] = {
    "first": {},
    "5 s later": {"visit_after": 5},
    "an hour later": {"visit_after": 3600},
    NEXT: {"visit_after": 5},
}
SHARED = ("css", "js", "font")
"""What pages of a site have in common."""


@dataclass(frozen=True)
class Visit:
    """What one visit takes by one protocol: medians over the runs."""

    ms: float
    connections: float
    kilobytes: float

    @classmethod
    def of(cls, loaded: Load) -> "Visit":
        """Read it off loads."""
        done = [outcome for outcome in loaded.outcomes if outcome.completed]
        return cls(
            median(outcome.plt_ms for outcome in done),
            median(outcome.connections for outcome in done),
            median(outcome.bytes_down for outcome in done) / 1e3,
        )


def next_page(page: dict[str, Any]) -> dict[str, Any]:
    """Make another page of the site: what is not shared is elsewhere, and new to the browser."""
    for one in page["objects"]:
        if one.get("kind") not in SHARED:
            one["name"] = one.get("name", one["url"])
            one["url"] += f"{'&' if '?' in one['url'] else '?'}next"
    return page


def visits(page: Page) -> dict[tuple[str, str], Visit]:
    """Make all visits to a page."""
    common: dict[str, Any] = {"network": NETWORK, "tls": "1.2", "tcp": "linux-3.7", "client_tcp": "linux-3.7"}
    following = page.under(next_page)

    def visit(name: str, protocol: Literal["http/1.1", "spdy/2"]) -> Visit:
        if name == NEXT:
            return Visit.of(load(following, before=page, protocol=protocol, **common, **VISITS[name]))
        return Visit.of(load(page, protocol=protocol, **common, **VISITS[name]))

    return {(name, protocol): visit(name, protocol) for name in VISITS for protocol in PROTOCOLS}


def main() -> None:
    """Print the medians over all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    paths = sorted(given.folder.glob("*.wacz"))
    found = {path.stem: visits(Page.read(path)) for path in paths}
    for name in VISITS:
        for protocol in PROTOCOLS:
            each = [visits[name, protocol] for visits in found.values()]
            first = [visits["first", protocol] for visits in found.values()]
            saved = [1 - one.ms / cold.ms for one, cold in zip(each, first, strict=True)]
            cells = [
                f"{median(one.ms for one in each):,.0f} ms",
                f"{median(saved):.0%}",
                f"{median(one.connections for one in each):.0f}",
                f"{median(one.kilobytes for one in each):,.0f} KB",
            ]
            sys.stdout.write(f"| {name} | {protocol} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
