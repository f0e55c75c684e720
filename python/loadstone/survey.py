"""A survey of pages: how many objects, bytes and servers they have, how far the busiest are, and whose.

These are the statistics of tables 2 and 3 of the study `cablelabs`, over any set of HARs, recordings,
captures and other pages. Load times and round trips are what a HAR or a capture has in addition to the page
itself; pages that were not recorded have none. Which page is meant and which entries are its own are the
importer's rules; see `docs/pages.md`.
"""

import itertools
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone import har_servers, names, pages, text
from loadstone.captures.tables_folder import is_of_captures
from loadstone.cdns import Cdns
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
    busiest: list[str] = field(default_factory=list)
    """Their names."""
    cdns: list[str | None] = field(default_factory=list)
    """The CDN of each; `None` where none is known."""

    @property
    def rtt_ms(self) -> dict[str, float] | None:
        """The least, mean and greatest of its round trips."""
        return _spread(self.rtts_ms)

    def document(self) -> dict[str, Any]:
        """Give it for programs."""
        fields = {name: value for name, value in vars(self).items() if name != "name"}
        return {"page": self.name, **fields, "rtt_ms": self.rtt_ms}


@dataclass(frozen=True)
class _Server:
    name: str
    requests: int
    bytes: int
    rtt_ms: float | None
    addresses: Iterable[str] = ()


BY = ("requests", "bytes")
"""By what servers are the busiest."""


def survey(given: Sequence[str], cdns: str | None = None, by: str = BY[0]) -> list[Surveyed]:
    """Survey these pages, as `loadstone page` reads them, and folders of tables of captures.

    `cdns` is a table of CDNs, `by` what makes a server busy.

    Raises:
        InputError: if one cannot be read.
    """
    table = Cdns.read(cdns)
    each = [one for name in given for one in ([name] if is_of_captures(name) else pages.several(name))]
    return [
        (_capture if is_of_captures(one) else _page)(one, name, table, by)
        for one, name in zip(each, names.shown(each), strict=True)
    ]


def _page(given: str, name: str, cdns: Cdns, by: str) -> Surveyed:
    page = pages.read(given)
    summary = page.summary()
    size = summary["bytes"] + summary["request_header_bytes"] + summary["response_header_bytes"]
    servers = _servers(page, har_servers.addresses_of(pages.path_of(given)) if pages.is_file(given) else {})
    return _surveyed(name, servers, summary["objects"], size, page.notes.get("load_ms"), cdns, by)


def _servers(page: Page, addresses: dict[str, set[str]]) -> list[_Server]:
    """Give the servers of a page in its order, with where a HAR has found them."""
    handshakes_ms = page.notes.get("handshakes_ms", {})
    requests: dict[str, int] = {}
    sizes: dict[str, int] = {}
    objects = json.loads(page.json)["objects"]
    for (_, host), each in zip(page.content.names_and_hosts(), objects, strict=True):
        requests[host] = requests.get(host, 0) + 1
        sizes[host] = sizes.get(host, 0) + each["bytes"]
    return [
        _Server(host, count, sizes[host], handshakes_ms.get(host), addresses.get(host, ()))
        for host, count in requests.items()
    ]


def _capture(folder: str, name: str, cdns: Cdns, by: str) -> Surveyed:
    # It reads tables, which takes heavy packages.
    from loadstone.captures import captured_survey

    found, load_ms = captured_survey.captured_servers(folder)
    servers = [_Server(each.name, each.requests, each.bytes, each.rtt_ms, each.addresses) for each in found]
    requests, size = (sum(getattr(each, of) for each in servers) for of in BY)
    return _surveyed(name, servers, requests, size, load_ms, cdns, by)


def _surveyed(
    name: str,
    servers: Sequence[_Server],
    requests: int,
    size: int,
    load_ms: float | None,
    cdns: Cdns,
    by: str,
) -> Surveyed:
    busy = sorted(servers, key=lambda server: -getattr(server, by))[:BUSIEST]
    all_of_it = sum(getattr(server, by) for server in servers)
    amounts = itertools.accumulate(getattr(server, by) for server in busy)
    return Surveyed(
        name,
        len(servers),
        requests,
        size / 1000,
        load_ms,
        [100 * amount / all_of_it for amount in amounts] if all_of_it else [],
        [server.rtt_ms for server in busy],
        [server.name for server in busy],
        [cdns.of(server.name, server.addresses) for server in busy],
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
        "cdns": dict(Counter(cdn for page in surveyed for cdn in page.cdns if cdn is not None).most_common()),
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
        [label, *_filled(_marked(page)), *_spread_cells(page.rtt_ms)]
        for label, page in zip(labels, surveyed, strict=True)
    ]
    parts = [text.table([head, *rows]), text.table([rtt_head, *rtt_rows])]
    if of := mean["rtt_ms"]:
        said = f"{of['min']:.0f} to {of['max']:.0f} ms, mean {of['mean']:.1f} ms"
        parts.append(f"{text.count(mean['rtts'], 'round trip')}: {said}")
    if mean["cdns"]:
        parts += [_by_cdn(mean["cdns"]), _busiest(labels, surveyed)]
    return "\n\n".join(parts)


def _by_cdn(cdns: dict[str, int]) -> str:
    counts = ", ".join(f"{text.printable(cdn)} {servers}" for cdn, servers in cdns.items())
    return f"* a server of a CDN, by its name or address: {counts}"


def _busiest(labels: Sequence[str], surveyed: Sequence[Surveyed]) -> str:
    """Name the busiest servers with their CDNs, a line for each page and server."""
    rows = [["page", "server", "round trip, ms", "CDN"]]
    for label, page in zip(labels, surveyed, strict=True):
        for name, rtt, cdn in zip(page.busiest, page.rtts_ms, page.cdns, strict=True):
            rows.append([label, text.printable(name), _ms(rtt), text.printable(cdn or "-")])
    return text.table(rows, left=2)


def _marked(page: Surveyed) -> list[str]:
    """Give round trips, with a star where the server is a CDN's, as the study has it."""
    cdns = page.cdns or [None] * len(page.rtts_ms)
    return [f"{_ms(rtt)}*" if cdn else _ms(rtt) for rtt, cdn in zip(page.rtts_ms, cdns, strict=True)]


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
