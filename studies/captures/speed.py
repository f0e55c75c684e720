"""How many packets a second are read of a large capture, beside tcptrace.

    .venv/bin/python studies/captures/speed.py [CAPTURE] [--packets N] [--rounds N]

Without a CAPTURE one is made: loads of a page on a network that loses packets, by many clients at a time,
captured at the server. Programs take turns; the processor time and the time of the fastest round count.
Needs tcptrace, and editcap to make one (Debian has both). See README.md for what came out.
"""

import argparse
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from heapq import merge
from pathlib import Path

LOADSTONE = Path(sys.executable).parent / "loadstone"
TCPTRACE = ("tcptrace", "-n", "-l", "-r", "-W")
"""All of its figures; without the names of hosts, which it would look up."""
_LOAD = ("load", "synthetic:B", "--network", "10/1mbit,60ms,2%,queue=30p", "--runs", "1", "--tls", "none")
_APART_US = 6_000
_CLIENT_AT = {True: 16, False: 12}
"""Where the client's address stands in a packet: of one to it, and of one from it."""

_MICROSECONDS = 1_000_000
_PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 101)
_CLIENT = bytes([198, 18, 0, 1])

Packet = tuple[int, bytes, int]
"""When it was captured, in us; its first bytes, and how many it has on the wire."""


def make(path: Path, packets: int) -> None:
    """Write a capture of so many packets: the same load by many clients, each begun a little later."""
    load = _one_load()
    clients = packets // len(load) + 1
    with path.open("wb") as file:
        file.write(_PCAP)
        told = merge(*(_moved(load, client) for client in range(clients)))
        for _, (at, data, size) in zip(range(packets), told, strict=False):
            file.write(struct.pack("<IIII", at // _MICROSECONDS, at % _MICROSECONDS, len(data), size) + data)


def _one_load() -> list[Packet]:
    with tempfile.TemporaryDirectory() as folder:
        pcap, plain = Path(folder, "load.pcapng"), Path(folder, "load.pcap")
        subprocess.run(
            [LOADSTONE, *_LOAD, "--pcap", pcap, "--pcap-at", "server"], check=True, capture_output=True
        )
        # tcptrace knows pcap alone.
        subprocess.run(["editcap", "-F", "pcap", "-s", "96", pcap, plain], check=True, capture_output=True)
        return _read(plain.read_bytes())


def _read(data: bytes) -> list[Packet]:
    magic, *_ = struct.unpack_from("<I", data)
    per_us = 1000 if magic == 0xA1B23C4D else 1
    packets, at = [], len(_PCAP)
    while at < len(data):
        seconds, fraction, kept, size = struct.unpack_from("<IIII", data, at)
        at += 16
        packets.append((seconds * _MICROSECONDS + fraction // per_us, data[at : at + kept], size))
        at += kept
    return packets


def _moved(load: list[Packet], client: int) -> list[Packet]:
    address = (0x0A000001 + client).to_bytes(4)
    moved = []
    for at, data, size in load:
        place = _CLIENT_AT[data[16:20] == _CLIENT]
        moved.append((at + client * _APART_US, data[:place] + address + data[place + 4 :], size))
    return moved


def timed(*command: str | Path) -> tuple[float, float]:
    """Give the time and the processor time that a command takes, in s."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, used


def main() -> None:
    """Read a capture with each program, in turns, and say how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture", nargs="?", type=Path)
    parser.add_argument("--packets", type=int, default=2_000_000, help="of the capture that is made")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        capture = arguments.capture or Path(folder, "made.pcap")
        if arguments.capture is None:
            make(capture, arguments.packets)
        commands: dict[str, tuple[str | Path, ...]] = {" ".join(TCPTRACE): (*TCPTRACE, capture)}
        for threads in ("1", "2"):
            out = Path(folder, "tables")
            name = f"loadstone capture --threads {threads}"
            commands[name] = (LOADSTONE, "capture", capture, "-o", out, "--threads", threads)
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                took[name].append(timed(*command))
        sys.stdout.write(f"{capture.stat().st_size / 1e6:,.0f} MB, {os.cpu_count()} processors\n")
        for name, times in took.items():
            fastest, used = min(times)
            sys.stdout.write(f"{name:36} {fastest:7.2f} s, {used:7.2f} s of processor time\n")


if __name__ == "__main__":
    main()
