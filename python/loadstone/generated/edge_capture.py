"""The packets at the edge of a generated CDN as one capture: those of all users' loads, in the order of time.

Each user's load is simulated by itself, and captured at its server. Its packets get the user's address and
time, and the server's address; all else stays as TCP sent it, with the comments that say why.
"""

import csv
import heapq
import io
import shlex
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from loadstone import __version__, experiment, files, text
from loadstone._native import Outcome
from loadstone.files import InputError, Kind
from loadstone.generated import cdn_users
from loadstone.generated.cdn_model import CdnModel
from loadstone.generated.cdn_users import CdnUser
from loadstone.packets import PCAPNG

CAPTURE, NETWORKS = "edge.pcapng", "networks.csv"
"""The files of a generated CDN."""
NETWORKS_KIND = Kind("table of networks", rb"network,")

_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
"""Types of blocks (draft-ietf-opsawg-pcapng)."""
_COMMENT, _TSRESOL = 1, 9
_RAW_IP = 101
_SNAP_LENGTH = 100
"""Bytes of each packet that are kept: its headers, and the beginning of its data."""
_EPOCH_NS = 946_684_800 * 10**9
"""When the engine's captures begin: 2000-01-01; and these as well."""
_FIRST_PORT, _PORTS = 32_768, 28_000
_AT_ONCE = 64
"""Users that are simulated at once: what is drawn of others takes no memory."""
_MOST_PACKETS = 50_000
"""Of a user: with a law of large objects memory is bounded as well."""

Progress = Callable[[int, int], None]


def write(
    model: CdnModel,
    folder: str,
    users: int,
    seed: int,
    progress: Progress,
    *,
    threads: int | None = None,
    server: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Simulate so many users of each site, and write the capture at the edge and the table of networks.

    `server` is set otherwise of the servers' TCP than the model says; who the users are stays. The same
    arguments give the same bytes.

    Raises:
        InputError: if the files cannot be written, or the engine refuses what was drawn.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: give another -o") from None
    said = (
        f"Generated, no real traffic: {model.title}. Made by Loadstone {__version__}, {users} simulated "
        f"users of each of {len(model.sites)} sites, seed {seed}"
    )
    of_sites = [cdn_users.prefixes(model, site, seed) for site in range(len(model.sites))]
    arrivals = cdn_users.arrivals(model, users, seed)

    def drawn() -> Iterator[CdnUser]:
        for one in arrivals:
            yield cdn_users.user(model, one, of_sites[one.site], seed, server)

    counts = _Counts()
    with (
        files.private_replacement(str(Path(folder, CAPTURE)), PCAPNG) as write_capture,
        files.replacement(str(Path(folder, NETWORKS)), NETWORKS_KIND) as write_networks,
    ):

        def fill(file: BinaryIO) -> None:
            file.write(_head(said))
            merged = _merged(drawn(), threads, counts, lambda done: progress(done, len(arrivals)))
            for packet in merged:
                file.write(packet)

        write_capture(fill)
        write_networks(_csv(cdn_users.networks(of_sites)))
    return {
        "comment": said,
        "users": len(arrivals),
        "connections": counts.connections,
        "packets": counts.packets,
        "incomplete": counts.incomplete,
        "cut": counts.cut,
    }


@dataclass
class _Counts:
    """What was put together."""

    connections: int = 0
    packets: int = 0
    incomplete: int = 0
    """Users whose load ended without all responses."""
    cut: int = 0
    """Users of whose load the last packets are not in the capture."""
    ports: dict[int, int] = field(default_factory=dict)
    """Connections by client, until now."""


def _merged(
    drawn: Iterator[CdnUser], threads: int | None, counts: _Counts, progress: Callable[[int], None]
) -> Iterator[bytes]:
    """Give the packets of users, who come in the order of time, in the order of time."""
    waiting: list[tuple[int, int, bytes]] = []
    done = 0
    while portion := [one for _, one in zip(range(_AT_ONCE), drawn, strict=False)]:
        # Nobody who comes later sends anything before.
        until = _EPOCH_NS + _ns(portion[0].start_ms)
        while waiting and waiting[0][0] < until:
            yield heapq.heappop(waiting)[2]
        jobs = [(one.scenario, one.seed) for one in portion]
        outcomes = experiment.execute(jobs, threads, packets=_MOST_PACKETS)
        for one, outcome in zip(portion, outcomes, strict=True):
            for at, packet in _moved(one, outcome, counts):
                heapq.heappush(waiting, (at, counts.packets, packet))
                counts.packets += 1
        progress(done := done + len(portion))
    while waiting:
        yield heapq.heappop(waiting)[2]


def _moved(one: CdnUser, outcome: Outcome, counts: _Counts) -> Iterator[tuple[int, bytes]]:
    """Give the packets of a user's load with its time, its address and that of its server."""
    counts.incomplete += not outcome.completed
    data, left_out = outcome.pcapng("server", _SNAP_LENGTH) or (b"", 0)
    counts.cut += left_out > 0
    names: dict[bytes, str] = {}
    flows: dict[bytes, _Flow | None] = {}
    client, later = one.client.to_bytes(4), _ns(one.start_ms)
    for kind, block in _blocks(data):
        if kind == _NAMES:
            names = _hosts(block)
        elif kind == _PACKET:
            header = 28 + 4 * (block[28] & 15)
            key = block[40:48] + block[header : header + 4]
            if key not in flows:
                flows[key] = _flow(key, names, client, one.server.to_bytes(4), flows, counts)
            if (flow := flows[key]) is not None:
                yield flow.moved(block, header, later)


@dataclass(frozen=True)
class _Flow:
    """What becomes of the addresses and ports of one direction of a connection."""

    addresses: bytes
    ports: bytes
    ip_change: int
    tcp_change: int
    """What the checksums' sums change by."""

    def moved(self, block: bytes, header: int, later_ns: int) -> tuple[int, bytes]:
        high, low = struct.unpack_from("<II", block, 12)
        at = (high << 32 | low) + later_ns
        made = bytearray(block)
        struct.pack_into("<III", made, 8, 0, at >> 32, at & 0xFFFFFFFF)
        made[40:48], made[header : header + 4] = self.addresses, self.ports
        _adjust(made, 38, self.ip_change)
        _adjust(made, header + 16, self.tcp_change)
        return at, bytes(made)


def _flow(
    key: bytes,
    names: dict[bytes, str],
    client: bytes,
    server: bytes,
    known: "dict[bytes, _Flow | None]",
    counts: _Counts,
) -> _Flow | None:
    """Say what becomes of a direction; nothing of a connection that is not the edge's."""
    sides = (key[:4], key[4:8])
    served = [names.get(side, "").startswith(cdn_users.SERVED) for side in sides]
    if not any(served):
        return None
    if (other := known.get(key[4:8] + key[:4] + key[10:12] + key[8:10])) is not None:
        addresses, ports = other.addresses[4:] + other.addresses[:4], other.ports[2:] + other.ports[:2]
    else:
        number = int.from_bytes(client)
        port = _FIRST_PORT + counts.ports.get(number, 0) % _PORTS
        counts.ports[number] = counts.ports.get(number, 0) + 1
        counts.connections += 1
        own = port.to_bytes(2)
        from_client = served[1]
        addresses = client + server if from_client else server + client
        ports = own + key[10:12] if from_client else key[8:10] + own
    ip_change = _words(addresses) - _words(key[:8])
    return _Flow(addresses, ports, ip_change, ip_change + _words(ports) - _words(key[8:12]))


# --- the format ---


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at : at + length]
        at += length


