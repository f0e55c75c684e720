"""`loadstone edge` as a process, in front of `loadstone serve`, and other people's clients."""

import http.server
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from conftest import Command, need
from test_serving import VAIN, Served, all_served, curl

Run = Callable[..., Served]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with all_served(tmp_path) as begin:
        yield lambda verb, *arguments: begin(*arguments, verb=verb)


@pytest.fixture
def origin(run: Run) -> str:
    served = run("serve", "--patterns", "--plaintext")
    return f"http://127.0.0.1:{served.port}"


def pattern(length: int) -> bytes:
    return bytes((131 * i + 7 * (i // 256) + 13) % 256 for i in range(length))


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_gets_what_the_origin_has_by_the_name_that_it_asks_for(
    run: Run, origin: str, tmp_path: Path, version: str
) -> None:
    edge = run("edge", "--origin", f"a.test={origin}", "--save-ca", "ca.pem", "--access-log", "edge.log")
    assert edge.lines == [
        "h2, spdy/3.1, spdy/3, spdy/2, http/1.1",
        f"https://a.test:{edge.port}/ from {origin}",
        f"listening on 127.0.0.1:{edge.port}",
    ]
    trusting = ["--cacert", tmp_path / "ca.pem", "--resolve", f"a.test:{edge.port}:127.0.0.1", version]
    base = f"https://a.test:{edge.port}"
    assert curl(*trusting, f"{base}/bytes/70000") == pattern(70_000)
    (tmp_path / "upload").write_bytes(pattern(1_500_000))
    # So large an upload asks first (Expect: 100-continue).
    sent = curl(*trusting, "--data-binary", f"@{tmp_path / 'upload'}", f"{base}/echo")
    assert sent == pattern(1_500_000)
    other = curl("--cacert", tmp_path / "ca.pem", version, f"https://localhost:{edge.port}/")
    assert other.startswith(b"421: this edge serves no host of this name")
    assert edge.stop(signal.SIGTERM) == (0, "", "")
    lines = [json.loads(line) for line in (tmp_path / "edge.log").read_text().splitlines()]
    shown = [(line["path"], line["status"], line["bytes"]) for line in lines if "path" in line]
    assert shown == [("/bytes/70000", 200, 70_000), ("/echo", 200, 1_500_000), ("/", 421, len(other))]


def test_as_a_proxy_it_goes_where_curl_says_as_far_as_its_scope_goes(run: Run, origin: str) -> None:
    by_name = origin.replace("127.0.0.1", "localhost")
    near = run("edge", "--plaintext", "--forward", "loopback")
    assert near.lines[1] == "http://... of this machine, for clients whose proxy it is"
    proxy = ["--noproxy", "", "--proxy", f"http://127.0.0.1:{near.port}"]
    assert curl(*proxy, f"{by_name}/bytes/70000") == pattern(70_000)
    assert curl(*proxy, f"http://127.0.0.1:{near.port}/").startswith(b"403: ")
    far = run("edge", "--plaintext", "--forward", "public", "--origin", f"a.test={origin}")
    proxy = ["--noproxy", "", "--proxy", f"http://127.0.0.1:{far.port}"]
    assert curl(*proxy, "http://a.test/bytes/5") == pattern(5)
    for url in (by_name, origin, "http://169.254.169.254/latest/meta-data/"):
        assert curl(*proxy, url).startswith(b"403: this edge may not go to where this name leads")
    assert [one.stop() for one in (near, far)] == [(0, "", "")] * 2


@pytest.mark.parametrize("protocol", ["http/1.1", "spdy/2", "spdy/3", "spdy/3.1", "h2"])
def test_clients_of_every_protocol_get_it_at_any_rate(run: Run, origin: str, protocol: str) -> None:
    edge = run("edge", "--origin", f"localhost={origin}", "--plaintext", "--protocol", protocol)
    url = f"http://localhost:{edge.port}/bytes/20000"
    place = f"localhost:{edge.port}:127.0.0.1"
    asking = ["fetch", url, "--protocol", protocol, "--repeat", "300", "--resolve", place, "--json"]
    fetched = subprocess.run(
        [sys.executable, "-m", "loadstone", *asking], check=True, capture_output=True, text=True, timeout=VAIN
    )
    assert fetched.stdout.count('"status":200') == 300
    assert edge.stop() == (0, "", "")


def test_a_file_has_all_settings_and_options_come_before_it(run: Run, origin: str, tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    need("openssl")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=a.test -addext subjectAltName=DNS:a.test"
    )
    subprocess.run(
        [*command.split(), "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True,
        capture_output=True,
    )
    (folder / "edge.toml").write_text(
        f"""
        [front]
        listen = "127.0.0.1:1"
        cert = "cert.pem"
        key = "key.pem"
        idle = 5

        [origins]
        "a.test" = "{origin}"
        "b.test" = "http://127.0.0.1:1"

        [behind]
        connections = 2
        """
    )
    edge = run("edge", str(folder / "edge.toml"), "--origin", f"b.test={origin}")
    for name in ("a.test", "b.test"):
        place = ["--resolve", f"{name}:{edge.port}:127.0.0.1"]
        trust = ["--cacert", folder / "cert.pem"] if name == "a.test" else ["--insecure"]
        assert curl(*place, *trust, f"https://{name}:{edge.port}/bytes/5") == pattern(5)


def test_an_origin_by_https_is_known_by_its_certificate(run: Run, tmp_path: Path) -> None:
    served = run("serve", "--patterns", "--save-ca", "origin.pem")
    url = f"https://localhost:{served.port}"
    trusting = ["--cacert", str(tmp_path / "origin.pem")]
    for options, expected in [(trusting, pattern(5)), ([], b"502: the origin cannot be reached")]:
        edge = run("edge", "--origin", f"localhost={url}", "--plaintext", *options)
        assert curl(f"http://localhost:{edge.port}/bytes/5").startswith(expected)


@pytest.mark.parametrize(
    ("asked", "offered", "spoken"),
    [("h2", None, "h2"), ("http/1.1", None, "http/1.1"), ("h2", "http/1.1", "http/1.1")],
)
def test_edge_and_origin_agree_by_alpn_on_what_is_spoken(
    run: Run, tmp_path: Path, asked: str, offered: str | None, spoken: str
) -> None:
    only = ["--protocol", offered] if offered else []
    served = run("serve", "--patterns", "--save-ca", "origin.pem", "--access-log", "origin.log", *only)
    behind = ["--origin-protocol", asked, "--cacert", str(tmp_path / "origin.pem")]
    origin = f"localhost=https://localhost:{served.port}"
    edge = run("edge", "--origin", origin, "--plaintext", "--protocol", "h2", *behind)
    base = f"http://localhost:{edge.port}"
    asking = ["fetch", f"{base}/bytes/20000", "--protocol", "h2", "--repeat", "300", "--json"]
    fetched = subprocess.run(
        [sys.executable, "-m", "loadstone", *asking], check=True, capture_output=True, text=True, timeout=VAIN
    )
    assert fetched.stdout.count('"status":200') == 300
    (tmp_path / "upload").write_bytes(pattern(1_500_000))
    sent = curl("--http2-prior-knowledge", "--data-binary", f"@{tmp_path / 'upload'}", f"{base}/echo")
    assert sent == pattern(1_500_000)
    assert [one.stop() for one in (edge, served)] == [(0, "", "")] * 2
    lines = [json.loads(line) for line in (tmp_path / "origin.log").read_text().splitlines()]
    asked_for = [line for line in lines if "path" in line]
    assert {line["protocol"] for line in asked_for} == {spoken} and len(asked_for) == 301
    assert (len({line["connection"] for line in asked_for}) == 1) == (spoken == "h2")


def test_an_origin_in_plain_tcp_speaks_what_the_edge_is_told(run: Run, tmp_path: Path) -> None:
    served = run("serve", "--patterns", "--plaintext", "--protocol", "h2")
    (tmp_path / "edge.toml").write_text(
        f"""
        [front]
        transport = "plaintext"
        protocol = "http/1.1"
        [origins]
        localhost = "http://127.0.0.1:{served.port}"
        [behind]
        protocol = "h2"
        """
    )
    edge = run("edge", str(tmp_path / "edge.toml"))
    assert curl(f"http://localhost:{edge.port}/bytes/70000") == pattern(70_000)


def test_a_signal_lets_what_is_under_way_come_to_its_end(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as origin:
        edge = run("edge", "--origin", f"a.test=http://127.0.0.1:{origin.getsockname()[1]}", "--plaintext")
        with socket.create_connection(("127.0.0.1", edge.port), VAIN) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            behind, _ = origin.accept()
            with behind:
                behind.recv(4096)
                edge.process.send_signal(signal.SIGTERM)
                behind.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                assert client.makefile("rb").read().endswith(b"ok")
        assert edge.process.wait(VAIN) == 0


class Dated(http.server.BaseHTTPRequestHandler):
    """An origin whose responses are fresh for a minute, but for `/private`; it counts requests."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Answer with the number of the request."""
        self.asked.append(self.path)
        content = str(len(self.asked)).encode()
        self.send_response(200)
        self.send_header("Cache-Control", "private" if self.path == "/private" else "max-age=60")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def test_what_is_fresh_comes_from_the_cache_and_the_log_says_so(run: Run, tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dated) as origin:
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{origin.server_port}"
        (tmp_path / "edge.toml").write_text("[cache]\nbytes = 1_000_000\nobject = 1000")
        options = ["--origin", f"localhost={url}", "--plaintext", "--access-log", "edge.log"]
        edge = run("edge", str(tmp_path / "edge.toml"), *options)
        base = f"http://localhost:{edge.port}"
        got = [curl(f"{base}{path}") for path in ("/", "/", "/private", "/private", "/", "/?x")]
        assert got == [b"1", b"1", b"2", b"3", b"1", b"4"]
        assert b"cache-status: loadstone; hit; ttl=" in curl("-i", f"{base}/")
        assert edge.stop() == (0, "", "")
        origin.shutdown()
    lines = [json.loads(line) for line in (tmp_path / "edge.log").read_text().splitlines()]
    said = [line["cache"] for line in lines if "path" in line]
    assert said == ["miss", "hit", "miss", "miss", "hit", "miss", "hit"]


BAD_USAGE = {
    "edge": ["--origin", "a.test=http://127.0.0.1:8080"],
    "edge --origin a.test": ["--origin", "NAME=URL"],
    "edge --origin a.test=127.0.0.1": ["origins.a.test", "write http:// or https://"],
    "edge --origin a/b=http://127.0.0.1": ["'a/b' is no name of a host"],
    "edge --origin a.test=http://none.invalid": ["none.invalid", "give its address"],
    "edge --origin a.test=http://127.0.0.1 --listen here": ["cannot listen on here", "HOST:PORT"],
    "edge --origin a.test=http://127.0.0.1 --origin-timeout 0": ["--origin-timeout", "1 to 86400"],
    "edge --origin a.test=http://127.0.0.1 --client-share 101": ["--client-share", "1 to 100"],
    "edge --origin a.test=http://127.0.0.1 --origin-check health": ["--origin-check", "'health' is no path"],
    "edge --origin a.test=http://127.0.0.1 --cache-object 0": ["--cache-object", "1 to 1000000000"],
    "edge --origin a.test=http://127.0.0.1 --protocol h3": ["--protocol", "h2, spdy/3.1"],
    "edge --origin a.test=http://127.0.0.1 --plaintext --key a": ["--key", "--plaintext"],
    "edge --forward everywhere": ["--forward", "'everywhere'", "public", "loopback"],
    "edge --forward public --listen 0.0.0.0:0": ["--forward: it goes where its clients say", "127.0.0.1"],
    "edge none.toml": ["none.toml: there is no such file"],
    "edge list.toml": ["list.toml: front: a table is wanted", "[front]"],
    "edge path.toml": ["path.toml: front.cert: the path of a file is wanted"],
    "edge colour.toml": ["colour.toml: front.colour", "there is no field"],
    "edge table.toml": ["table.toml: bahind: there is no field"],
    "edge half.toml": ["half.toml: front.key: a certificate and its key belong together"],
    "edge text.toml": ["text.toml: not the settings of an edge", "line 2"],
    "edge lost.toml": ["lost.pem: there is no such file"],
    "edge deep.toml": ["deep.toml: behind.connections", "1 to 10000"],
    "edge none-of-it.toml": ["none-of-it.toml: origins.a.test: no URL"],
    "edge number.toml": ["number.toml: origins.a.test", "a URL, or a list of URLs"],
}
FILES = {
    "list": "front = 3",
    "path": "[front]\ncert = 3",
    "colour": '[front]\ncolour = "red"\n[origins]\n"a.test" = "http://127.0.0.1"',
    "table": '[bahind]\nconnections = 1\n[origins]\n"a.test" = "http://127.0.0.1"',
    "half": '[front]\nkey = "half.toml"',
    "text": "[front]\nlisten",
    "lost": '[behind]\ncacert = "lost.pem"',
    "none-of-it": '[origins]\n"a.test" = []',
    "number": '[origins]\n"a.test" = 3',
    "deep": '[behind]\nconnections = 0\n[origins]\n"a.test" = "http://127.0.0.1"',
}


@pytest.mark.parametrize("line", BAD_USAGE)
def test_bad_usage_is_one_line_with_the_place_and_the_remedy(
    loadstone: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    result = loadstone(*line.split())
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    for expected in BAD_USAGE[line]:
        assert expected in result.err, result.err
