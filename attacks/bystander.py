"""Another client of the server: it asks for a small file every 10 ms and notes how long each answer took.

A process of its own (`python -m attacks.bystander PORT PROTOCOL`), since the attacker is busy. It prints a
line when it has its first answer and, when its standard input ends, what it noted.
"""

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from attacks import h2, http1, spdy
from attacks.protocol import Heard

PROTOCOLS = {module.PROTOCOL.name: module.PROTOCOL for module in (h2, spdy, http1)}
EVERY = 0.01
OWN_ADDRESS = "127.0.0.2"
"""Not the attacker's: a server may count what an address has."""
PATIENCE = 5.0
"""After so many seconds it gives an answer up, and its connection."""


class Asked(NamedTuple):
    """A request: when it was sent, and the seconds until its response was complete."""

    at: float
    took: float


class Latency(NamedTuple):
    """What another client waited, in milliseconds."""

    median: float
    worst: float


class Bystander:
    """The process, as seen by who started it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def wait(self) -> None:
        """Wait for its first answer."""
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def noted(self) -> list[Asked]:
        """End it, and give what it noted."""
        said, _ = self._process.communicate()
        return [Asked(*pair) for pair in json.loads(said or "[]")]


def latency(noted: list[Asked], begin: float, end: float) -> Latency | None:
    """Sum up what was asked in a span of time."""
    spans = [asked.took * 1000 for asked in noted if begin <= asked.at + asked.took and asked.at <= end]
    return Latency(median(spans), max(spans)) if spans else None


@contextmanager
def watching(port: int, protocol: str) -> Iterator[Bystander]:
    """Let it ask until it is needed no more."""
    command = [sys.executable, "-m", "attacks.bystander", str(port), protocol]
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        command, cwd=root, text=True, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        try:
            yield Bystander(process)
        finally:
            process.kill()


def exchange(connection: socket.socket, request: bytes, hear: Heard, came: bytearray, protocol: str) -> bool:
    """Ask and wait for the answer; say whether there was one."""
    before = hear.completed
    connection.sendall(request)
    while hear.completed == before:
        if not (data := connection.recv(65_536)):
            return False
        came += data
        PROTOCOLS[protocol].hear(came, hear)
    return True


def session(port: int, protocol: str, noted: list[Asked]) -> bool:
    """Ask on one connection until it ends, or until there is no more to do."""
    requests = PROTOCOLS[protocol].requests()
    heard, came = Heard(), bytearray()
    begin = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port), PATIENCE, (OWN_ADDRESS, 0)) as connection:
            connection.sendall(next(requests))
            for request in requests:
                answered = exchange(connection, request, heard, came, protocol)
                if answered:
                    if not noted:
                        sys.stdout.write("ready\n")
                        sys.stdout.flush()
                    noted.append(Asked(begin, time.monotonic() - begin))
                left = max(0.0, begin + EVERY - time.monotonic())
                if select.select([sys.stdin], [], [], left)[0]:
                    return False
                if not answered:
                    return True
                begin = time.monotonic()
    except TimeoutError:
        noted.append(Asked(begin, time.monotonic() - begin))
    except OSError:
        time.sleep(EVERY)
    return not select.select([sys.stdin], [], [], 0)[0]


def main() -> None:
    """Ask, again on a new connection where one has ended."""
    noted: list[Asked] = []
    while session(int(sys.argv[1]), sys.argv[2], noted):
        pass
    sys.stdout.write(json.dumps(noted))


if __name__ == "__main__":
    main()
