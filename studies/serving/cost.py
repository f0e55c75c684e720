# ruff: noqa: T201
"""What serving costs: processor time of the server per request, and memory per idle connection.

    PROFILE=release make setup && .venv/bin/python studies/serving/cost.py > studies/serving/cost.md

`loadstone serve`, nghttpd and nginx answer h2load over loopback, each server on one core and its clients on
another, in rounds that take each in turn; then SPDY/3.1 and HTTP/2, both driven by `loadstone fetch`; then
connections that are opened and left. Needs nghttp2-client, nghttp2-server and nginx-light; a server that is
not there is left out.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measured_servers import (
    CLIENTS,
    LOADSTONE,
    STREAMS,
    any_certificate,
    certify,
    fetch,
    free_port,
    h2load,
    idle,
    needs_many_files,
    row,
    running,
)

ROUNDS = 5
OBJECTS = {"10 KB": (10_240, 100_000), "1 MB": (1_048_576, 3_000)}
"""Bytes of each object, and requests of a round."""
IDLE = (1_000, 10_000)


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
    certify(folder)
    return bench


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


def memory(bench: Bench) -> None:
    """Open connections and leave them."""
    print("## Memory per idle connection\n")
    print("HTTP/2, SETTINGS exchanged, nothing asked. KB of the server's resident memory per connection.\n")
    print("| server | connections | plaintext | TLS 1.3 |\n|---|---|---|---|")
    context = any_certificate()
    makers = {"loadstone serve": bench.loadstone} | (
        {"nghttpd": bench.nghttpd} if shutil.which("nghttpd") else {}
    )
    for maker, make in makers.items():
        for count in IDLE:
            cells = []
            for tls in (False, True):
                port = free_port()
                with running(make(port, tls), port) as server:
                    cells.append(f"{idle(server, count, context if tls else None):.1f}")
            print(f"| {maker} | {count:,} | {cells[0]} | {cells[1]} |", flush=True)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"servers": compare_servers, "protocols": compare_protocols, "memory": memory}
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="which of them; all, if none is named")
    chosen = parser.parse_args().parts or list(parts)
    needs_many_files()
    print("# What serving costs\n\nMade by `studies/serving/cost.py`, which says how.\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = prepare(Path(folder))
        for part in chosen:
            parts[part](bench)


if __name__ == "__main__":
    main()
