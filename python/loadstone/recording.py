"""What a HAR recorded of a page beside the page itself: when it was loaded, and how far its servers are.

Which page is meant and which entries are its own are the importer's rules; see `docs/pages.md`.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from loadstone import files, pages
from loadstone.pages import Page

_LONGEST_MS = 3_600_000
"""What takes longer is a mistake of the file: one hour, the longest span of a page file."""
_SHORTEST_MS = 1
"""Less is no round trip to a server, but what the browser needs to take a connection that it has."""
_QUIC = re.compile("h3|http/3|quic", re.IGNORECASE)
_GRAPHIC = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True)
class Recording:
    """The times of one page."""

    load_ms: float | None
    """Until the page's load event."""
    rtts_ms: dict[str, float]
    """The shortest TCP handshake with each server that has one."""


def of(page: Page) -> Recording:
    """Read the page's HAR once more; what is no HAR has recorded nothing."""
    log = _log(page.name) if page.notes else {}
    number = page.notes.get("page", 1)
    return Recording(_load_ms(log, number), _rtts_ms(log, number))


def host(url: str) -> str:
    """Give the server of a URL: what the importer takes for one, whatever the scheme."""
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
