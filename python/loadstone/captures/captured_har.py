"""A HAR of the requests in a capture: the importer of HARs knows how a page is made of one.

It has the form of WebPageTest's: a request's moment is when it was sent. When the browser found the object
no capture knows; the importer's rule for what waited for a connection applies (docs/pages.md).
"""

from collections.abc import Sequence
from typing import Any

from loadstone.captures.client_capture import CapturedRequest

_VERSIONS = {"h2": "HTTP/2", "spdy": "SPDY/3.1", "http/1.1": "HTTP/1.1"}
_USUAL_PORTS = {"https": 443, "http": 80}

_BEGIN_MS = 946_684_800_000.0
"""When a load is said to begin, whatever the clock was that captured it: 2000-01-01."""

_HANDSHAKES = 3
"""A handshake of TLS takes as many round trips at most."""
_COMPUTING_MS = 200.0
"""And so much computing: what comes later on a connection was asked for later."""


def har(requests: Sequence[CapturedRequest]) -> dict[str, Any]:
    """Make a HAR of captured requests, in the order in which they were sent."""
    start = requests[0].sent_ms
    seen: set[int] = set()
    entries = []
    for request in requests:
        number = request.connection["connection"]
        entries.append(_entry(request, start, is_first=number not in seen))
        seen.add(number)
    page = {"id": "captured", "startedDateTime": _BEGIN_MS, "pageTimings": {}}
    return {"log": {"version": "1.2", "pages": [page], "entries": entries}}


def url(request: CapturedRequest) -> str:
    """Give the URL of a request: of a host without a name its address."""
    target = request.field(":path") or "/"
    if "://" in target:
        return target
    scheme = "https" if request.exchange["encrypted"] else "http"
    return f"{scheme}://{authority(request)}{target if target.startswith('/') else '/'}"


def authority(request: CapturedRequest) -> str:
    """Give the host that a request was for, and its port if that is not the usual one."""
    named = request.field(":authority") or request.field("host")
    if named:
        return named
    address, port = request.connection["server"], request.connection["server_port"]
    host = f"[{address}]" if ":" in address else address
    is_usual = port == _USUAL_PORTS["https" if request.exchange["encrypted"] else "http"]
    return host if is_usual else f"{host}:{port}"


def body(request: CapturedRequest) -> int:
    """Give the bytes of a response's body as they came."""
    stated: int | None = request.exchange["body_bytes"]
    if stated is not None:
        return stated
    bytes_of_all: int = request.exchange["response_bytes"]
    return max(bytes_of_all - request.response_head_bytes, 0)


def content_type(request: CapturedRequest) -> str:
    """Give what the response says it is (RFC 9110, section 8.3)."""
    return next((value for name, value in request.response if name == "content-type"), "")


def _entry(request: CapturedRequest, start: float, *, is_first: bool) -> dict[str, Any]:
    exchange, connection = request.exchange, request.connection
    kind = exchange["kind"]
    entry: dict[str, Any] = {
        "pageref": "captured",
        "startedDateTime": _BEGIN_MS + request.sent_ms - start,
        "_load_start": request.sent_ms - start,
        "_socket": connection["connection"],
        "connection": str(connection["connection"]),
        "serverIPAddress": connection["server"],
        "request": {
            "method": exchange["method"] or "GET",
            "url": url(request),
            "httpVersion": _VERSIONS[kind],
            "headers": _fields(request.request),
            "headersSize": request.request_head_bytes,
            "bodySize": _upload(request),
        },
        "response": {
            "status": exchange["status"] or 0,
            "httpVersion": _VERSIONS[kind],
            "headers": _fields(request.response),
            "headersSize": request.response_head_bytes,
            "bodySize": body(request),
            "content": {"mimeType": content_type(request)},
        },
        "timings": {
            "send": exchange["request_time_ms"],
            "wait": exchange["response_wait_ms"] or 0.0,
            "receive": exchange["response_time_ms"] or 0.0,
        },
    }
    if kind != "http/1.1":
        entry["_http2_stream_id"] = exchange["exchange"]
    if is_first and connection["server_handshake_ms"] is not None:
        _connect(entry, request)
    return entry


def _connect(entry: dict[str, Any], request: CapturedRequest) -> None:
    """Note the handshakes of the connection that the request was the first on."""
    tcp_ms = request.connection["server_handshake_ms"]
    rest_ms = request.sent_ms - request.connection["start_ms"] - tcp_ms
    longest = _COMPUTING_MS + (_HANDSHAKES * tcp_ms if request.exchange["encrypted"] else 0.0)
    if rest_ms > longest:
        # The connection was there before: the request did not wait for it.
        entry["_created"], rest_ms = entry["_load_start"], 0.0
    tls_ms = max(rest_ms, 0.0) if request.exchange["encrypted"] else 0.0
    entry["timings"] |= {"connect": tcp_ms + tls_ms, "ssl": tls_ms}


def _upload(request: CapturedRequest) -> int:
    """Give the bytes of a request's body."""
    stated = request.field("content-length")
    if stated is not None and stated.isdecimal():
        return int(stated)
    # What a stream of HTTP/2 has beside its head are frames.
    rest: int = request.exchange["request_bytes"] - request.request_head_bytes
    return max(rest, 0) if request.exchange["kind"] == "http/1.1" else 0


def _fields(head: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in head if not name.startswith(":")]
