"""The packets of a load as a file, and where two loads part."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from loadstone import files
from loadstone._native import Outcome
from loadstone.files import InputError, Kind

LIMIT = 1_000_000
"""The most packets that are kept of a load: some 80 MB of text."""

_COLUMNS = [
    "time_ms",
    "way",
    "connection",
    "host",
    "flags",
    "seq",
    "len",
    "ack",
    "sacks",
    "bytes",
    "fate",
    "due_ms",
]
KIND = Kind("file of packets", ",".join(_COLUMNS).encode())
_AGREE = ("flags", "seq", "len", "ack", "sacks", "fate")
_UNDERWAY = "underway"
"""Of a packet whose fate is not known, because the load was over before."""

Row = dict[str, str]
Flow = tuple[str, str]
"""Connection and way."""


def table(outcome: Outcome) -> tuple[str, str | None]:
    """Give a captured load's packets as CSV, and what is to be said if they are not all there."""
    text, left_out = outcome.capture() or ("", 0)
    if left_out:
        return text, f"only the first {LIMIT:,} packets are there, and {left_out:,} more came: load less"
    return text, None


@dataclass(frozen=True)
class Divergence:
    """The first packet that two loads do not have alike: the `number`-th of its flow, from 1.

    `one` and `other` are its place in either file, `None` where there is no such packet.
    """

    flow: Flow
    number: int
    one: int | None
    other: int | None
    because: str


@dataclass(frozen=True)
class Comparison:
    """Two loads, packet by packet."""

    paths: tuple[str, str]
    rows: tuple[list[Row], list[Row]]
    tolerance_ms: float
    alike: int
    """Packets that came before the divergence, in the first file."""
    divergence: Divergence | None

    def document(self) -> dict[str, Any]:
        """Give it for programs."""
        fields: dict[str, Any] = {"alike": self.alike, "tolerance_ms": self.tolerance_ms, "parting": None}
        if self.divergence:
            (connection, way), places = self.divergence.flow, (self.divergence.one, self.divergence.other)
            found = [_packet(rows, at) for rows, at in zip(self.rows, places, strict=True)]
            fields["parting"] = {
                "connection": int(connection),
                "way": way,
                "number": self.divergence.number,
                "because": self.divergence.because,
                "packets": found,
            }
        return fields

    def text(self, around: int) -> str:
        """Tell of it, with `around` packets of its connection before and after the divergence."""
        alike = f"{self.alike:,} packets are alike, with {self.tolerance_ms:g} ms for their times"
        if self.divergence is None:
            return f"{alike}: there is no other."
        (connection, way), number = self.divergence.flow, self.divergence.number
        said = [
            f"{alike}; then packet {number:,} of connection {connection}, {way}, {self.divergence.because}."
        ]
        for path, rows, at in zip(
            self.paths, self.rows, (self.divergence.one, self.divergence.other), strict=True
        ):
            said += ["", path, *_excerpt(rows, connection, at, around)]
        return "\n".join(said)


def compare(one: str, other: str, tolerance_ms: float) -> Comparison:
    """Find the first packet, by its time, that two files do not have alike.

    The packets of each direction of each connection are compared in their order: how those of different
    connections lie between one another hangs on microseconds.
    """
    rows = read(one), read(other)
    divergences = list(_divergences(rows, tolerance_ms))
    first = min(divergences, key=lambda divergence: _when(rows, divergence), default=None)
    if first is None:
        return Comparison((one, other), rows, tolerance_ms, len(rows[0]), None)
    when = _when(rows, first)
    alike = sum(float(row["time_ms"]) < when for row in rows[0])
    return Comparison((one, other), rows, tolerance_ms, alike, first)


def read(path: str) -> list[Row]:
    """Read a file that `load --packets` has written."""
    table = csv.DictReader(io.StringIO(files.read(path).decode(errors="replace")))
    if table.fieldnames != _COLUMNS:
        raise InputError(f"{path}: no file of packets: make one with 'loadstone load PAGE --packets FILE'")
    rows = list(table)
    for line, row in enumerate(rows, start=2):
        if None in row.values() or not _is_number(row["time_ms"]):
            raise InputError(f"{path}: line {line} is no packet: write the file again")
    return rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _when(rows: tuple[list[Row], list[Row]], divergence: Divergence) -> float:
    places = zip(rows, (divergence.one, divergence.other), strict=True)
    return min(float(of[at]["time_ms"]) for of, at in places if at is not None)


def _divergences(rows: tuple[list[Row], list[Row]], tolerance_ms: float) -> Iterator[Divergence]:
    """Give the first packet of each flow that is not alike."""
    one, other = map(_flows, rows)
    for flow in one | other:
        pairs = zip_longest(one.get(flow, []), other.get(flow, []))
        for number, (here, there) in enumerate(pairs, start=1):
            packets = _packet(rows[0], here), _packet(rows[1], there)
            if because := _difference(*packets, tolerance_ms):
                yield Divergence(flow, number, here, there, because)
                break


def _packet(rows: list[Row], at: int | None) -> Row | None:
    return None if at is None else rows[at]


def _flows(rows: list[Row]) -> dict[Flow, list[int]]:
    """Give the places of each flow's packets."""
    flows: dict[Flow, list[int]] = {}
    for at, row in enumerate(rows):
        flows.setdefault((row["connection"], row["way"]), []).append(at)
    return flows


def _difference(one: Row | None, other: Row | None, tolerance_ms: float) -> str | None:
    if one is None or other is None:
        return "is in one of the files only"
    for column in _AGREE:
        values = one[column], other[column]
        if values[0] != values[1] and not (column == "fate" and _UNDERWAY in values):
            return f"differs in {column}"
    apart = float(other["time_ms"]) - float(one["time_ms"])
    if abs(apart) <= tolerance_ms:
        return None
    return f"comes {abs(apart):.3f} ms {'later' if apart > 0 else 'sooner'}"


def _excerpt(rows: list[Row], connection: str, at: int | None, around: int) -> Iterator[str]:
    """Give the lines of a connection about the place `at`, which is marked, or the last ones."""
    own = [place for place, row in enumerate(rows) if row["connection"] == connection]
    middle = len(own) if at is None else own.index(at)
    yield "        time ms  way   flags        seq    len        ack  fate       sacks"
    for place in own[max(middle - around, 0) : middle + around + 1]:
        row = rows[place]
        mark = ">" if place == at else " "
        yield (
            f"{mark} {float(row['time_ms']):13,.3f}  {row['way']:4}  {row['flags']:5} {row['seq']:>10}"
            f" {row['len']:>6} {row['ack']:>10}  {row['fate']:9}  {row['sacks']}"
        ).rstrip()
