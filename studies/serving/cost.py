# ruff: noqa: T201
"""What serving costs: processor time of the server per request, and memory per idle connection.

    PROFILE=release make setup && .venv/bin/python studies/serving/cost.py > studies/serving/cost.md

`loadstone serve`, nghttpd and nginx answer h2load over loopback, each server on one core and its clients on
another, in rounds that take each in turn; then SPDY/3.1 and HTTP/2, both driven by `loadstone fetch`; then
connections that are opened and left. Needs nghttp2-client, nghttp2-server and nginx-light; a server that is
not there is left out.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
OBJECTS = {"10 KB": (10_240, 100_000), "1 MB": (1_048_576, 3_000)}
"""Bytes of each object, and requests of a round."""
CLIENTS, STREAMS = 10, 10
IDLE = (1_000, 10_000)
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
def running(command: list[str], port: int) -> Iterator[Running]:
    """Run a server on its core until it is needed no more."""
    process = subprocess.Popen(
        ["taskset", "-c", SERVER_CORE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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


@dataclass(frozen=True)
class Bench:
    """What all servers have: files, a certificate."""

    folder: Path

    @property
    def files(self) -> Path:
        """Give the folder that is served."""
        return self.folder / "files"

    def loadstone(self, port: int, tls: bool, protocol: str = "h2") -> list[str]:
        """Run ours."""
        identity = ["--cert", str(self.folder / "cert.pem"), "--key", str(self.folder / "key.pem")]
        way = identity if tls else ["--plaintext", "--protocol", protocol]
        return [*LOADSTONE, "serve", str(self.files), "--listen", f"127.0.0.1:{port}", *way]

    def nghttpd(self, port: int, tls: bool) -> list[str]:
        """Run nghttp2's, one thread as it comes."""
        identity = [str(self.folder / "key.pem"), str(self.folder / "cert.pem")] if tls else []
        return [
            "nghttpd",
            "-d",
            str(self.files),
            "-a",
            "127.0.0.1",
            *([] if tls else ["--no-tls"]),
            str(port),
            *identity,
        ]

    def nginx(self, port: int, tls: bool) -> list[str]:
        """Run nginx with one worker."""
        listen = f"listen 127.0.0.1:{port} {'ssl ' if tls else ''}http2;"
        keys = (
            f"ssl_certificate {self.folder}/cert.pem; ssl_certificate_key {self.folder}/key.pem;"
            if tls
            else ""
        )
        text = (
            f"daemon off; worker_processes 1; pid {self.folder}/nginx.pid;\n"
            f"error_log {self.folder}/nginx.log;\n"
            "events { worker_connections 20000; }\n"
            "http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n"
            f"server {{ {listen} {keys} root {self.files}; }} }}\n"
        )
        config = self.folder / "nginx.conf"
        config.write_text(text)
        return [str(shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")), "-c", str(config)]


def prepare(folder: Path) -> Bench:
    """Make the files and a certificate."""
    bench = Bench(folder)
    bench.files.mkdir()
    # nginx's worker is another user.
    folder.chmod(0o755)
    for size, _ in OBJECTS.values():
        (bench.files / str(size)).write_bytes(os.urandom(size))
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", *curve, *subject, *files], check=True, capture_output=True
    )
    return bench


def h2load(server: Running, tls: bool, size: int, requests: int) -> float:
    """Ask for an object many times; gives microseconds of the server per request."""
    url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}/{size}"
    command = [
        "taskset",
        "-c",
        CLIENT_CORE,
        "h2load",
        "-n",
        str(requests),
        "-c",
        str(CLIENTS),
        "-m",
        str(STREAMS),
        url,
    ]
    before = server.seconds
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


