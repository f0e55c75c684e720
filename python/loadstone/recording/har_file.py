"""A HAR 1.2 of the loads of a recording, without bodies, with the fields of Chromium's own HARs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from loadstone.recording.exchange import Fields
from loadstone.recording.masking import Mask
from loadstone.recording.network_log import Hop
from loadstone.recording.painting import Painting


@dataclass(frozen=True)
class HarLoad:
    """One load, as a HAR tells of it."""

    number: int
    title: str
    hops: Sequence[Hop]
    began: float
    """When the navigation began; DevTools' moment."""
    clock: float
    """What to add to DevTools' moments for seconds since 1970."""
    content_loaded: float | None
    loaded: float | None
    first_paint: float | None
    painting: Painting = field(default_factory=Painting)


def har(loads: Iterable[HarLoad], version: str, browser: str, mask: Mask | None) -> bytes:
    """Make a HAR; secrets of heads are replaced where there is a mask."""
    pages, entries = [], []
    for one in loads:
        pages.append(_page(one))
        certified = set()
        for hop in one.hops:
            if hop.url.startswith(("http://", "https://")) and not hop.is_lost:
                entry = _entry(one, hop, mask)
                if (connection := entry.get("connection")) not in certified and (names := _certificate(hop)):
                    certified.add(connection)
                    entry["_securityDetails"] = names
                entries.append(entry)
    name, _, number = browser.partition("/")
    log = {
        "version": "1.2",
        "creator": {"name": "Loadstone", "version": version},
        "browser": {"name": name, "version": number},
        "pages": pages,
        "entries": entries,
    }
    return json.dumps({"log": log}).encode()


def _page(load: HarLoad) -> dict[str, Any]:
    timings = {
        "onContentLoad": _since(load, load.content_loaded),
        "onLoad": _since(load, load.loaded),
        "_firstContentfulPaint": _since(load, load.first_paint),
        "_largestContentfulPaint": load.painting.largest_ms,
    }
    view: dict[str, Any] = {}
    if load.painting.view_pixels is not None:
        view["_viewPixels"] = load.painting.view_pixels
    if load.painting.steps:
        view["_viewSteps"] = [asdict(step) for step in load.painting.steps]
    return view | {
        "id": f"page_{load.number}",
        "title": load.title,
        "startedDateTime": _moment(load.began + load.clock),
        "pageTimings": {name: value for name, value in timings.items() if value is not None},
    }


def _since(load: HarLoad, moment: float | None) -> float | None:
    return None if moment is None else round((moment - load.began) * 1e3, 3)


def _entry(load: HarLoad, hop: Hop, mask: Mask | None) -> dict[str, Any]:
    response = hop.response or {}
    timings = _timings(hop, response)
    entry: dict[str, Any] = {
        "pageref": f"page_{load.number}",
        "startedDateTime": _moment(hop.sent["timestamp"] + load.clock),
        "time": round(sum(value for name, value in timings.items() if value > 0 and name != "ssl"), 3),
        "request": _request(hop, mask),
        "response": _response(hop, response, mask),
        "cache": {},
        "timings": timings,
        "_initiator": hop.sent.get("initiator") or {"type": "other"},
        "_priority": hop.sent["request"].get("initialPriority", "Medium"),
        "_resourceType": (hop.sent.get("type") or "other").lower(),
        "_requestId": hop.request,
    }
    if blocking := hop.sent.get("renderBlockingBehavior"):
        entry["_renderBlocking"] = blocking
    if address := response.get("remoteIPAddress"):
        entry["serverIPAddress"] = address.strip("[]")
    if response.get("connectionId"):
        entry["connection"] = str(response["connectionId"])
    if hop.from_memory or hop.from_disk:
        entry["_fromCache"] = "memory" if hop.from_memory else "disk"
    if pixels := load.painting.pixels.get(hop.url):
        entry["_viewPixels"] = pixels
    if hop.url == load.painting.largest_image:
        entry["_isLCP"] = True
    if response.get("fromServiceWorker"):
        entry["response"]["_fetchedViaServiceWorker"] = True
    return entry


