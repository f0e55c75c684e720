"""A survey of pages: how many objects, bytes and servers they have, and how far their busiest servers are.

These are the statistics of tables 2 and 3 of the study `cablelabs`, over any set of HARs and other pages.
Load times and round trips are what a HAR recorded in addition to the page itself; pages that were not
recorded have none. Which page is meant and which entries are its own are the importer's rules; see
`docs/pages.md`.
"""

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from loadstone import files, names, pages, text
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
    recorded = har_timings(page)
    servers = Counter(host(str(each["url"])) for each in json.loads(page.json)["objects"])
    size = summary["bytes"] + summary["request_header_bytes"] + summary["response_header_bytes"]
    return Surveyed(
        page.name,
        summary["hosts"],
        summary["objects"],
        size / 1000,
        recorded.load_ms,
        summary["top_hosts_pct"],
        [recorded.rtts_ms.get(server) for server, _ in servers.most_common(BUSIEST)],
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


# --- what a HAR recorded in addition to the page itself ---


_LONGEST_MS = 3_600_000
"""What takes longer is a mistake of the file: one hour, the longest span of a page file."""
_SHORTEST_MS = 1
"""Less is no round trip to a server, but what the browser needs to take a connection that it has."""
_QUIC = re.compile("h3|http/3|quic", re.IGNORECASE)
_GRAPHIC = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True)
class HarTimings:
    """The times of one page."""

    load_ms: float | None
    """Until the page's load event."""
    rtts_ms: dict[str, float]
    """The shortest TCP handshake with each server that has one."""


def har_timings(page: Page) -> HarTimings:
    """Read the page's HAR once more; what is no HAR has recorded nothing."""
    log = _log(page.source) if page.notes else {}
    number = page.notes.get("page", 1)
    return HarTimings(_load_ms(log, number), _rtts_ms(log, number))


def host(url: str) -> str:
    """Give the server of a URL: what the importer takes for one, whatever the scheme."""
    # A half of a surrogate pair is no character, as for the importer.
    url = url.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    scheme, _, rest = url.strip().partition("://")
    authority = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    port = ":443" if scheme.lower() == "https" else ":80"
    return quote(authority.removesuffix(port), safe=_GRAPHIC).lower()


def _log(name: str) -> dict[str, Any]:
    try:
        text = files.read(pages.path_of(name)).decode(errors="replace")
        return _dict(_dict(json.loads(text, parse_int=float)).get("log"))
    except RecursionError:
        # The importer passes over what is nested so deeply: the page is there, but without its times.
        return {}


def _load_ms(log: dict[str, Any], number: int) -> float | None:
    records = _list(log.get("pages"))[number - 1 : number]
    ms = [_number(_dict(_dict(record).get("pageTimings")).get("onLoad")) or 0 for record in records]
    return next((each for each in ms if 0 < each <= _LONGEST_MS), None)


def _rtts_ms(log: dict[str, Any], number: int) -> dict[str, float]:
    shortest: dict[str, float] = {}
    for entry in _entries(log, number):
        ms = _handshake_ms(entry)
        if ms is not None:
            server = host(str(_dict(entry.get("request")).get("url")))
            shortest[server] = min(ms, shortest.get(server, ms))
    return shortest


def _entries(log: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Give the entries of a page, from 1: those that name it, for the first also those that name none."""
    entries = [each for each in _list(log.get("entries")) if isinstance(each, dict)]
    references = [_key(entry.get("pageref")) for entry in entries]
    ids = [_key(_dict(record).get("id")) for record in _list(log.get("pages"))]
    # Pages that the file does not list follow in order of appearance.
    ids += [each for each in dict.fromkeys(references) if each is not None and each not in ids]
    own = {*ids[number - 1 : number], *([None] if number == 1 else [])}
    return (entry for entry, reference in zip(entries, references, strict=True) if reference in own)


def _handshake_ms(entry: dict[str, Any]) -> float | None:
    """Give what it took to connect, less what TLS took of it, if TCP got an answer by that."""
    request, response, timings = (_dict(entry.get(part)) for part in ("request", "response", "timings"))
    protocols = (request.get("httpVersion"), response.get("httpVersion"), entry.get("_protocol"))
    is_answered = (_number(response.get("status")) or 0) > 0
    if not is_answered or any(_QUIC.search(str(each)) for each in protocols):
        return None
    ms = (_number(timings.get("connect")) or 0) - max(_number(timings.get("ssl")) or 0, 0)
    return ms if _SHORTEST_MS <= ms <= _LONGEST_MS else None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> float | None:
    """Give the finite number that this is, or that it spells."""
    try:
        number = float(value) if isinstance(value, float | str) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _key(value: object) -> str | None:
    """Give what tells a page from others: a text, or a number written out."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else str(value)
    return value if isinstance(value, str) and value else None
