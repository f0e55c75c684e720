"""A packet of QUIC as a trace notes it, in the same form whatever the draft of qlog."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from loadstone.captures.qlog.qlog_traces import Document

_SPACES = ("initial", "handshake")
"""Types of packets with a packet number space of their own; all others share one (RFC 9000, section 12.3)."""
_NOT_ELICITING = frozenset({"ack", "padding", "connection_close"})
"""Frames that ask for no acknowledgement (RFC 9002, section 2)."""
_VARINT = 2**62 - 1
"""The largest number in QUIC (RFC 9000, section 16)."""
_DATAGRAM = 2**16 - 1
"""The most bytes of a datagram of UDP."""


@dataclass(frozen=True)
class StreamPiece:
    """Bytes of a stream in a packet."""

    stream: int
    offset: int
    length: int
    is_end: bool

    @property
    def end(self) -> int:
        """What follows its last byte."""
        return self.offset + self.length


@dataclass(frozen=True)
class NotedPacket:
    """A packet that was sent or received."""

    at_ms: float
    space: str
    number: int | None
    size: int
    is_eliciting: bool
    acked: tuple[tuple[int, int], ...]
    """Numbers that it acknowledges, in the same space: each range with its first and its last."""
    pieces: tuple[StreamPiece, ...]

    @property
    def data_bytes(self) -> int:
        """Bytes of streams in it."""
        return sum(piece.length for piece in self.pieces)


def packet(at_ms: float, data: Document) -> NotedPacket:
    """Read the event of a packet that was sent or received.

    Raises:
        AttributeError, TypeError, ValueError: if it is not as a draft has it.
    """
    header, raw = data.get("header") or {}, data.get("raw") or {}
    frames = [(str(frame.get("frame_type", "")).lower(), frame) for frame in data.get("frames") or ()]
    space, number = identity(data)
    return NotedPacket(
        at_ms=at_ms,
        space=space,
        number=number,
        size=whole(raw.get("length") or header.get("packet_size") or 0, _DATAGRAM),
        is_eliciting=any(kind not in _NOT_ELICITING for kind, _ in frames),
        acked=tuple(_ranges(frame for kind, frame in frames if kind == "ack")),
        pieces=tuple(_pieces(frames)),
    )


def identity(data: Document) -> tuple[str, int | None]:
    """Give the packet number space and the number of the packet that an event is about."""
    header = data.get("header") or {}
    kind = header.get("packet_type") or data.get("packet_type") or data.get("type") or ""
    number = header.get("packet_number", data.get("packet_number"))
    space = str(kind).lower()
    return space if space in _SPACES else "application", None if number is None else whole(number)


def whole(said: Any, most: int = _VARINT) -> int:
    """Give a number, which drafts write as one or as text.

    Raises:
        TypeError, ValueError: if it is none, or not one of 0 to `most`.
    """
    number = int(said)
    if not 0 <= number <= most:
        raise ValueError(f"{number} is not one of 0 to {most}")
    return number


def _ranges(acks: Iterable[Document]) -> Iterator[tuple[int, int]]:
    for ack in acks:
        for ends in ack.get("acked_ranges") or ():
            # A range of one packet may have its number once.
            yield whole(ends[0]), whole(ends[-1])


def _pieces(frames: list[tuple[str, Document]]) -> Iterator[StreamPiece]:
    for kind, frame in frames:
        if kind not in ("stream", "reset_stream"):
            continue
        stream = whole(frame["stream_id"] if "stream_id" in frame else frame["id"])
        if kind == "reset_stream":
            yield StreamPiece(stream, 0, 0, is_end=True)
            continue
        raw = frame.get("raw") or {}
        length = whole(frame.get("length") or raw.get("payload_length") or raw.get("length") or 0, _DATAGRAM)
        is_end = str(frame.get("fin")).lower() in ("true", "1")
        yield StreamPiece(stream, whole(frame.get("offset") or 0), length, is_end)