def _certificate(hop: Hop) -> dict[str, Any] | None:
    """Give the names of a server's certificate; they are told once of each connection."""
    names = ((hop.response or {}).get("securityDetails") or {}).get("sanList")
    return {"sanList": names} if names else None


def _request(hop: Hop, mask: Mask | None) -> dict[str, Any]:
    sent = hop.sent["request"]
    query = parse_qsl(urlsplit(hop.url).query, keep_blank_values=True)
    return {
        "method": sent["method"],
        "url": hop.url,
        "httpVersion": _version(hop.response or {}),
        "headers": _fields(hop.request_fields, mask),
        "queryString": [{"name": name, "value": value} for name, value in query],
        "cookies": [],
        "headersSize": -1,
        "bodySize": len(sent.get("postData") or ""),
    }


def _response(hop: Hop, response: dict[str, Any], mask: Mask | None) -> dict[str, Any]:
    fields = hop.response_fields
    wire = hop.wire_bytes
    place = next((value for name, value in fields if name.lower() == "location"), "")
    told: dict[str, Any] = {
        "status": hop.status,
        "statusText": response.get("statusText", ""),
        "httpVersion": _version(response),
        "headers": _fields(fields, mask),
        "cookies": [],
        "content": {"size": hop.data_bytes, "mimeType": response.get("mimeType", "x-unknown")},
        "redirectURL": place if hop.is_redirected else "",
        "headersSize": -1,
        "bodySize": -1 if wire is None or not hop.is_of_network else max(wire - hop.head_bytes, 0),
        "_transferSize": 0 if not hop.is_of_network else wire or 0,
    }
    if hop.failed:
        told["_error"] = hop.failed
    return told


def _version(response: dict[str, Any]) -> str:
    return str(response.get("protocol") or "http/1.1")


def _fields(fields: Fields, mask: Mask | None) -> list[dict[str, str]]:
    shown = fields if mask is None else mask.fields(fields)
    return [{"name": name, "value": value} for name, value in shown]


def _timings(hop: Hop, response: dict[str, Any]) -> dict[str, float]:
    """Give the phases in ms, as DevTools does: moments of `timing` are ms since its `requestTime`."""
    began = hop.sent["timestamp"]
    ended = max(hop.ended or hop.responded or began, began)
    timing = response.get("timing")
    nothing = {"blocked": -1.0, "dns": -1.0, "connect": -1.0, "ssl": -1.0}
    if not timing or hop.from_memory:
        responded = min(max(hop.responded or ended, began), ended)
        wait, receive = (responded - began) * 1e3, (ended - responded) * 1e3
        return {**nothing, "send": 0.0, "wait": round(wait, 3), "receive": round(receive, 3)}

    def phase(begins: str, ends: str) -> float:
        known = timing.get(begins, -1) >= 0 and timing.get(ends, -1) >= 0
        return round(timing[ends] - timing[begins], 3) if known else -1.0

    queued = (timing["requestTime"] - began) * 1e3
    first = next(
        (timing[one] for one in ("dnsStart", "connectStart", "sendStart") if timing.get(one, -1) >= 0), 0
    )
    headed = max(timing.get("receiveHeadersEnd", 0), timing.get("sendEnd", 0))
    received = max((ended - timing["requestTime"]) * 1e3 - headed, 0)
    return {
        "blocked": round(max(queued + first, 0), 3),
        "dns": phase("dnsStart", "dnsEnd"),
        "connect": phase("connectStart", "connectEnd"),
        "ssl": phase("sslStart", "sslEnd"),
        "send": max(phase("sendStart", "sendEnd"), 0.0),
        "wait": round(max(headed - timing.get("sendEnd", 0), 0), 3),
        "receive": round(received, 3),
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