def _hosts(block: bytes) -> dict[bytes, str]:
    """Read the names of addresses of IPv4."""
    found, at = {}, 8
    while (record := struct.unpack_from("<HH", block, at)) != (0, 0):
        kind, length = record
        if kind == 1:
            value = block[at + 4 : at + 4 + length]
            found[value[:4]] = value[4:].split(b"\0")[0].decode()
        at += 4 + (length + 3) // 4 * 4
    return found


def _head(comment: str) -> bytes:
    """Make the section and its one interface: raw IP, nanoseconds."""
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _option(_COMMENT, comment.encode())
    interface = struct.pack("<HHI", _RAW_IP, 0, _SNAP_LENGTH) + _option(_TSRESOL, b"\x09")
    return _block(_SECTION, section) + _block(_INTERFACE, interface)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    """Make a block's only option, and the end of options."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4) + bytes(4)


def _words(data: bytes) -> int:
    return sum(struct.unpack(f">{len(data) // 2}H", data))


def _adjust(packet: bytearray, at: int, change: int) -> None:
    """Change a checksum as the words that it covers have changed (RFC 1624)."""
    (old,) = struct.unpack_from(">H", packet, at)
    # Any change is one modulo 65,535; zero and that are the same sum.
    total = ((old ^ 0xFFFF) + change) % 0xFFFF
    struct.pack_into(">H", packet, at, total ^ 0xFFFF)


def _ns(ms: float) -> int:
    return round(ms * 1e6)


def _csv(rows: Sequence[dict[str, str]]) -> str:
    written = io.StringIO()
    table = csv.DictWriter(written, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


def in_words(made: dict[str, Any], folder: str) -> str:
    """Say what was written, and how it is read."""
    capture, table = shlex.quote(str(Path(folder, CAPTURE))), shlex.quote(str(Path(folder, NETWORKS)))
    lines = [
        f"{made['comment']}.",
        f"{text.count(made['users'], 'user')}, {text.count(made['connections'], 'connection')}, "
        f"{text.count(made['packets'], 'packet')}: {capture}, {table}",
    ]
    if made["incomplete"]:
        lines.append(f"{text.count(made['incomplete'], 'user')} did not get all responses")
    if made["cut"]:
        lines.append(f"{text.count(made['cut'], 'user')}: only the first {_MOST_PACKETS:,} packets are there")
    lines += [
        f"Look at it: loadstone capture {capture} -o tables",
        f"            loadstone analyze tables --networks {table} --by site",
    ]
    return "\n".join(lines)