def compare_servers(bench: Bench) -> None:
    """Take each server in turn, round after round."""
    makers: dict[str, Callable[[int, bool], list[str]]] = {"loadstone serve": bench.loadstone}
    if shutil.which("nghttpd"):
        makers["nghttpd"] = bench.nghttpd
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"):
        makers["nginx"] = bench.nginx
    print("## Processor time of the server per request, HTTP/2, by h2load\n")
    print(f"{CLIENTS} connections of {STREAMS} streams each, {ROUNDS} rounds in turns. Microseconds.\n")
    for tls in (False, True):
        for name, (size, requests) in OBJECTS.items():
            rounds: dict[str, list[float]] = {maker: [] for maker in makers}
            for _ in range(ROUNDS):
                for maker, make in makers.items():
                    port = free_port()
                    with running(make(port, tls), port) as server:
                        h2load(server, tls, size, requests // 10)
                        rounds[maker].append(h2load(server, tls, size, requests))
            reference = statistics.median(rounds["nghttpd"]) if "nghttpd" in rounds else None
            print(f"{name}, {'TLS 1.3' if tls else 'plaintext'}:\n")
            print("| server | median | range | against nghttpd |\n|---|---|---|---|")
            print("\n".join(row(maker, rounds[maker], reference) for maker in makers), end="\n\n", flush=True)


def compare_protocols(bench: Bench) -> None:
    """Hold SPDY/3.1 against HTTP/2, both by our own client."""
    print("## SPDY/3.1 and HTTP/2, both by `loadstone fetch`\n")
    print("One connection, 100 streams, plaintext. Microseconds of the server per request.\n")
    for name, (size, requests) in OBJECTS.items():
        rounds: dict[str, list[float]] = {"h2": [], "spdy/3.1": [], "http/1.1+pipelining": []}
        for _ in range(ROUNDS):
            for protocol in rounds:
                port = free_port()
                served = protocol.removesuffix("+pipelining")
                with running(bench.loadstone(port, tls=False, protocol=served), port) as server:
                    rounds[protocol].append(fetch(server, protocol, size, requests))
        print(f"{name}:\n\n| protocol | median | range | against h2 |\n|---|---|---|---|")
        reference = statistics.median(rounds["h2"])
        print("\n".join(row(*entry, reference) for entry in rounds.items()), end="\n\n", flush=True)


def connect(port: int, tls: ssl.SSLContext | None) -> socket.socket:
    """Open a connection of HTTP/2 that says its SETTINGS and nothing more."""
    connection = socket.create_connection(("127.0.0.1", port))
    if tls is not None:
        connection = tls.wrap_socket(connection, server_hostname="localhost")
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
    connection.recv(4096)
    return connection


def memory(bench: Bench) -> None:
    """Open connections and leave them."""
    print("## Memory per idle connection\n")
    print("HTTP/2, SETTINGS exchanged, nothing asked. KB of the server's resident memory per connection.\n")
    print("| server | connections | plaintext | TLS 1.3 |\n|---|---|---|---|")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    makers = {"loadstone serve": bench.loadstone} | (
        {"nghttpd": bench.nghttpd} if shutil.which("nghttpd") else {}
    )
    for maker, make in makers.items():
        for count in IDLE:
            cells = []
            for tls in (False, True):
                port = free_port()
                with running(make(port, tls), port) as server:
                    connect(port, context if tls else None).close()
                    before = server.resident
                    connections = [connect(port, context if tls else None) for _ in range(count)]
                    cells.append(f"{(server.resident - before) / count / 1000:.1f}")
                    for connection in connections:
                        connection.close()
            print(f"| {maker} | {count:,} | {cells[0]} | {cells[1]} |", flush=True)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"servers": compare_servers, "protocols": compare_protocols, "memory": memory}
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="which of them; all, if none is named")
    chosen = parser.parse_args().parts or list(parts)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("# What serving costs\n\nMade by `studies/serving/cost.py`, which says how.\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = prepare(Path(folder))
        for part in chosen:
            parts[part](bench)


if __name__ == "__main__":
    main()
