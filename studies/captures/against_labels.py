"""How what captures say of what was sent again, and of initial windows, compares with what is known.

    .venv/bin/python studies/captures/against_labels.py [--seeds N] [--at POINT]... [--page PAGE]...

Loads pages on networks that lose packets, captures them at a server, at the client and at the access link,
and reads the captures. The simulator says in a comment on each packet why it was sent again, and whether
that was for nothing. Needs tshark, which reads the comments (Debian has it). See README.md for what came
out.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

LOADSTONE = Path(sys.executable).parent / "loadstone"
POINTS = ("server", "client", "link")
PAGES = ("synthetic:A", "synthetic:B")
NETWORKS = (
    "10/1mbit,60ms,loss=0.5%",
    "10/1mbit,60ms,loss=2%,queue=30p",
    "4/1mbit,200ms,loss=5%/1%",
    "50/10mbit,20ms,gemodel=1%/30%",
    "2/0.5mbit,120ms,queue=16p",
    "20/5mbit,80ms,loss=1%,jitter=8ms",
)
SERVERS = (
    ("http/1.1", "linux-6", "10"),
    ("h2", "linux-6", "10"),
    ("h2", "linux-6", "32"),
    ("http/1.1", "linux-3.7", "3"),
    ("http/1.1", "linux-2.6", "4"),
    ("h2", "windows-7", "4"),
    ("http/1.1", "mac-os-x-10.5", "3"),
)
"""A protocol, the system whose TCP the servers have, and their initial window."""

CAUSES = {
    "fast": "fast",
    "tail loss probe": "tail_loss_probe",
    "timeout (slow start)": "timeout",
    "timeout": "timeout",
    "handshake": "syn",
}
"""The simulator's words and those of captures."""

_FIELDS = (
    "frame.time_epoch",
    "ip.src",
    "tcp.srcport",
    "ip.dst",
    "tcp.dstport",
    "tcp.seq_raw",
    "frame.comment",
)
_NEAR_US = 2


