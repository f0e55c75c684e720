"""How what captures say of what was sent again compares with what the kernel that sent it has counted.

    .venv/bin/python studies/captures/against_kernel.py [--seeds N] [--json FILE]

Fetches objects from a server on a bed, over networks that lose packets, and captures the packets at the
server. The kernel does not say why it sent a packet again, but its counters of the server's namespace say how
often for which reason. Needs Linux, root or user namespaces, and dumpcap (Debian: wireshark-common). See
README.md for what came out.
"""

import argparse
import itertools
import json
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

LOADSTONE = Path(sys.executable).parent / "loadstone"
NETWORKS = (
    "10/1mbit,60ms,loss=0.5%",
    "10/1mbit,60ms,loss=2%,queue=30p",
    "4/1mbit,200ms,loss=5%/1%",
    "50/10mbit,20ms,gemodel=1%/30%",
    "2/0.5mbit,120ms,queue=16p",
    "10/2mbit,80ms,loss=1%/5%",
)
LOADS = (
    # Few connections that last, and many that do not: the ends of those are where probes and timeouts are.
    ("h2", "/bytes/60000", 40, 10, 1),
    ("http/1.1", "/bytes/15000", 120, 1, 6),
    ("http/1.1", "/bytes/200000", 18, 1, 3),
)
"""Protocol, path, requests, those at a time on a connection, connections."""

COUNTERS = (
    "RetransSegs",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPDSACKRecv",
    "TCPDSACKOfoRecv",
    "TCPSynRetrans",
    "TCPSpuriousRTOs",
)
_PATIENCE_S = 120
_SETTLED_S = 0.7


@dataclass(frozen=True)
class Cell:
    """A network and what is fetched over it."""

    network: str
    protocol: str
    path: str
    requests: int
    at_a_time: int
    connections: int
    seed: int


# --- on the bed ---


def serve(folder: Path, protocol: str) -> None:
    """Serve, capture, and keep what the kernel has counted, until the client has what it wants."""
    server = [LOADSTONE, "serve", "--patterns", "--plaintext", "--protocol", protocol]
    server += ["--listen", "0.0.0.0:80"]
    capture = ["dumpcap", "-q", "-i", "link0", "-s", "120", "-w", folder / "server.pcapng"]
    with (folder / "listening").open("wb") as said, (folder / "captured").open("wb") as captured:
        programs = [
            subprocess.Popen(capture, stdout=captured, stderr=captured),
            subprocess.Popen(server, stdout=said, stderr=said),
        ]
        wait_for((folder / "done").exists)
        (folder / "counters.json").write_text(json.dumps(counters()))
        for program in programs:
            program.send_signal(signal.SIGINT)
        for program in programs:
            program.wait(10)
    (folder / "complete").touch()


def load(folder: Path, cell: Cell) -> None:
    """Fetch, and wait until the server has kept what it has to."""
    wait_for(lambda: (folder / "server.pcapng").exists() and ":80" in (folder / "listening").read_text())
    time.sleep(_SETTLED_S)
    fetch = [LOADSTONE, "fetch", f"http://server{cell.path}", "--protocol", cell.protocol]
    fetch += ["--repeat", cell.requests, "--concurrency", cell.at_a_time, "--connections", cell.connections]
    subprocess.run([*map(str, fetch), "--timeout", str(_PATIENCE_S)], check=True, capture_output=True)
    time.sleep(_SETTLED_S)
    (folder / "done").touch()
    wait_for((folder / "complete").exists)


def wait_for(is_there: Callable[[], bool]) -> None:
    """Wait until something is there."""
    until = time.monotonic() + _PATIENCE_S
    while not is_there():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.05)


def counters() -> dict[str, int]:
    """Read the counters of this namespace."""
    found = {}
    for path in ("/proc/net/netstat", "/proc/net/snmp"):
        lines = Path(path).read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            pairs = zip(names.split()[1:], values.split()[1:], strict=True)
            found |= {name: int(value) for name, value in pairs if name in COUNTERS}
    return found


