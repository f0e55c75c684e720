"""The packets of a load as a file, and where two loads part."""

import json
from collections.abc import Sequence
from typing import Any

from loadstone import files, text
from loadstone._native import CaptureTable, LoadstoneError, Outcome
from loadstone.files import InputError, Kind

LIMIT = 1_000_000
"""The most packets that are kept of a load: some 80 MB of text."""

KIND = Kind("file of packets", rb"time_ms,(link,)?way,connection,")


def table(outcome: Outcome) -> tuple[str, str | None]:
    """Give a captured load's packets as CSV, and what is to be said if they are not all there."""
    rows, left_out = outcome.capture() or ("", 0)
    if left_out:
        return rows, f"only the first {LIMIT:,} packets are there, and {left_out:,} more came: load less"
    return rows, None


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
