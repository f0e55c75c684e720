"""Requests and responses by QUIC's streams: each that a client opened for both ways has one (RFC 9114)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from loadstone.captures.qlog.noted_way import NotedWay, StreamHalf

_FINAL_STATUS = re.compile("[2-9][0-9]{2}")
_CLIENT_BOTH_WAYS = 0
"""The two lowest bits of such a stream's number (RFC 9000, section 2.1)."""


@dataclass
class NotedHeads:
    """What a trace says of the heads on a stream."""

    method: str | None = None
    status: int | None = None

    def handle(self, data: Mapping[str, Any]) -> None:
        """Take note of a frame of HTTP/3, if it has a head."""
        frame = data.get("frame") or {}
        for head in frame.get("headers") or ():
            name, value = str(head.get("name", "")), str(head.get("value", ""))
            if name == ":method":
                self.method = value
            # An interim response is none (RFC 9110, section 15.2).
            elif name == ":status" and _FINAL_STATUS.fullmatch(value):
                self.status = int(value)


def exchanges(up: NotedWay, down: NotedWay, heads: Mapping[int, NotedHeads]) -> Iterator[dict[str, Any]]:
    """Give the rows of the exchanges of a connection, without its number, in the order of the requests."""
    asked = [stream for stream in up.streams if stream & 3 == _CLIENT_BOTH_WAYS]
    asked.sort(key=lambda stream: (up.streams[stream].first_ms, stream))
    ended = -inf
    for number, stream in enumerate(asked, 1):
        request, response = up.streams[stream], down.streams.get(stream)
        overlaps = ended > request.first_ms
        gap = None if overlaps or ended == -inf else request.first_ms - ended
        said = heads.get(stream, NotedHeads())
        yield {
            **{"exchange": number, "kind": "h3" if heads else "quic", "encrypted": True},
            **{"method": said.method, "status": said.status, "request_bytes": request.seen.count},
            **{"request_ms": request.first_ms, "request_time_ms": request.last_ms - request.first_ms},
            **{"gap_ms": gap, "pipelined": overlaps, "pushed": False, "answered": response is not None},
            **(_answer(request, response) if response is not None else {}),
        }
        is_over = response is not None and response.is_over
        ended = max(ended, response.last_ms if response is not None and is_over else inf)


def _answer(request: StreamHalf, response: StreamHalf) -> dict[str, Any]:
    return {
        "response_wait_ms": max(response.first_ms - request.last_ms, 0.0),
        "response_time_ms": response.last_ms - response.first_ms,
        "response_bytes": response.seen.count,
        "retransmitted_packets": response.sent_again,
    }
