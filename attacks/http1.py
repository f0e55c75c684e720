"""HTTP/1.1 as bytes (RFC 9112)."""

import re
from collections.abc import Iterator
from itertools import repeat

from attacks.protocol import HOST, SMALL, Heard, Protocol

_STATUS = re.compile(rb"HTTP/1\.[01] (\d\d\d)")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def head(path: str = SMALL, method: str = "GET", fields: bytes = b"") -> bytes:
    """Write the head of a request, with further fields, each with the end of its line."""
    return f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n".encode() + fields + b"\r\n"


def padding(size: int) -> bytes:
    """Write fields of about this many bytes in all, as few as servers take."""
    longest = 5000
    lines = -(-size // longest)
    return lines * (b"X: " + b"x" * (size // lines - 5) + b"\r\n")


def requests() -> Iterator[bytes]:
    """Ask for the small file on a persistent connection."""
    yield b""
    yield from repeat(head())


def hear(came: bytearray, heard: Heard) -> None:
    """Note the responses that are complete."""
    while (end := came.find(b"\r\n\r\n")) >= 0:
        status, length = _STATUS.match(came), _LENGTH.search(came, 0, end)
        # A body without a length ends with the connection.
        size = int(length[1]) if length else len(came)
        if len(came) < end + 4 + size:
            break
        if status:
            heard.answered += 1
            heard.completed += 1
            heard.statuses[int(status[1])] += 1
        del came[: end + 4 + size]


PROTOCOL = Protocol("http/1.1", requests, hear)
