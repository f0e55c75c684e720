"""The rows of a trace: what captures have of a connection, as far as one of its ends noted it.

What went the way to this end is what arrived there; round trips and losses are those of what it sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.captures import told_files
from loadstone.captures.qlog import noted_packet, qlog_traces, stream_exchanges
from loadstone.captures.qlog.noted_packet import NotedPacket
from loadstone.captures.qlog.noted_way import NotedWay
from loadstone.captures.qlog.qlog_traces import Document, NotedEvent, QlogTrace
from loadstone.captures.qlog.sent_packets import SentPackets
from loadstone.captures.qlog.stream_exchanges import NotedHeads
from loadstone.files import InputError

Row = dict[str, Any]

_DATED_MS = 1e11
"""Times below this one, of 1973, count from a beginning that the trace does not date."""
_PORTS = 2**16 - 1
_ANY = ("0.0.0.0", "::")


@dataclass
class NotedConnection:
    """A connection of which its events are told in turn."""

    is_client: bool
    sent: NotedWay = field(default_factory=NotedWay)
    received: NotedWay = field(default_factory=NotedWay)
    recovery: SentPackets = field(default_factory=SentPackets)
    heads: dict[int, NotedHeads] = field(default_factory=dict)
    ends: Row = field(default_factory=dict)
    first_ms: float | None = None
    last_ms: float = 0.0
    opened: bool = False
    closed: bool = False
    initial_window: int | None = None

    def handle(self, event: NotedEvent) -> None:
        """Take note of the next event.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: if it is not as a draft has it.
        """
        match event.name:
            case "packet_sent":
                packet = self._packet(event)
                self.sent.handle(packet)
                self.recovery.handle_sent(packet, str(event.data.get("trigger")))
            case "packet_received":
                packet = self._packet(event)
                self.received.handle(packet)
                self.recovery.handle_acks(packet)
            case "packet_lost":
                space, number = noted_packet.identity(event.data)
                self.recovery.handle_lost(event.at_ms, space, number, str(event.data.get("trigger")))
            case "frame_created" | "frame_parsed" if (stream := event.data.get("stream_id")) is not None:
                self.heads.setdefault(int(stream), NotedHeads()).handle(event.data)
            case "connection_started" | "connection_new":
                self._name_ends(event.data)
            case "connection_closed" | "connection_close":
                self.closed = True
            case "parameters_set" if "initial_congestion_window" in event.data:
                self._set_window(event.data)

    def _packet(self, event: NotedEvent) -> NotedPacket:
        packet = noted_packet.packet(event.at_ms, event.data)
        self.first_ms = packet.at_ms if self.first_ms is None else self.first_ms
        self.last_ms = packet.at_ms
        self.opened |= packet.space == "initial" and packet.number == 0
        return packet

    def _name_ends(self, data: Document) -> None:
        here, there = _end(data, "local", "src"), _end(data, "remote", "dst")
        client, server = (here, there) if self.is_client else (there, here)
        self.ends = {
            "client": client[0],
            "client_port": client[1],
            "server": server[0],
            "server_port": server[1],
        }

    def _set_window(self, data: Document) -> None:
        segment = noted_packet.whole(data.get("max_datagram_size") or 0)
        if segment and not self.is_client:
            self.initial_window = noted_packet.whole(data["initial_congestion_window"]) // segment

    def row(self, number: int) -> Row:
        """Give the row of the connection; what a trace does not say is missing."""
        sent, received = ("up", "down") if self.is_client else ("down", "up")
        first = self.first_ms or 0.0
        of_ways = {
            f"{name}_{sent}": value
            for name, value in {**self.sent.columns(), **self.recovery.columns()}.items()
        }
        of_ways |= {f"{name}_{received}": value for name, value in self.received.columns().items()}
        return {
            **{"connection": number, **self.ends, **of_ways},
            **{
                "start_ms": first if first > _DATED_MS else None,
                "duration_ms": max(self.last_ms - first, 0.0),
            },
            **{"opened": self.opened, "closed": self.closed, "initial_window_down": self.initial_window},
            "captured_at": "client" if self.is_client else "server",
        }

    def exchanges(self, number: int) -> list[Row]:
        """Give the rows of its requests."""
        up, down = (self.sent, self.received) if self.is_client else (self.received, self.sent)
        return [{"connection": number, **row} for row in stream_exchanges.exchanges(up, down, self.heads)]


def _end(data: Document, side: str, way: str) -> tuple[str | None, int | None]:
    """Give an address and a port, by the names of the drafts until 0.3, of those since, and of quic-go."""
    there = data.get(side) or {}
    for version in ("v4", "v6"):
        nested = there.get(f"address_{version}") or {}
        if said := nested.get("ip") or there.get(f"ip_{version}"):
            return _address(said), _port(nested.get("port") or there.get(f"port_{version}"))
    return _address(data.get(f"{way}_ip")), _port(data.get(f"{way}_port"))


def _port(said: Any) -> int | None:
    return None if said is None else noted_packet.whole(said, _PORTS)


def _address(said: str | None) -> str | None:
    """Give an address; nothing if it is none, or any."""
    try:
        return None if said in (None, *_ANY) else told_files.address(str(said))
    except ValueError:
        return None


@dataclass
class QlogRows:
    """What files of qlog have for the tables."""

    connections: list[Row] = field(default_factory=list)
    exchanges: list[Row] = field(default_factory=list)
    unread: list[dict[str, str]] = field(default_factory=list)
    """Files, or traces in them, that were not read to the end, and why."""


def rows(paths: Sequence[str]) -> QlogRows:
    """Read files of qlog: a connection for each trace that an end of it noted.

    Raises:
        InputError: if a file cannot be read at all.
    """
    found = QlogRows()
    for path in paths:
        for place, trace in enumerate(qlog_traces.traces(path), 1):
            if trace.vantage not in ("client", "server"):
                why = f"trace {place} was noted by '{trace.vantage}': only ends know what was lost"
                found.unread.append({"file": path, "why": why})
                continue
            connection = NotedConnection(is_client=trace.vantage == "client")
            try:
                _read(path, trace, connection)
            except InputError as error:
                found.unread.append({"file": path, "why": str(error).removeprefix(f"{path}: ")})
            number = len(found.connections) + 1
            found.connections.append(connection.row(number))
            if "TCP" not in trace.protocols:
                found.exchanges += connection.exchanges(number)
    return found


def _read(path: str, trace: QlogTrace, connection: NotedConnection) -> None:
    for number, event in enumerate(trace.events, 1):
        try:
            connection.handle(event)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            raise InputError(f"{path}: event {number}: {event.name} is not as in qlog's drafts") from None
