"""Servers that run on one core and clients that ask them from another: processor time, memory, latency."""

import json
import os
import re
import resource
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLIENTS, STREAMS = 10, 10
LOADSTONE = [sys.executable, "-m", "loadstone"]
TICK = os.sysconf("SC_CLK_TCK")
SERVER_CORE, CLIENT_CORE = "0", "1"


@dataclass(frozen=True)
class Running:
    """A server that runs: all its processes, and where it is."""

    pid: int
    port: int

    @property
    def pids(self) -> list[int]:
        """Give its process and their children."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    @property
    def seconds(self) -> float:
        """Give the processor time that it has taken."""
        return sum(_ticks(pid) for pid in self.pids) / TICK

    @property
    def resident(self) -> int:
        """Give the bytes of memory that it has."""
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.pids]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def free_port() -> int:
    """Find a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, core: str = SERVER_CORE) -> Iterator[Running]:
    """Run a server on its core until it is needed no more."""
    process = subprocess.Popen(
        ["taskset", "-c", core, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"it does not listen: {' '.join(command)}") from None
                time.sleep(0.05)
        yield Running(process.pid, port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def certify(folder: Path) -> None:
    """Make a certificate for this machine: `cert.pem` and `key.pem`."""
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", *curve, *subject, *files], check=True, capture_output=True
    )


def h2load(
    server: Running, tls: bool, size: int, requests: int, *options: str, streams: int = STREAMS
) -> float:
    """Ask for an object many times; gives microseconds of the server per request."""
    url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}/{size}"
    load = ["-n", str(requests), "-c", str(CLIENTS), "-m", str(streams), *options, url]
    before = server.seconds
    command = ["taskset", "-c", CLIENT_CORE, "h2load", *load]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if not re.search(rf"{requests} succeeded, 0 failed, 0 errored", said):
        raise SystemExit(f"not all was answered:\n{said}")
    return (server.seconds - before) / requests * 1e6


def fetch(server: Running, protocol: str, size: int, requests: int) -> float:
    """Do the same over one connection, by any protocol."""
    asked = ["--repeat", str(requests), "--concurrency", "100", "--protocol", protocol, "--json"]
    command = [
        "taskset",
        "-c",
        CLIENT_CORE,
        *LOADSTONE,
        "fetch",
        f"http://127.0.0.1:{server.port}/{size}",
        *asked,
    ]
    before = server.seconds
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    spent = server.seconds - before
    if any(response["bytes"] != size for response in said["responses"]):
        raise SystemExit("not all was answered")
    return spent / requests * 1e6


def row(name: str, rounds: list[float], against: float | None) -> str:
    """Write a server's rounds as a line of the table."""
    median = statistics.median(rounds)
    ratio = "" if against is None else f"{median / against:.2f}"
    return f"| {name} | {median:.1f} | {min(rounds):.1f}-{max(rounds):.1f} | {ratio} |"


def any_certificate() -> ssl.SSLContext:
    """Make what a client of HTTP/2 needs that believes any certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def connect(port: int, tls: ssl.SSLContext | None) -> socket.socket:
    """Open a connection of HTTP/2 that says its SETTINGS and nothing more."""
    connection = socket.create_connection(("127.0.0.1", port))
    if tls is not None:
        connection = tls.wrap_socket(connection, server_hostname="localhost")
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
    connection.recv(4096)
    return connection


def idle(server: Running, count: int, tls: ssl.SSLContext | None) -> float:
    """Open connections and leave them; gives KB of the server's resident memory for each."""
    connect(server.port, tls).close()
    before = server.resident
    connections = [connect(server.port, tls) for _ in range(count)]
    grown = server.resident - before
    for connection in connections:
        connection.close()
    return grown / count / 1000


def needs_many_files() -> None:
    """Let this process, and the servers that it starts, have as many sockets as the system allows."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
