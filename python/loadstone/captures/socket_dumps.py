"""What a kernel tells of its connections (TCP_INFO), as `ss -tin` prints it: rows as far as it reaches.

    while sleep 1; do ss -tinH; done > sockets.txt

A connection that stands in it several times is one row: what was told of it last.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import files
from loadstone.captures import told_files
from loadstone.files import InputError

_STATES = (
    *("ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "CLOSE-WAIT", "LAST-ACK"),
    *("CLOSING", "UNCONN", "LISTEN"),
)
_SOCKET = re.compile(rf"(?:{'|'.join(_STATES)})\s+\d+\s+\d+\s+(\S+):(\d+)\s+(\S+):(\d+)\b(.*)")
_VALUE = re.compile(r"([a-z_]+):(\S+)")

_SENT = {
    "packets": "segs_out",
    "data_packets": "data_segs_out",
    "data_bytes": "bytes_sent",
    "retransmitted_bytes": "bytes_retrans",
    "busy_ms": "busy",
    "window_limited_ms": "rwnd_limited",
    "mss": "advmss",
}
"""Columns of what this end sent, by names of `ss`."""
_GOT = {
    "packets": "segs_in",
    "data_packets": "data_segs_in",
    "bytes": "bytes_received",
    "dsack_packets": "dsack_dups",
    "mss": "mss",
}
"""The same of what the other end sent."""


@dataclass(frozen=True)
class _Socket:
    """A connection as it was told once."""

    local: tuple[str, int]
    peer: tuple[str, int]
    values: Mapping[str, str]
    has_sack: bool

    def number(self, name: str) -> float:
        """Give a value, or zero: what is zero is not told. Times are in ms."""
        return self.pair(name)[0]

    def pair(self, name: str) -> list[float]:
        """Give two values of one name, or zeros."""
        return [*map(float, re.findall(r"\d+(?:\.\d+)?", self.values.get(name, ""))), 0.0, 0.0][:2]


def are(paths: Sequence[str]) -> bool:
    """Say whether files are such dumps and no captures.

    Raises:
        InputError: if some are and others are not.
    """
    return told_files.are(paths, _is_dump, "`ss` printed this")


def _is_dump(beginning: bytes) -> bool:
    words = beginning.split(maxsplit=1)
    return bool(words) and words[0] in {b"State", b"Netid", *(state.encode() for state in _STATES)}


def rows(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Give the rows of the connections in such dumps, with the columns that they tell.

    Raises:
        InputError: if a file cannot be read, or tells nothing of its connections.
    """
    ended: list[_Socket] = []
    last: dict[tuple[tuple[str, int], tuple[str, int]], _Socket] = {}
    for path in paths:
        found = list(_sockets(files.read(path).decode(errors="replace")))
        if not found:
            raise InputError(f"{path}: it has no values of connections: print them with `ss -tin`")
        for one in found:
            ends = (one.local, one.peer)
            before = last.pop(ends, None)
            if before is not None and _acked(one) < _acked(before):
                # Another connection has the same ports.
                ended.append(before)
            last[ends] = one
    return [_row(number, one) for number, one in enumerate([*ended, *last.values()], 1)]


def _acked(one: _Socket) -> float:
    return one.number("bytes_acked") + one.number("bytes_received")


def _sockets(text: str) -> Iterator[_Socket]:
    """Find the connections; their values stand on the line after them, or with -O behind them."""
    ends: tuple[tuple[str, int], tuple[str, int]] | None = None
    for line in text.splitlines():
        if found := _SOCKET.match(line.removeprefix("tcp").lstrip() if line[:1].strip() else ""):
            here, port, there, other_port, rest = found.groups()
            ends = ((_address(here), int(port)), (_address(there), int(other_port)))
        else:
            rest = line
        values = dict(_VALUE.findall(rest))
        if ends is not None and "rtt" in values:
            yield _Socket(*ends, values, has_sack="sack" in rest.split())
            ends = None


def _address(said: str) -> str:
    """Give an address without brackets and the name of its interface."""
    bare = said.strip("[]").split("%")[0].strip("[]")
    try:
        return told_files.address(bare)
    except ValueError:
        return bare


def _row(number: int, one: _Socket) -> dict[str, Any]:
    # Nobody says who opened it: servers have the lower ports.
    is_server = one.local[1] < one.peer[1]
    client, server = (one.peer, one.local) if is_server else (one.local, one.peer)
    sent, got = ("down", "up") if is_server else ("up", "down")
    row: dict[str, Any] = {
        **{"connection": number, "client": client[0], "client_port": client[1]},
        **{"server": server[0], "server_port": server[1], "opened": False, "closed": False},
        **{"captured_at": "server" if is_server else "client", "sack": one.has_sack},
        **{f"{column}_{sent}": one.number(name) for column, name in _SENT.items()},
        **{f"{column}_{got}": one.number(name) for column, name in _GOT.items()},
    }
    row[f"bytes_{sent}"] = row[f"data_bytes_{sent}"] - row[f"retransmitted_bytes_{sent}"]
    row[f"data_bytes_{got}"] = row[f"bytes_{got}"]
    row[f"retransmitted_packets_{sent}"] = one.pair("retrans")[1]
    row[f"spurious_{sent}"] = one.number("dsack_dups")
    mean, deviation = one.pair("rtt")
    row |= {f"rtt_mean_ms_{sent}": mean, f"rtt_deviation_ms_{sent}": deviation}
    row[f"rtt_min_ms_{sent}"] = one.number("minrtt") or None
    row[f"window_scale_{sent}"], row[f"window_scale_{got}"] = one.pair("wscale")[::-1]
    return row
