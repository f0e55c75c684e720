"""A survey of pages: how many objects, bytes and servers they have, and how far their busiest servers are.

These are the statistics of tables 2 and 3 of the study `cablelabs`, over any set of HARs and other pages.
Load times and round trips are what the recording says; pages that were not recorded have none.
"""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from loadstone import files, pages, text

BUSIEST = 5
"""Of so many servers shares and round trips are given."""


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

    def document(self) -> dict[str, Any]:
        """Give it for programs."""
        return {"page": self.name, **{name: value for name, value in vars(self).items() if name != "name"}}


def survey(names: Iterable[str]) -> list[Surveyed]:
    """Survey these pages, as `loadstone page` reads them."""
    return [_page(name) for name in names]


def _page(name: str) -> Surveyed:
    page = pages.read(name)
    summary = page.summary()
    urls = [str(each["url"]) for each in json.loads(page.json)["objects"]]
    busiest = [host for host, _ in Counter(map(_host, urls)).most_common(BUSIEST)]
    log = _log(name)
    recorded = _recorded(log, set(urls))
    size = summary["bytes"] + summary["request_header_bytes"] + summary["response_header_bytes"]
    return Surveyed(
        name,
        summary["hosts"],
        summary["objects"],
        size / 1000,
        _load_ms(log, recorded),
        summary["top_hosts_pct"],
        [_rtt_ms(recorded, host) for host in busiest],
    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return url


def _log(name: str) -> dict[str, Any]:
    """Read a HAR's log once more, for what is not part of the page; of what is no HAR there is none."""
    if name.startswith(pages.SYNTHETIC):
        return {}
    try:
        document = json.loads(files.read(pages.path_of(name)))
    except ValueError:
        return {}
    log = document.get("log") if isinstance(document, dict) else None
    return log if isinstance(log, dict) else {}


def _recorded(log: dict[str, Any], urls: set[str]) -> list[dict[str, Any]]:
    """Give the entries of the page's objects."""
    return [entry for entry in _dicts(log.get("entries")) if _dict(entry.get("request")).get("url") in urls]


def _load_ms(log: dict[str, Any], recorded: Sequence[dict[str, Any]]) -> float | None:
    references = {str(entry.get("pageref")) for entry in recorded}
    for page in _dicts(log.get("pages")):
        if str(page.get("id")) in references:
            return _positive(_dict(page.get("pageTimings")).get("onLoad"))
    return None


def _rtt_ms(recorded: Sequence[dict[str, Any]], host: str) -> float | None:
    """Give the shortest TCP handshake with a server: what it took to connect, less what TLS took of it."""
    found = []
    for entry in recorded:
        timings = _dict(entry.get("timings"))
        connect = _positive(timings.get("connect"))
        if connect is not None and _host(entry["request"]["url"]) == host:
            found.append(connect - (_positive(timings.get("ssl")) or 0))
    return min((each for each in found if each > 0), default=None)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (each for each in (value if isinstance(value, list) else []) if isinstance(each, dict))


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < math.inf else None


def averages(surveyed: Sequence[Surveyed]) -> dict[str, Any]:
    """Give the means over the pages, and least, mean and greatest of all round trips."""
    rtts = [rtt for page in surveyed for rtt in page.rtts_ms if rtt is not None]
    loads = [page.load_ms for page in surveyed if page.load_ms is not None]
    # Who has fewer servers has all of its requests in them.
    shares = [[*page.shares_pct, *[100.0] * BUSIEST][:BUSIEST] for page in surveyed]
    return {
        "servers": statistics.mean(page.servers for page in surveyed),
        "requests": statistics.mean(page.requests for page in surveyed),
        "kilobytes": statistics.mean(page.kilobytes for page in surveyed),
        "load_ms": statistics.mean(loads) if loads else None,
        "shares_pct": [statistics.mean(each) for each in zip(*shares, strict=True)],
        "rtt_ms": {"min": min(rtts), "mean": statistics.mean(rtts), "max": max(rtts)} if rtts else None,
        "rtts": len(rtts),
    }


def document(surveyed: Sequence[Surveyed]) -> dict[str, Any]:
    """Give the document of `loadstone page --survey --json`."""
    return {"pages": [page.document() for page in surveyed], "averages": averages(surveyed)}


def in_words(surveyed: Sequence[Surveyed]) -> str:
    """Write it as two tables."""
    mean = averages(surveyed)
    head = ["page", "servers", "requests", "KB", "load, s", *(f"top {n}, %" for n in range(1, BUSIEST + 1))]
    rows = [
        _row(text.shorten(text.printable(page.name), 40), vars(page), f"{page.servers}", f"{page.requests}")
        for page in surveyed
    ]
    rows.append(_row("mean", mean, f"{mean['servers']:.1f}", f"{mean['requests']:.1f}"))
    rtt_head = ["round trip, ms", *(f"server {n}" for n in range(1, BUSIEST + 1))]
    rtt_rows = [
        [text.shorten(text.printable(page.name), 40), *_filled([_ms(rtt) for rtt in page.rtts_ms])]
        for page in surveyed
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


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
