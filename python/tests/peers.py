"""Servers and clients, ours and of others, all called alike: what they are asked and what has to come."""

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from conftest import ROOT, leave_out, need

INTEROP = ROOT / "interop"
MADE = ROOT / "target" / "interop"
LOADSTONE = [sys.executable, "-m", "loadstone"]
CONCURRENCY = 100
# Seconds. Nothing here takes so long unless it waits for nothing.
VAIN = 60

Words = Sequence[str | Path]


class Way(NamedTuple):
    """How two programs talk: `transport` is `tls` or `plain`."""

    protocol: str
    transport: str

    def url(self, address: str, path: str) -> str:
        return f"{'https' if self.transport == 'tls' else 'http'}://{address}{path}"


class Identity(NamedTuple):
    """A certificate that signs itself, and its key."""

    certificate: Path
    key: Path


class Request(NamedTuple):
    method: str
    path: str
    body: Path | None = None


class Response(NamedTuple):
    path: str
    status: int
    size: int
    sha256: str
    pushed: bool = False


_PERIOD = bytes((131 * i + 7 * (i // 256) + 13) % 256 for i in range(65_536))


def pattern(size: int) -> bytes:
    """Give what bodies of this size consist of, by the definition in interop/README.md."""
    return (_PERIOD * (size // len(_PERIOD) + 1))[:size]


@cache
def sha256(size: int) -> str:
    return hashlib.sha256(pattern(size)).hexdigest()


def wanted(request: Request) -> Response:
    """Give what has to come of a request, without what is pushed with it."""
    path = request.path
    if request.body is not None:
        body = request.body.read_bytes()
        return Response(path, 200, len(body), hashlib.sha256(body).hexdigest())
    _, what, *number = path.split("/")
    if request.method == "HEAD" or what not in ("bytes", "push"):
        return Response(path, 200 if number else 404, 0, sha256(0))
    size = int(number[0]) if what == "bytes" else 500
    return Response(path, 200, size, sha256(size))


def pushes(count: int) -> list[Response]:
    """Give what has to be pushed with `/push/COUNT`."""
    return [Response(f"/pushed/{at}", 200, 1000 + at, sha256(1000 + at), True) for at in range(count)]


def objects() -> list[Request]:
    """Give a thousand objects: many small ones, some large ones, and lengths at edges; 16 MB in all."""
    chance = random.Random("objects")
    edges = [0, 0, 1, 255, 256, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 131_072, 300_000]
    sizes = edges + [int(300_000 * chance.random() ** 18) for _ in range(1000 - len(edges))]
    chance.shuffle(sizes)
    return [Request("GET", f"/bytes/{size}") for size in sizes]


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def differences(came: Iterable[Response], due: Iterable[Response]) -> list[str]:
    """Say what came without being due, and what is missing; of a long list the beginning."""
    have, need = Counter(came), Counter(due)
    said = [f"came: {response}" for response in have - need]
    said += [f"is missing: {response}" for response in need - have]
    return said[:10]


class Server:
    """A process that serves. It says where in a line of its own, or listens where it was told to."""

    def __init__(
        self, command: Words, environment: dict[str, str] | None = None, port: int | None = None
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [str(word) for word in command],
            env=os.environ | (environment or {}),
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        watch = threading.Timer(VAIN, self._process.kill)
        watch.start()
        self.address = self._said() if port is None else self._found(port)
        watch.cancel()

    def _said(self) -> str:
        said = next((line for line in self._process.stdout if line.startswith("listening on ")), None)
        assert said is not None, self._why()
        return said.split()[-1]

    def _found(self, port: int) -> str:
        """Ask until a server listens there, if it does not say when it does."""
        while self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return f"127.0.0.1:{port}"
            except ConnectionRefusedError:
                os.sched_yield()
        raise AssertionError(self._why())

    def _why(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def stop(self) -> None:
        with self._process:
            self._process.kill()
        self._errors.close()


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def run(command: Words, given: str = "", environment: dict[str, str] | None = None) -> str:
    """Run a program to its end, which has to be a good one; gives what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        input=given,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        timeout=VAIN,
        check=False,
    )
    assert done.returncode == 0, f"{words[:6]}: {done.stdout[-500:]}\n{done.stderr[-2000:]}"
    return done.stdout


@dataclass(frozen=True)
class Foreign:
    """A program in interop/: how its server and its client are called (interop/README.md)."""

    name: str
    mark: Path
    server: Words
    client: Words
    programs: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict, compare=False)

    def check(self) -> None:
        """Leave the test out if it cannot run here."""
        for program in self.programs:
            need(program)
        if not self.mark.exists():
            leave_out(f"no {self.mark.relative_to(ROOT)}: run scripts/interop, which says why")

    def serve(self, way: Way, identity: Identity) -> Server:
        self.check()
        # A server notices that requests are pipelined, or does not.
        protocol = way.protocol.removesuffix("+pipelining")
        tls = identity if way.transport == "tls" else ()
        return Server([*self.server, protocol, way.transport, *tls], self.environment)

    def fetch(self, way: Way, address: str, requests: Sequence[Request]) -> list[Response]:
        self.check()
        lines = "".join(f"{method} {path} {body or ''}\n" for method, path, body in requests)
        out = run([*self.client, *way, address, str(CONCURRENCY)], lines, self.environment)
        fields = ("path", "status", "bytes", "sha256", "pushed")
        return [Response(*map(json.loads(line).get, fields)) for line in out.splitlines()]


_NODE = ["node", "--no-deprecation"]
# Quick to begin: none of them lives long.
_JAVA = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
_JAVA += ["-cp", f"{MADE}/java/classes:{MADE}/java/jars/*", "Peer"]

NODE = Foreign(
    "npm-spdy",
    MADE / "node.made",
    [*_NODE, INTEROP / "node" / "server.js"],
    [*_NODE, INTEROP / "node" / "client.js"],
    ["node"],
    {"NODE_PATH": str(MADE / "node" / "node_modules")},
)
GO = Foreign(
    "spdystream",
    MADE / "go.made",
    [MADE / "go" / "spdystream", "serve"],
    [MADE / "go" / "spdystream", "fetch"],
)
# A client that tests servers of HTTP/2; made with spdystream's.
H2SPEC = MADE / "go" / "h2spec"
NETTY = Foreign("netty", MADE / "java.made", [*_JAVA, "serve"], [*_JAVA, "fetch"], ["java"])


class Ours:
    """`loadstone serve` and `loadstone fetch`."""

    name = "loadstone"

    def serve(self, way: Way, identity: Identity) -> Server:
        command = [*LOADSTONE, "serve", "--patterns", "--listen", "127.0.0.1:0", "--protocol", way.protocol]
        if way.transport == "plain":
            return Server([*command, "--plaintext"])
        return Server([*command, "--cert", identity.certificate, "--key", identity.key])

    def fetch(self, way: Way, address: str, requests: Sequence[Request]) -> list[Response]:
        """Fetch by one command, over one connection, all that has one method and one body."""
        kinds: dict[tuple[str, Path | None], list[str]] = {}
        for method, path, body in requests:
            kinds.setdefault((method, body), []).append(way.url(address, path))
        came: list[Response] = []
        for (method, body), urls in kinds.items():
            data = [] if body is None else ["--data", body]
            came += self._fetch(way, ["--urls", "-", "--method", method, "--push", *data], "\n".join(urls))
        return came

    def _fetch(self, way: Way, options: Words, given: str = "") -> list[Response]:
        command = [*LOADSTONE, "fetch", "--json", "--insecure", "--protocol", way.protocol, *options]
        if way.protocol.startswith("http/1.1"):
            read = json.loads(run([*command, "--connections", "6"], given))
        else:
            read = json.loads(run([*command, "--concurrency", str(CONCURRENCY), "--ping"], given))
            # One connection was enough, and the other end answered a PING.
            [connection] = read["connections"]
            assert connection["round_trip_ms"] is not None
        assert {connection["protocol"] for connection in read["connections"]} == {way.protocol}
        return [
            Response(path_of(one["url"]), one["status"], one["bytes"], one["sha256"], one["pushed"])
            for one in read["responses"]
        ]


OURS = Ours()
