"""HTTP/2 as bytes: frames (RFC 9113, section 4) and header fields (RFC 7541), sound ones and others."""

from collections.abc import Iterator
from itertools import count

from attacks.protocol import HOST, Heard, Protocol

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
UNKNOWN = 0x77
"""A type that nobody has registered."""
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = range(1, 5)
CANCEL = 8
DEFAULT_WINDOW = 65_535
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ERRORS = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
)

# Places in the static table (RFC 7541, appendix A).
AUTHORITY, GET, POST, ROOT, HTTP = 1, 2, 3, 4, 6
NEWEST = 62
"""Where the dynamic table begins: the field that was put there last."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Write a frame."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def settings(*entries: tuple[int, int]) -> bytes:
    """Write SETTINGS."""
    return frame(SETTINGS, 0, 0, b"".join(name.to_bytes(2) + value.to_bytes(4) for name, value in entries))


def window_update(stream: int, increment: int) -> bytes:
    """Write WINDOW_UPDATE."""
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4))


def rst_stream(stream: int) -> bytes:
    """Write RST_STREAM."""
    return frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4))


def headers(stream: int, block: bytes, flags: int = END_STREAM | END_HEADERS) -> bytes:
    """Write HEADERS."""
    return frame(HEADERS, flags, stream, block)


def opening(window: int = DEFAULT_WINDOW) -> bytes:
    """Begin a connection on whose streams the server may send this much."""
    return PREFACE + settings((ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, window))


def integer(value: int, bits: int, first: int = 0) -> bytes:
    """Write a number in a first byte's last bits, and in more bytes if needed (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    written = [first | most]
    value -= most
    while value >= 128:
        written.append(value % 128 + 128)
        value //= 128
    return bytes([*written, value])


def indexed(place: int) -> bytes:
    """Refer to a field of the tables."""
    return integer(place, 7, 0x80)


def text(content: bytes) -> bytes:
    """Write a string, as it is."""
    return integer(len(content), 7) + content


def literal(name: bytes | int, value: bytes, remember: bool = False) -> bytes:
    """Write a field, whose name may be one of the tables, for the dynamic table or for this time."""
    bits, first = (6, 0x40) if remember else (4, 0)
    named = integer(name, bits, first) if isinstance(name, int) else bytes([first]) + text(name)
    return named + text(value)


def request(method: int = GET, path: str | None = None) -> bytes:
    """Write the fields that a request needs; `path` is the root if it is left out."""
    where = indexed(ROOT) if path is None else literal(ROOT, path.encode())
    return indexed(method) + indexed(HTTP) + where + literal(AUTHORITY, HOST.encode())


def streams(number: int) -> range:
    """Give the numbers of the first streams that a client opens."""
    return range(1, 2 * number, 2)


def requests() -> Iterator[bytes]:
    """Ask for the small file on stream after stream."""
    # The connection's window is never in the way.
    yield opening() + window_update(0, 2**30)
    for stream in count(1, 2):
        yield headers(stream, request())


def hear(came: bytearray, heard: Heard) -> None:
    """Note the frames that are complete."""
    at = 0
    while at + 9 <= len(came):
        end = at + 9 + int.from_bytes(came[at : at + 3])
        if end > len(came):
            break
        kind, flags, stream = came[at + 3], came[at + 4], int.from_bytes(came[at + 5 : at + 9])
        if kind == HEADERS:
            heard.answered += 1
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            heard.completed += 1
        elif kind in (PING, SETTINGS) and flags & ACK:
            heard.acknowledged += 1
        elif kind == SETTINGS:
            entries = (came[place : place + 6] for place in range(at + 9, end, 6))
            sizes = [entry[2:] for entry in entries if int.from_bytes(entry[:2]) == INITIAL_WINDOW_SIZE]
            heard.initial_window = int.from_bytes(sizes[-1]) if sizes else heard.initial_window
        elif kind == RST_STREAM:
            heard.resets += 1
        elif kind == WINDOW_UPDATE:
            heard.window[stream] += int.from_bytes(came[at + 9 : end])
        elif kind == GOAWAY:
            heard.goaway = ERRORS[int.from_bytes(came[at + 13 : at + 17])]
        at = end
    del came[:at]


PROTOCOL = Protocol("h2", requests, hear)
