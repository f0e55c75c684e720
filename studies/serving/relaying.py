# ruff: noqa: T201
"""What relaying costs: processor time of the proxy per request, latency, and memory per idle connection.

    PROFILE=release make setup && .venv/bin/python studies/serving/relaying.py > studies/serving/relaying.md

`loadstone edge`, h2o, nghttpx and nginx relay HTTP/2 to one nginx by HTTP/1.1 over loopback. Each proxy has
one core, its clients and the origin have another. Rounds take each proxy in turn. Then what a cache answers;
SPDY/3.1, HTTP/1.1 and HTTP/2 in front, all by `loadstone fetch`; HTTP/2 behind; connections that are opened
and left.
Needs nghttp2-client and nginx-light; h2o and nghttp2-proxy are left out where they are not there.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measured_servers import (
    CLIENT_CORE,
    CLIENTS,
    LOADSTONE,
    STREAMS,
    Running,
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
OBJECTS = {"10 KB": (10_240, 50_000), "1 MB": (1_048_576, 2_000)}
"""Bytes of each object, and requests of a round."""
CONNECTIONS = 2_000
"""Idle connections."""


Proxy = Callable[[int, bool], list[str]]
"""Gives the command that runs a proxy on a port, with TLS or without."""


def program(name: str) -> str | None:
    """Find a server; Debian keeps some where only root looks."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


@dataclass(frozen=True)
class Bench:
    """What all proxies have: a folder for their files with a certificate, and an origin."""

    folder: Path
    origin: int
    """Its port."""

    def edge(self, port: int, tls: bool, *options: str) -> list[str]:
        """Run ours."""
        identity = ["--cert", str(self.folder / "cert.pem"), "--key", str(self.folder / "key.pem")]
        origin = f"127.0.0.1=http://127.0.0.1:{self.origin}"
        way = [] if tls else ["--plaintext", *(() if "--protocol" in options else ("--protocol", "h2"))]
        listen = ["--listen", f"127.0.0.1:{port}", *(identity if tls else way)]
        return [*LOADSTONE, "edge", "--origin", origin, *listen, *options]

    def nginx(self, port: int, tls: bool, cache: str = "") -> list[str]:
        """Run nginx with one worker, which keeps connections to the origin as the others do."""
        keys = f"ssl_certificate {self.folder}/cert.pem; ssl_certificate_key {self.folder}/key.pem;"
        text = (
            f"{nginx_for_all(self.folder / 'proxy')}"
            f"upstream origin {{ server 127.0.0.1:{self.origin};\n"
            "keepalive 64; keepalive_requests 100000000; }\n"
            f"{cache and f'proxy_cache_path {self.folder}/proxy.cache keys_zone=cache:10m;'}\n"
            f"server {{ listen 127.0.0.1:{port} {'ssl ' if tls else ''}http2; {keys if tls else ''}\n"
            f"location / {{ proxy_pass http://origin; proxy_http_version 1.1; {cache}\n"
            'proxy_set_header Connection ""; proxy_set_header Host $http_host; } } }\n'
        )
        config = self.folder / "proxy.conf"
        config.write_text(text)
        return [str(program("nginx")), "-c", str(config)]

    def nginx_cache(self, port: int, tls: bool) -> list[str]:
        """Run nginx with a cache, which is a folder."""
        return self.nginx(port, tls, "proxy_cache cache;")

    def h2o(self, port: int, tls: bool) -> list[str]:
        """Run h2o with one thread."""
        keys = f"{{certificate-file: {self.folder}/cert.pem, key-file: {self.folder}/key.pem}}"
        config = self.folder / "h2o.yaml"
        config.write_text(
            f"listen: {{host: 127.0.0.1, port: {port}{f', ssl: {keys}' if tls else ''}}}\n"
            "user: nobody\nnum-threads: 1\nproxy.preserve-host: ON\nproxy.timeout.keepalive: 60000\n"
            f"hosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://127.0.0.1:{self.origin}/'}}}}}}}}\n"
        )
        return [str(program("h2o")), "-m", "worker", "-c", str(config)]

    def nghttpx(self, port: int, tls: bool) -> list[str]:
        """Run nghttp2's proxy with one worker."""
        front = f"--frontend=127.0.0.1,{port}{'' if tls else ';no-tls'}"
        identity = [str(self.folder / "key.pem"), str(self.folder / "cert.pem")] if tls else []
        limits = ["--workers=1", "--no-ocsp", "--worker-frontend-connections=0"]
        behind = f"--backend=127.0.0.1,{self.origin}"
        return [str(program("nghttpx")), "--conf=/dev/null", *limits, front, behind, *identity]

    @property
    def proxies(self) -> dict[str, Proxy]:
        """Give those that are there, ours first."""
        others = {"h2o": self.h2o, "nghttpx": self.nghttpx, "nginx": self.nginx}
        return {"loadstone edge": self.edge} | {name: run for name, run in others.items() if program(name)}


