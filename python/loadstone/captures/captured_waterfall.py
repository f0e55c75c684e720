"""The waterfall of a captured page load: when each object was asked for, and when it came."""

from collections.abc import Sequence

from loadstone.captures import captured_har
from loadstone.captures.client_capture import CapturedRequest
from loadstone.typed import Waterfall


def waterfall(requests: Sequence[CapturedRequest], begun_ms: float, *, keep_secrets: bool) -> Waterfall:
    """Give the columns that loads have, in the order of the requests; times count from the load's beginning.

    What a capture does not have is missing: when an object was found, and what its server knew. Queries may
    have secrets: without `keep_secrets` they are left out.
    """
    unknown: list[float | None] = [None] * len(requests)
    urls = [captured_har.url(request) for request in requests]
    sent: list[float | None] = [request.sent_ms - begun_ms for request in requests]
    return Waterfall(
        name=urls if keep_secrets else [url.partition("?")[0] for url in urls],
        kind=[_kind(request) for request in requests],
        bytes=[captured_har.body(request) for request in requests],
        connection=[request.connection["connection"] for request in requests],
        found_ms=unknown,
        found_by=["page"] * len(requests),
        retried_ms=unknown,
        sent_ms=sent,
        arrived_ms=unknown,
        answered_ms=unknown,
        first_byte_ms=[_after(request.answered_ms, begun_ms) for request in requests],
        last_byte_ms=[
            None if request.answered_ms is None else request.ended_ms - begun_ms for request in requests
        ],
    )


def _kind(request: CapturedRequest) -> str:
    """Give the subtype of the content, as in text/html; of images the type."""
    kind = captured_har.content_type(request).partition(";")[0].strip().lower()
    main, _, sub = kind.partition("/")
    return main if main in ("image", "font") else sub


def _after(at_ms: float | None, begun_ms: float) -> float | None:
    return None if at_ms is None else at_ms - begun_ms
