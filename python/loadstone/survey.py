"""A survey of pages: how many objects, bytes and servers they have, and how far their busiest servers are.

These are the statistics of tables 2 and 3 of the study `cablelabs`, over any set of HARs and other pages.
Load times and round trips are what a HAR recorded in addition to the page itself; pages that were not
recorded have none. Which page is meant and which entries are its own are the importer's rules; see
`docs/pages.md`.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import names, pages, text
from loadstone.pages import Page

BUSIEST = 5
"""For this many servers shares and round trips are given."""


@dataclass(frozen=True)
class Surveyed:
    """A page in a survey."""

    name: str
    servers: int
    requests: int
    kilobytes: float
    """Of bodies and heads, of 1000 bytes."""
    load_ms: float | None
    """Until the page's load event, as it was recorded."""
    shares_pct: list[float]
    """The share of requests of the busiest server, of the two busiest, ..."""
    rtts_ms: list[float | None]
    """The shortest TCP handshake with each of the busiest servers; `None` where none was recorded."""

    @property
    def rtt_ms(self) -> dict[str, float] | None:
        """The least, mean and greatest of its round trips."""
        return _spread(self.rtts_ms)

    def document(self) -> dict[str, Any]:
        """Give it for programs."""
        fields = {name: value for name, value in vars(self).items() if name != "name"}
        return {"page": self.name, **fields, "rtt_ms": self.rtt_ms}


def survey(given: Sequence[str]) -> list[Surveyed]:
    """Survey these pages, as `loadstone page` reads them."""
    return [_page(page) for page in pages.read_all(given)]


def _page(page: Page) -> Surveyed:
    summary = page.summary()
    recorded = page.notes
    handshakes_ms = recorded.get("handshakes_ms", {})
    size = summary["bytes"] + summary["request_header_bytes"] + summary["response_header_bytes"]
    return Surveyed(
        page.name,
        summary["hosts"],
        summary["objects"],
        size / 1000,
        recorded.get("load_ms"),
        summary["top_hosts_pct"],
        [handshakes_ms.get(server) for server in summary["top_hosts"]],
    )


def _spread(rtts: Iterable[float | None]) -> dict[str, float] | None:
    """Give least, mean and greatest of the round trips that were recorded."""
    known = [rtt for rtt in rtts if rtt is not None]
    return {"min": min(known), "mean": statistics.mean(known), "max": max(known)} if known else None


def averages(surveyed: Sequence[Surveyed]) -> dict[str, Any]:
    """Give the means over the pages, and least, mean and greatest of all round trips."""
    rtts = [rtt for page in surveyed for rtt in page.rtts_ms]
    loads = [page.load_ms for page in surveyed if page.load_ms is not None]
    # Who has fewer servers has all of its requests in them.
    shares = [[*page.shares_pct, *[100.0] * BUSIEST][:BUSIEST] for page in surveyed]
    return {
        "servers": statistics.mean(page.servers for page in surveyed),
        "requests": statistics.mean(page.requests for page in surveyed),
        "kilobytes": statistics.mean(page.kilobytes for page in surveyed),
        "load_ms": statistics.mean(loads) if loads else None,
        "shares_pct": [statistics.mean(each) for each in zip(*shares, strict=True)],
        "rtt_ms": _spread(rtts),
        "rtts": len(rtts) - rtts.count(None),
    }


def document(surveyed: Sequence[Surveyed]) -> dict[str, Any]:
    """Give the document of `loadstone page --survey --json`."""
    return {"pages": [page.document() for page in surveyed], "averages": averages(surveyed)}


def in_words(surveyed: Sequence[Surveyed]) -> str:
    """Write it as two tables."""
    mean = averages(surveyed)
    labels = [text.printable(label) for label in names.labels([page.name for page in surveyed])]
    head = ["page", "servers", "requests", "KB", "load, s", *(f"top {n}, %" for n in range(1, BUSIEST + 1))]
    rows = [
        _row(label, vars(page), f"{page.servers}", f"{page.requests}")
        for label, page in zip(labels, surveyed, strict=True)
    ]
    rows.append(_row("mean", mean, f"{mean['servers']:.1f}", f"{mean['requests']:.1f}"))
    rtt_head = ["round trip, ms", *(f"server {n}" for n in range(1, BUSIEST + 1)), "min", "mean", "max"]
    rtt_rows = [
        [label, *_filled([_ms(rtt) for rtt in page.rtts_ms]), *_spread_cells(page.rtt_ms)]
        for label, page in zip(labels, surveyed, strict=True)
    ]
    parts = [text.table([head, *rows]), text.table([rtt_head, *rtt_rows])]
    if of := mean["rtt_ms"]:
        said = f"{of['min']:.0f} to {of['max']:.0f} ms, mean {of['mean']:.1f} ms"
        parts.append(f"{text.count(mean['rtts'], 'round trip')}: {said}")
    return "\n\n".join(parts)


def _row(name: str, of: dict[str, Any], *counts: str) -> list[str]:
    load = "-" if of["load_ms"] is None else f"{of['load_ms'] / 1000:.1f}"
    return [
        name,
        *counts,
        f"{of['kilobytes']:,.0f}",
        load,
        *_filled([f"{each:.0f}" for each in of["shares_pct"]]),
    ]


def _filled(cells: list[str]) -> list[str]:
    return [*cells, *["-"] * BUSIEST][:BUSIEST]


def _spread_cells(of: dict[str, float] | None) -> list[str]:
    return [f"{of['min']:.0f}", f"{of['mean']:.1f}", f"{of['max']:.0f}"] if of else ["-"] * 3


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