def nginx_for_all(files: Path) -> str:
    """Write the first lines of a configuration of nginx, which leaves its files beside `files`."""
    return (
        f"daemon off; worker_processes 1; pid {files}.pid; error_log {files}.log;\n"
        "events { worker_connections 20000; }\n"
        "http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n"
    )


@contextmanager
def origin(folder: Path) -> Iterator[int]:
    """Serve the objects by HTTP/1.1 from the clients' core, fresh for an hour; gives the port."""
    files = folder / "files"
    files.mkdir()
    # nginx's worker is another user.
    folder.chmod(0o755)
    for size, _ in OBJECTS.values():
        (files / str(size)).write_bytes(os.urandom(size))
    port, config = free_port(), folder / "origin.conf"
    server = f"server {{ listen 127.0.0.1:{port}; root {files}; expires 1h; }} }}\n"
    config.write_text(nginx_for_all(folder / "origin") + server)
    with running([str(program("nginx")), "-c", str(config)], port, CLIENT_CORE):
        yield port


@contextmanager
def started(run: Proxy, tls: bool) -> Iterator[Running]:
    """Run a proxy on a free port."""
    port = free_port()
    with running(run(port, tls), port) as server:
        yield server


def in_turns(proxies: dict[str, Proxy], tls: bool, size: int, requests: int) -> dict[str, list[float]]:
    """Take each proxy in turn, round after round; gives microseconds per request of each round."""
    rounds: dict[str, list[float]] = {proxy: [] for proxy in proxies}
    for _ in range(ROUNDS):
        for proxy, run in proxies.items():
            with started(run, tls) as server:
                h2load(server, tls, size, requests // 10)
                rounds[proxy].append(h2load(server, tls, size, requests))
    return rounds


def table(title: str, rounds: dict[str, list[float]], reference: str) -> None:
    """Write the rounds of each as a line, beside those of the one that is the measure."""
    print(f"{title}:\n\n| | median | range | against {reference} |\n|---|---|---|---|")
    against = statistics.median(rounds[reference])
    print("\n".join(row(name, each, against) for name, each in rounds.items()), end="\n\n", flush=True)


def relay(bench: Bench) -> None:
    """Hold the proxies against each other, without a cache."""
    print("## Processor time of the proxy per request: HTTP/2 in front, HTTP/1.1 behind, no cache\n")
    print(f"{CLIENTS} connections of {STREAMS} streams each, {ROUNDS} rounds in turns. Microseconds.\n")
    reference = "h2o" if "h2o" in bench.proxies else "loadstone edge"
    for tls in (True, False):
        for name, (size, requests) in OBJECTS.items():
            rounds = in_turns(bench.proxies, tls, size, requests)
            table(f"{name}, {'TLS 1.3' if tls else 'plaintext'}", rounds, reference)


def latency(bench: Bench) -> None:
    """Measure how long a client waits that has one request at a time."""
    size, requests = OBJECTS["10 KB"]
    print("## Latency\n")
    print(f"10 KB, TLS 1.3, {CLIENTS} connections, each with one request at a time. Milliseconds.\n")
    print("| | 50 % | 99 % | 99.9 % | requests/s |\n|---|---|---|---|---|")
    for proxy, run in bench.proxies.items():
        took: list[float] = []
        spans: list[float] = []
        for number in range(ROUNDS):
            log = bench.folder / f"{proxy.split()[0]}{number}.log"
            with started(run, tls=True) as server:
                h2load(server, True, size, requests // 10, streams=1)
                h2load(server, True, size, requests, f"--log-file={log}", streams=1)
            lines = [line.split("\t") for line in log.read_text().splitlines()]
            took += [int(line[2]) / 1000 for line in lines]
            begun = [int(line[0]) for line in lines]
            spans.append((max(begun) - min(begun)) / 1e6)
        took.sort()
        cells = [f"{took[int(len(took) * part)]:.2f}" for part in (0.5, 0.99, 0.999)]
        print(f"| {proxy} | {' | '.join(cells)} | {requests / statistics.median(spans):,.0f} |", flush=True)
    print()


def cached(bench: Bench) -> None:
    """Hold what a cache answers against what is relayed."""
    print("## Processor time of the proxy per request: what its cache has\n")
    print("As above, 10 KB; the first request brings it. nginx's cache is a folder, ours is memory.\n")
    size, requests = OBJECTS["10 KB"]

    def hits(port: int, tls: bool) -> list[str]:
        return bench.edge(port, tls, "--cache", "100000000")

    for tls in (True, False):
        proxies: dict[str, Proxy] = {"relayed": bench.edge, "hit": hits}
        if program("nginx"):
            proxies |= {"nginx, hit": bench.nginx_cache}
        table(f"{'TLS 1.3' if tls else 'plaintext'}", in_turns(proxies, tls, size, requests), "relayed")


def protocols(bench: Bench) -> None:
    """Hold SPDY/3.1 and HTTP/1.1 in front against HTTP/2, all by our own client."""
    print("## SPDY/3.1, HTTP/1.1 and HTTP/2 in front, all by `loadstone fetch`\n")
    print("One connection, 100 streams, plaintext. Microseconds of the proxy per request.\n")
    for name, (size, requests) in OBJECTS.items():
        rounds: dict[str, list[float]] = {"h2": [], "spdy/3.1": [], "http/1.1+pipelining": []}
        for _ in range(ROUNDS):
            for protocol, each in rounds.items():
                port, served = free_port(), protocol.removesuffix("+pipelining")
                with running(bench.edge(port, False, "--protocol", served), port) as server:
                    each.append(fetch(server, protocol, size, requests))
        table(name, rounds, "h2")


def behind(bench: Bench) -> None:
    """Hold HTTP/2 behind against HTTP/1.1."""
    print("## HTTP/2 behind\n")
    print("HTTP/2 over TLS in front, plaintext behind; `loadstone serve` is the origin.\n")
    files = bench.folder / "files"
    for name, (size, requests) in OBJECTS.items():
        rounds: dict[str, list[float]] = {"http/1.1": [], "h2": []}
        for _ in range(ROUNDS):
            for protocol, each in rounds.items():
                port, way = free_port(), ["--plaintext", "--protocol", protocol]
                serve = [*LOADSTONE, "serve", str(files), "--listen", f"127.0.0.1:{port}", *way]
                with running(serve, port, CLIENT_CORE):
                    of_this = Bench(bench.folder, port)

                    def run(port: int, tls: bool, of: Bench = of_this, behind: str = protocol) -> list[str]:
                        return of.edge(port, tls, "--origin-protocol", behind)

                    with started(run, tls=True) as server:
                        h2load(server, True, size, requests // 10)
                        each.append(h2load(server, True, size, requests))
        table(name, rounds, "http/1.1")


def memory(bench: Bench) -> None:
    """Open connections and leave them."""
    print("## Memory per idle connection\n")
    print(f"{CONNECTIONS:,} connections of HTTP/2, SETTINGS exchanged, nothing asked.")
    print("KB of the proxy's resident memory per connection.\n")
    print("| | plaintext | TLS 1.3 |\n|---|---|---|")
    for proxy, run in bench.proxies.items():
        cells = []
        for tls in (None, any_certificate()):
            with started(run, tls is not None) as server:
                cells.append(f"{idle(server, CONNECTIONS, tls):.1f}")
        print(f"| {proxy} | {cells[0]} | {cells[1]} |", flush=True)
    print()


def versions(bench: Bench) -> str:
    """Say which programs were measured."""
    asked = {"h2o": "--version", "nghttpx": "--version", "nginx": "-v"}
    said = []
    for name in bench.proxies.keys() & asked.keys():
        done = subprocess.run([str(program(name)), asked[name]], capture_output=True, text=True, check=True)
        number = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
        said.append(f"{name} {number[0] if number else ''}")
    return ", ".join(sorted(said))


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {part.__name__: part for part in (relay, latency, cached, protocols, behind, memory)}
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="which of them; all, if none is named")
    chosen = parser.parse_args().parts or list(parts)
    if not program("nginx"):
        raise SystemExit("nginx is not there, which is the origin: install nginx-light")
    needs_many_files()
    print("# What relaying costs\n\nMade by `studies/serving/relaying.py`, which says how.\n")
    with tempfile.TemporaryDirectory() as folder:
        certify(Path(folder))
        with origin(Path(folder)) as port:
            bench = Bench(Path(folder), port)
            print(f"The others: {versions(bench)}.\n", flush=True)
            for part in chosen:
                parts[part](bench)


if __name__ == "__main__":
    main()
