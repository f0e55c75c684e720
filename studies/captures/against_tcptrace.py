"""How connections of captures compare with what tcptrace says of them, figure by figure.

    .venv/bin/python studies/captures/against_tcptrace.py CAPTURE...

needs tcptrace (Debian has it). See README.md for what came out.
"""

import argparse
import csv
import gzip
import ipaddress
import itertools
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from loadstone.captures import tables

COUNTS = {
    "packets": "total_packets",
    "acks": "ack_pkts_sent",
    "pure_acks": "pure_acks_sent",
    "sack_packets": "sack_pkts_sent",
    "dsack_packets": "dsack_pkts_sent",
    "data_packets": "actual_data_pkts",
    "data_bytes": "actual_data_bytes",
    "bytes": "unique_bytes_sent",
    "retransmitted_packets": "rexmt_data_pkts",
    "retransmitted_bytes": "rexmt_data_bytes",
    "out_of_order_packets": "outoforder_pkts",
    "resets": "resets_sent",
    "pushed_packets": "pushed_data_pkts",
    "largest_segment": "max_segm_size",
    "smallest_segment": "min_segm_size",
    "largest_window": "max_win_adv",
    "zero_windows": "zero_win_adv",
    "first_flight_packets": "initial_window_pkts",
    "first_flight_bytes": "initial_window_bytes",
    "rtt_samples": "RTT_samples",
}
"""Our names and tcptrace's, of what has to be equal."""
TIMES = {"rtt_min_ms": "RTT_min", "rtt_mean_ms": "RTT_avg", "rtt_max_ms": "RTT_max"}
"""The same of times: equal to what tcptrace shows, a tenth of a ms; it cuts some and rounds others."""
_TENTH_MS = 0.1001
_COOKED, _ETHERNET = 113, 1
_IPV6 = b"\x86\xdd"

Ends = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Difference:
    """A figure that differs."""

    capture: str
    connection: int
    way: str
    figure: str
    ours: float
    theirs: float


def compare(capture: Path) -> tuple[int, list[Difference]]:
    """Give how many figures of a capture were compared, and those that differ.

    Raises:
        ValueError: if the connections are not the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        tables.read([str(capture)], folder, lambda done, total: None)
        ours = pl.read_parquet(Path(folder, "connections.parquet")).sort("connection").to_dicts()
        theirs = list(_tcptrace(_readable(capture, Path(folder))))
    if [_ends(one) for one in ours] != [_their_ends(one) for one in theirs]:
        raise ValueError(f"{capture}: {len(ours)} connections here, {len(theirs)} there, or others")
    compared, different = 0, []
    for one, other in zip(ours, theirs, strict=True):
        is_a = _address(other["host_a"]) == one["client"] and int(other["port_a"]) == one["client_port"]
        ways = {"up": "a2b" if is_a else "b2a", "down": "b2a" if is_a else "a2b"}
        for (way, their_way), (name, their_name) in itertools.product(ways.items(), (COUNTS | TIMES).items()):
            ours_is, theirs_is = one[f"{name}_{way}"] or 0, _number(other[f"{their_name}_{their_way}"])
            compared += 1
            if abs(ours_is - theirs_is) > (_TENTH_MS if name in TIMES else 0):
                different.append(Difference(capture.name, one["connection"], way, name, ours_is, theirs_is))
    return compared, different


def _ends(row: dict[str, Any]) -> Ends:
    return frozenset([(row["client"], row["client_port"]), (row["server"], row["server_port"])])


def _their_ends(row: dict[str, str]) -> Ends:
    return frozenset((_address(row[f"host_{end}"]), int(row[f"port_{end}"])) for end in "ab")


def _address(text: str) -> str:
    # It writes ::1 as :0001, and other parts with leading zeros.
    text = f":{text}" if text.startswith(":") and not text.startswith("::") else text
    parts = [part.lstrip("0") or part[:1] for part in text.split(":")]
    return str(ipaddress.ip_address(text if "." in text else ":".join(parts)))


def _number(text: str) -> float:
    return 0.0 if text in ("", "NA") else float(text)


def _tcptrace(capture: Path) -> Iterator[dict[str, str]]:
    """Give a row for each connection, as tcptrace has it."""
    command = ["tcptrace", "-n", "-l", "-r", "-W", "--csv", str(capture)]
    printed = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    rows = csv.reader(line for line in printed.splitlines() if line and not line.startswith("#"))
    head = next((row for row in rows if row[0].startswith("conn_#")), [])
    for row in rows:
        yield {name: value.strip() for name, value in zip(head, row, strict=False)}


def _readable(capture: Path, folder: Path) -> Path:
    """Give a capture as a file that tcptrace reads rightly: it takes IPv6 in Linux cooked frames for IPv4."""
    data = gzip.decompress(capture.read_bytes()) if capture.suffix == ".gz" else capture.read_bytes()
    if data[:4] == b"\xd4\xc3\xb2\xa1" and data[20:24] == struct.pack("<I", _COOKED):
        data = b"".join(_as_ethernet(data))
    path = folder / "capture"
    path.write_bytes(data)
    return path


def _as_ethernet(data: bytes) -> Iterator[bytes]:
    yield data[:20] + struct.pack("<I", _ETHERNET)
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, whole = struct.unpack("<IIII", data[at : at + 16])
        frame = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        # Two bytes less: the ethertype stands at 14 in one, at 12 in the other.
        yield struct.pack("<IIII", seconds, part, len(frame) - 2, whole - 2) + bytes(12) + frame[14:]


def say(line: str) -> None:
    """Print it at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("captures", metavar="CAPTURE", nargs="+", type=Path)
    compared, different = 0, defaultdict(list)
    for capture in parser.parse_args().captures:
        try:
            count, found = compare(capture)
        except ValueError as error:
            say(f"{error}")
            continue
        compared += count
        for difference in found:
            different[difference.figure].append(difference)
    say(f"{compared:,} figures compared, {sum(map(len, different.values())):,} differ")
    for figure, found in different.items():
        say(f"\n{figure}: {len(found)}")
        for one in found:
            say(f"  {one.capture} #{one.connection} {one.way}: {one.ours:g}, tcptrace {one.theirs:g}")


if __name__ == "__main__":
    main()