# --- what is said of it ---


def judge(cell: Cell) -> tuple[Counter[str], Counter[str]]:
    """Give how often the kernel has counted each cause, and how often the capture says it."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name, "out")
        here = [sys.executable, str(Path(__file__).resolve())]
        same = ["--cell", json.dumps(list(vars(cell).values()))]
        server, client = shlex.join([*here, "--serve", name, *same]), [*here, "--load", name, *same]
        bed = [
            LOADSTONE,
            "bed",
            "--network",
            cell.network,
            "--seed",
            str(cell.seed),
            "--server-command",
            server,
        ]
        subprocess.run(
            [*map(str, bed), "--", *client], check=True, capture_output=True, timeout=2 * _PATIENCE_S
        )
        capture = [LOADSTONE, "capture", folder / "server.pcapng", "-o", out]
        subprocess.run(capture, check=True, capture_output=True)
        return of_kernel(json.loads((folder / "counters.json").read_text())), of_capture(out)


def of_kernel(counted: dict[str, int]) -> Counter[str]:
    """Give what the kernel has counted, by the words of captures."""
    timeouts = counted["TCPTimeouts"] + counted["TCPSlowStartRetrans"]
    fast, again = counted["TCPFastRetrans"], counted["RetransSegs"]
    # A probe of new data is counted as one, and repeats nothing.
    return Counter(
        {"sent again": again, "fast": fast, "timeout": timeouts, "tail_loss_probe": again - fast - timeouts}
    )


def of_capture(out: Path) -> Counter[str]:
    """Give what the capture says of what the server has sent again."""
    rows = pl.read_parquet(out / "retransmissions.parquet").filter(pl.col("way") == "down")
    # The kernel counts the timer of a SYN and ACK like others.
    causes = Counter("timeout" if cause == "syn" else cause for cause in rows["cause"])
    return Counter({"sent again": rows.height}) + causes


def cells(seeds: int) -> Iterator[Cell]:
    """Give all loads."""
    for network, what, seed in itertools.product(NETWORKS, LOADS, range(1, seeds + 1)):
        yield Cell(network, *what, seed)


def main() -> None:
    """Load, read, compare, and say what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2, help="loads of each network and kind of request")
    parser.add_argument("--json", type=Path, help="write what came out of each load there")
    for own in ("--serve", "--load", "--cell"):
        parser.add_argument(own, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(Path(arguments.serve), Cell(*json.loads(arguments.cell)).protocol)
    if arguments.load:
        return load(Path(arguments.load), Cell(*json.loads(arguments.cell)))
    asked = list(cells(arguments.seeds))
    judged = []
    for cell in asked:
        judged.append(judge(cell))
        sys.stdout.write(f"{cell.network} {cell.protocol} {cell.path}: {shown(*judged[-1])}\n")
    if arguments.json:
        lines = [
            {**vars(cell), "kernel": one, "capture": other}
            for cell, (one, other) in zip(asked, judged, strict=True)
        ]
        arguments.json.write_text(json.dumps(lines, indent=1))
    sys.stdout.write(summed(judged))
    return None


def shown(kernel: Counter[str], capture: Counter[str]) -> str:
    """Give both counts of each cause."""
    return ", ".join(f"{cause} {kernel[cause]}/{capture[cause]}" for cause in sorted(kernel | capture))


def summed(judged: Sequence[tuple[Counter[str], Counter[str]]]) -> str:
    """Give the sums, and the share of each cause that both have in the same load."""
    lines = [f"{'':18}{'kernel':>8}{'capture':>8}  precision  recall"]
    for cause in sorted({cause for pair in judged for one in pair for cause in one}):
        pairs = [(kernel[cause], capture[cause]) for kernel, capture in judged]
        counted, said = (sum(of) for of in zip(*pairs, strict=True))
        both = sum(map(min, pairs))
        shares = "  ".join(f"{both / of:9.3f}" if of else f"{'-':>9}" for of in (said, counted))
        lines.append(f"{cause:18}{counted:8}{said:8}  {shares}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
