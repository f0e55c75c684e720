"""What went one way of a connection, by the packets that an end sent or received."""

from dataclasses import dataclass, field
from typing import Any

from loadstone.captures.qlog.byte_ranges import ByteRanges
from loadstone.captures.qlog.noted_packet import NotedPacket, StreamPiece

_COUNTED = ("packets", "data_packets", "data_bytes", "retransmitted_packets", "retransmitted_bytes")


@dataclass
class StreamHalf:
    """What one end said on a stream, and when, in ms."""

    first_ms: float
    last_ms: float
    seen: ByteRanges = field(default_factory=ByteRanges)
    is_over: bool = False
    sent_again: int = 0
    """Packets with bytes of it that had been sent before."""

    def handle(self, at_ms: float, piece: StreamPiece) -> int:
        """Take note of a piece; give how many of its bytes had been there before."""
        again = self.seen.add(piece.offset, piece.end)
        self.sent_again += again > 0
        if again < piece.length or (piece.is_end and not self.is_over):
            self.last_ms = at_ms
        self.is_over |= piece.is_end
        return again


@dataclass
class NotedWay:
    """Packets of one way, and its half of each stream."""

    streams: dict[int, StreamHalf] = field(default_factory=dict)
    packets: int = 0
    data_packets: int = 0
    data_bytes: int = 0
    retransmitted_packets: int = 0
    retransmitted_bytes: int = 0
    first_data_ms: float | None = None
    last_data_ms: float | None = None

    def handle(self, packet: NotedPacket) -> None:
        """Take note of the next packet."""
        self.packets += 1
        again = sum(self._stream(packet.at_ms, piece) for piece in packet.pieces)
        self.retransmitted_packets += again > 0
        self.retransmitted_bytes += again
        if size := packet.data_bytes:
            self.data_packets += 1
            self.data_bytes += size
            self.first_data_ms = packet.at_ms if self.first_data_ms is None else self.first_data_ms
            self.last_data_ms = packet.at_ms

    def _stream(self, at_ms: float, piece: StreamPiece) -> int:
        return self.streams.setdefault(piece.stream, StreamHalf(at_ms, at_ms)).handle(at_ms, piece)

    def columns(self) -> dict[str, Any]:
        """Give its columns of connections, without the way."""
        found: dict[str, Any] = {name: getattr(self, name) for name in _COUNTED}
        found["bytes"] = sum(half.seen.count for half in self.streams.values())
        if self.first_data_ms is not None and self.last_data_ms is not None:
            found["data_time_ms"] = self.last_data_ms - self.first_data_ms
        return found