Ends = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A load and where it is captured."""

    page: str
    network: str
    server: tuple[str, str, str]
    seed: int
    point: str


@dataclass
class Found:
    """What came out of some loads: how often each cause was taken for which, and likewise of the others."""

    causes: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    spurious: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    windows: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Found") -> None:
        """Count what another has, too."""
        self.causes += other.causes
        self.spurious += other.spurious
        self.windows += other.windows


@dataclass(frozen=True)
class Label:
    """What the simulator says of a packet."""

    at_us: float
    cause: str
    spurious: bool


@dataclass
class Known:
    """What the simulator says of the packets of a capture."""

    labels: dict[Ends, list[Label]] = field(default_factory=lambda: defaultdict(list))
    """Of those that were sent again: by sender and receiver, and the first number."""
    last_us: dict[Ends, float] = field(default_factory=dict)
    """When the last packet came, by its sender and receiver."""


def read_labels(path: Path) -> Known:
    """Read the comments of a capture."""
    wanted = [word for name in _FIELDS for word in ("-e", name)]
    command = ["tshark", "-n", "-r", path, "-T", "fields", *wanted]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    known = Known()
    for line in said.splitlines():
        at, *ends, seq, comment = line.split("\t")
        known.last_us[*ends,] = float(at) * 1e6
        reason, *_ = comment.split(";")
        if not reason.startswith("retransmission: "):
            continue
        reason, *spurious = reason.removeprefix("retransmission: ").split(", ")
        cause = CAUSES.get(reason) or CAUSES[reason.split(" (")[0]]
        known.labels[*ends, seq].append(Label(float(at) * 1e6, cause, bool(spurious)))
    return known


def judge(cell: Cell) -> Found:
    """Load, capture and read, and compare what was read with what is known."""
    protocol, tcp, window = cell.server
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "load.pcapng"), Path(folder, "out")
        load = [
            "load",
            cell.page,
            "--network",
            cell.network,
            "--protocol",
            protocol,
            "--tcp",
            tcp,
            "--iw",
            window,
        ]
        load += ["--runs", "1", "--seed", str(cell.seed), "--pcap", str(path), "--pcap-at", cell.point]
        for command in load, ["capture", str(path), "-o", str(out)]:
            subprocess.run([LOADSTONE, *command], check=True, capture_output=True)
        found = compare(read_labels(path), out)
        connections = pl.read_parquet(out / "connections.parquet")
        for known in connections["initial_window_down"]:
            found.windows["unknown" if known is None else "right" if known == int(window) else "wrong"] += 1
    return found


def compare(known: Known, out: Path) -> Found:
    """Compare each segment that was sent again in the table of a capture with its label."""
    connections = pl.read_parquet(out / "connections.parquet").select(
        *("connection", "client", "client_port", "server", "server_port", "rtt_max_ms_up", "rtt_max_ms_down")
    )
    rows = pl.read_parquet(out / "retransmissions.parquet").join(connections, on="connection")
    found = Found()
    for row in rows.iter_rows(named=True):
        client = row["client"], str(row["client_port"])
        server = row["server"], str(row["server_port"])
        ends, back = (*client, *server), (*server, *client)
        if row["way"] == "down":
            ends, back = back, ends
        here = known.labels.get((*ends, str(row["seq"])), [])
        near = [label for label in here if abs(label.at_us - row["at_ms"] * 1e3) <= _NEAR_US]
        if near:
            here.remove(near[0])
            found.causes[near[0].cause, row["cause"], row["way"] == "up"] += 1
            # Where nothing comes back any more, nobody can know.
            if row["at_ms"] + (row[f"rtt_max_ms_{row['way']}"] or 0) < known.last_us[back] / 1e3:
                found.spurious[near[0].spurious, row["spurious"]] += 1
        else:
            found.causes["none", row["cause"], row["way"] == "up"] += 1
    for (_, _, _, port, _), rest in known.labels.items():
        for label in rest:
            found.causes[label.cause, "none", port in ("443", "80")] += 1
    return found


def cells(pages: Sequence[str], seeds: int, points: Sequence[str]) -> Iterator[Cell]:
    """Give all loads."""
    for page, network, server, seed, point in itertools.product(
        pages, NETWORKS, SERVERS, range(seeds), points
    ):
        yield Cell(page, network, server, seed, point)


def main() -> None:
    """Load, read, compare, and say what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="loads of each page, network and server")
    parser.add_argument(
        "--at", choices=POINTS, action="append", help="where to capture; everywhere if left out"
    )
    parser.add_argument(
        "--page", action="append", help="what to load; two pages of small objects if left out"
    )
    arguments = parser.parse_args()
    asked = list(cells(arguments.page or PAGES, arguments.seeds, arguments.at or POINTS))
    totals = defaultdict[str, Found](Found)
    per_server = defaultdict(Found)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for cell, found in zip(asked, pool.map(judge, asked), strict=True):
            totals[cell.point].add(found)
            per_server[cell.point, *cell.server].add(found)
    for point, found in totals.items():
        sys.stdout.write(shown(f"captured at the {point}", found))
    for key, found in per_server.items():
        if key[0] == "server":
            sys.stdout.write(shown(" ".join(key), found))


def shown(title: str, found: Found) -> str:
    """Give precision and recall, and what was taken for what, as lines."""
    lines = [title, f"{'':24}precision         recall"]
    names = sorted({name for known, read, _ in found.causes for name in (known, read)} - {"none"})
    for way, name in itertools.product(("down", "up"), names):
        of = {(known, read): n for (known, read, up), n in found.causes.items() if up == (way == "up")}
        right = of.get((name, name), 0)
        said = sum(n for (_, read), n in of.items() if read == name)
        there = sum(n for (known, _), n in of.items() if known == name)
        taken = ", ".join(f"{n} as {read}" for (known, read), n in of.items() if known == name != read)
        lines.append(f"{way:5}{name:16}{_share(right, said)}  {_share(right, there)}  {taken}")
    right, missed, invented = (found.spurious[pair] for pair in ((True, True), (True, False), (False, True)))
    lines.append(f"     {'spurious':16}{_share(right, right + invented)}  {_share(right, right + missed)}")
    windows = ", ".join(f"{n} {what}" for what, n in sorted(found.windows.items()))
    return "\n".join([*lines, f"     initial windows: {windows}", "", ""])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.4f} of {whole:5}" if whole else f"{'-':>6}         "


if __name__ == "__main__":
    main()
