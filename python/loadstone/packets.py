"""The packets of a load as files, and where two loads part."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loadstone import files, text
from loadstone._native import CaptureTable, LoadstoneError, Outcome, capture_points
from loadstone.files import InputError, Kind

LIMIT = 1_000_000
"""The most packets that are kept of a load: some 80 MB of text."""

POINTS = tuple(capture_points())
"""Where packets may be captured, the default first."""

KIND = Kind("file of packets", rb"time_ms,(link,)?way,connection,")


PCAPNG = Kind("pcapng file", rb"\n\r\r\n")
"""It begins with a section header block."""

QLOG = Kind("qlog file", rb'\{"qlog_version":')


@dataclass(frozen=True)
class Files:
    """The files for a load's packets: as a table in CSV, as pcapng captured at a point, and as qlog."""

    table: str | None = None
    pcap: str | None = None
    point: str | None = None
    snap_length: int | None = None
    """Bytes of each packet that the capture has at most."""
    qlog: str | None = None

    @property
    def limit(self) -> int | None:
        """How many packets are kept for them; nothing is where there are none."""
        return LIMIT if self.table or self.pcap or self.qlog else None

    @contextmanager
    def opened(self) -> Iterator[Callable[[Outcome], list[str]]]:
        """Give a function that makes the files of a captured load, and says of which packets are lacking.

        A file that cannot be written is an error before anything else is done.
        """
        with (
            files.replacement(self.table, KIND) as write,
            files.replacement(self.pcap, PCAPNG) as write_pcap,
            files.replacement(self.qlog, QLOG) as write_qlog,
        ):

            def make(outcome: Outcome) -> list[str]:
                lacks = []
                if self.table:
                    rows, left_out = outcome.capture() or ("", 0)
                    write(rows)
                    lacks += _lacks(self.table, left_out)
                if self.pcap:
                    content, left_out = outcome.pcapng(self.point or POINTS[0], self.snap_length) or (b"", 0)
                    write_pcap(content)
                    lacks += _lacks(self.pcap, left_out)
                if self.qlog:
                    content, left_out = outcome.qlog() or (b"", 0)
                    write_qlog(content)
                    lacks += _lacks(self.qlog, left_out)
                return lacks

            yield make


def _lacks(path: str, left_out: int) -> list[str]:
    lacks = f"{path}: only the first {LIMIT:,} packets are there, and {left_out:,} more came: load less"
    return [lacks] if left_out else []


def compare(one: str, other: str, tolerance_ms: float, around: int) -> dict[str, Any]:
    """Find the first packet that two files do not have alike, and `around` packets before and after it.

    The packets of each direction of each connection are compared in their order.
    """
    compared: dict[str, Any] = json.loads(_read(one).compare_json(_read(other), tolerance_ms, around))
    return compared


def _read(path: str) -> CaptureTable:
    data = files.read(path)
    try:
        return CaptureTable(data)
    except LoadstoneError as error:
        raise InputError(f"{path}: {error.args[0]}") from None


def in_words(compared: dict[str, Any], paths: Sequence[str]) -> str:
    """Tell what `compare` gave of these files."""
    alike = f"{compared['alike']:,} packets are alike, with {compared['tolerance_ms']:g} ms for their times"
    if (parting := compared["parting"]) is None:
        return f"{alike}: there is no other."
    which = f"packet {parting['number']:,} of connection {parting['connection']}, {parting['way']}"
    said = [f"{alike}; then {which}, {parting['because']}."]
    for path, excerpt in zip(paths, parting["around"], strict=True):
        said += ["", path, "        time ms  way   flags        seq    len        ack  fate       sacks"]
        said += [_line(packet, at == excerpt["at"]) for at, packet in enumerate(excerpt["packets"])]
    return "\n".join(said)


def _line(packet: dict[str, str], is_it: bool) -> str:
    line = (
        f"{'>' if is_it else ' '} {float(packet['time_ms']):13,.3f}  {packet['way']:4}  {packet['flags']:5}"
        f" {packet['seq']:>10} {packet['len']:>6} {packet['ack']:>10}  {packet['fate']:9}  {packet['sacks']}"
    )
    return text.printable(line.rstrip())
