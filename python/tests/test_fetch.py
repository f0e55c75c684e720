"""Fetching as a user meets it: from servers of other people's, and what is said when something is wrong."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import Command, need
from loadstone import protocols
from test_serving import Served

LOADSTONE = [sys.executable, "-m", "loadstone"]
PATIENCE = 30
"""Seconds; longer than anything here takes."""

SMALL = b"small\n"
LARGE = bytes(range(256)) * 1000


class Handler(BaseHTTPRequestHandler):
    """Answers GET with one of two bodies, POST with what it was sent."""

    protocol_version = "HTTP/1.1"
    # Head and body are two writes: the second would wait for the first one to be acknowledged.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer(404 if "missing" in self.path else 200, LARGE if "large" in self.path else SMALL)

    def do_POST(self) -> None:
        self._answer(201, self.rfile.read(int(self.headers["content-length"])))

    def do_PUT(self) -> None:
        self.do_POST()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("x-said", f"{self.command} {self.headers.get('x-given', '')}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve by Python's own HTTP/1.1 on a port of its own."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        # Its threads would wait for connections that no one closes.
        httpd.daemon_threads = True
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


@pytest.fixture
def fetch(loadstone: Command) -> Command:
    return lambda *arguments: loadstone("fetch", *arguments)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def test_the_document_says_what_came_and_when(server: str, fetch: Command) -> None:
    came = fetch(f"{server}/small", f"{server}/large?x", f"{server}/missing", "--json")
    assert (came.code, came.err) == (0, "")
    document = came.document
    assert [response["status"] for response in document["responses"]] == [200, 200, 404]
    assert [response["bytes"] for response in document["responses"]] == [len(SMALL), len(LARGE), len(SMALL)]
    assert [response["sha256"] for response in document["responses"]] == [
        _sha256(body) for body in (SMALL, LARGE, SMALL)
    ]
    (connection,) = document["connections"]
    assert (connection["origin"], connection["protocol"], connection["tls"]) == (server, "http/1.1", None)
    assert connection["sent_bytes"] > 150 and connection["failure"] is None
    for response in document["responses"]:
        marks = [response[mark] for mark in ("asked_ms", "sent_ms", "first_byte_ms", "last_byte_ms")]
        assert marks == sorted(marks) and marks[0] >= connection["established_ms"]
        assert ["x-said", "GET"] in response["headers"]
        assert (response["connection"], response["pushed"], response["failure"]) == (0, False, None)
    assert document["responses"][1]["url"] == f"{server}/large?x"
    assert document["requests_per_second"] > 0 and document["cpu_ms"] > 0


@pytest.mark.parametrize("protocol", ["http/1.1", "http/1.1+pipelining"])
def test_each_is_asked_for_as_often_as_is_said_on_as_many_connections(
    server: str, fetch: Command, protocol: str
) -> None:
    chosen = ["--repeat", "20", "--connections", "3", "--protocol", protocol]
    came = fetch(f"{server}/small", f"{server}/large", *chosen, "--json")
    assert came.code == 0
    responses = came.document["responses"]
    assert [response["sha256"] for response in responses] == [_sha256(SMALL), _sha256(LARGE)] * 20
    assert len(came.document["connections"]) == (3 if protocol == "http/1.1" else 1)


def test_the_table_says_it_to_people(server: str, fetch: Command) -> None:
    came = fetch(f"{server}/small", f"{server}/small", "--repeat", "60")
    assert came.code == 0
    lines = came.out.splitlines()
    assert len(lines) == 1 + 100 + 1 + 1 + 1 + 2 and lines[0].split()[:4] == [
        "url",
        "status",
        "bytes",
        "sha256",
    ]
    assert "... and 20 more" in came.out and _sha256(SMALL)[:12] in lines[1]
    assert lines[-1].startswith("120 responses, 0 failed, 720 B in ") and "connection 0: " in came.out


def test_a_body_and_headers_go_up_as_they_are(server: str, fetch: Command, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(LARGE)
    given = ["--data", str(file), "--header", "x-given: a: b", "--json"]
    came = fetch(f"{server}/", *given)
    (response,) = came.document["responses"]
    assert (response["status"], response["sha256"]) == (201, _sha256(LARGE))
    assert ["x-said", "POST a: b"] in response["headers"]
    assert ["x-said", "PUT a: b"] in fetch(f"{server}/", *given, "--method", "PUT").document["responses"][0][
        "headers"
    ]
    piped = subprocess.run(
        [*LOADSTONE, "fetch", f"{server}/", "--data", "-", "--json"],
        input=SMALL, capture_output=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert json.loads(piped.stdout)["responses"][0]["sha256"] == _sha256(SMALL)


def test_urls_come_from_a_file_and_bodies_go_to_files(server: str, fetch: Command, tmp_path: Path) -> None:
    listed = tmp_path / "urls"
    listed.write_text(f"# two\n{server}/a/small.txt 0i\n\n{server}/large\n")
    came = fetch(f"{server}/", "--urls", str(listed), "--output", str(tmp_path / "out" / "deep"), "--json")
    assert came.code == 0
    names = [response["file"] for response in came.document["responses"]]
    assert names == ["00000-index", "00001-small.txt", "00002-large"]
    assert [(tmp_path / "out" / "deep" / name).read_bytes() for name in names] == [SMALL, SMALL, LARGE]
    mine = tmp_path / "out" / "deep" / "00000-index"
    mine.write_bytes(b"mine")
    again = fetch(f"{server}/", "--output", mine.parent, "--json")
    assert again.code == 1 and mine.read_bytes() == b"mine"
    assert "was not written" in again.document["responses"][0]["failure"]


def test_names_are_resolved_as_is_said(server: str, fetch: Command) -> None:
    port = server.rsplit(":", 1)[1]
    came = fetch(f"http://A.test:{port}/small", "--resolve", f"a.test:{port}:127.0.0.1", "--json")
    assert came.code == 0
    assert came.document["connections"][0]["origin"] == f"http://a.test:{port}"


def test_what_fails_is_said_and_takes_nothing_from_the_rest(server: str, fetch: Command) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        came = fetch(nobody, f"{server}/small", "http://nobody.invalid/", "--json")
        assert came.code == 1
        refused, fine, unknown = came.document["responses"]
        assert "refused" in refused["failure"] and "see that a server listens" in refused["failure"]
        assert (fine["sha256"], fine["failure"]) == (_sha256(SMALL), None)
        assert "--resolve" in unknown["failure"] and unknown["connection"] is None
        shown = fetch(nobody, f"{server}/small")
        assert shown.code == 1 and f"failed: {nobody}: cannot connect" in shown.out
        assert "\n1 response, 1 failed, " in shown.out
        nothing = fetch(nobody)
        lines = nothing.out.splitlines()
        assert lines[-1].startswith("0 responses, 1 failed in ") and "a second" not in nothing.out


def test_a_server_without_tls_is_told_from_one_with(server: str, fetch: Command) -> None:
    came = fetch(server.replace("http:", "https:"), "--insecure", "--json")
    assert came.code == 1 and "TLS" in came.document["responses"][0]["failure"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "there is no URL"),
        (["a.test"], "'a.test' is no URL"),
        (["http://a.test/", "--protocol", "h3"], "unknown protocol 'h3'"),
        (["http://a.test/", "--priority", "8"], "'8' is no priority"),
        (["http://a.test/", "--priority", "1", "--priority", "2"], "2 for 1 URL"),
        (["http://a.test/", "--header", "x"], "write 'name: value'"),
        (["http://a.test/", "--header", "content-length: 1"], "leave it out"),
        (["http://a.test/", "--header", "a b: 1"], "is no header"),
        (["http://a.test/", "--method", "A B"], "is no method"),
        (["http://a.test/", "--resolve", "a.test:80"], "HOST:PORT:ADDRESS"),
        (["http://a.test/", "--tls", "1.1"], "use 1.2 or 1.3"),
        (["http://a.test/", "--data", "/no/such/file"], "no such file"),
        (["https://a.test/", "--cacert", os.devnull], "give certificates in PEM"),
        (["http://a.test/", "--repeat", "0"], "--repeat"),
        (["http://a.test/", "http://b.test/", "--repeat", "10000000"], "20000000 requests are too many"),
        (["http://a.test/", "--timeout", "0"], "--timeout"),
        (["http://a.test/", "--urls", "-", "--data", "-"], "standard input"),
        (["http://a.test/", "--output", os.devnull], "--output"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(fetch: Command, arguments: list[str], says: str) -> None:
    refused = fetch(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err and refused.err.count("\n") == 1


def test_a_line_of_a_list_that_cannot_be_meant_is_named(fetch: Command, tmp_path: Path) -> None:
    listed = tmp_path / "urls"
    listed.write_text("http://a.test/\nhttp://a.test/ 9\n")
    assert "line 2: '9' is no priority" in fetch("--urls", str(listed)).err


Held = Callable[..., "tuple[subprocess.Popen[str], socket.socket]"]


@pytest.fixture
def held() -> Iterator[Held]:
    """Start a fetch of /a and /b from a server that answers only the first."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        started: list[subprocess.Popen[str]] = []

        def start(*arguments: str) -> "tuple[subprocess.Popen[str], socket.socket]":
            at = f"http://127.0.0.1:{listener.getsockname()[1]}"
            command = [*LOADSTONE, "fetch", f"{at}/a", f"{at}/b", "--json", *arguments]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            started.append(process)
            connection, _ = listener.accept()
            connection.settimeout(PATIENCE)
            _read_head(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsmall\n")
            _read_head(connection)
            return process, connection

        yield start
        for process in started:
            process.kill()
            process.communicate()


def _read_head(connection: socket.socket) -> None:
    read = b""
    while not read.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        assert piece, "it closed"
        read += piece


def test_ctrl_c_ends_it_with_what_there_is(held: Held) -> None:
    process, connection = held()
    with connection:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    first, second = json.loads(out)["responses"]
    assert (process.returncode, err) == (130, "")
    assert (first["sha256"], second["failure"]) == (_sha256(SMALL), "interrupted")


def test_when_the_time_is_up_it_ends_with_what_there_is(held: Held) -> None:
    process, connection = held("--timeout", "2")
    with connection:
        out, _ = process.communicate(timeout=PATIENCE)
    first, second = json.loads(out)["responses"]
    assert process.returncode == 1
    assert first["failure"] is None and "allow more with --timeout" in second["failure"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate that signs itself, for a.test, and its key next to it."""
    folder = tmp_path_factory.mktemp("certificate")
    command = [need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=a.test", "-addext", "subjectAltName=DNS:a.test"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "cert.pem"


def _free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


@pytest.fixture
def nghttpd(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Start nghttpd over a folder with two files; gives its port."""
    program = need("nghttpd")
    (tmp_path / "small").write_bytes(SMALL)
    (tmp_path / "large").write_bytes(LARGE)
    started: list[subprocess.Popen[bytes]] = []

    def start(option: str, *key_and_certificate: str) -> int:
        port = _free_port()
        command = [program, "-d", str(tmp_path), "-a", "127.0.0.1", option]
        command += [str(port), *key_and_certificate] if key_and_certificate else ["--no-tls", str(port)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started.append(process)
        _wait_for(port, process)
        return port

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Ask until a server listens there: it does not say when it does."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            os.sched_yield()
    pytest.fail("the server does not listen")


def _responses(document: Any) -> list[tuple[Any, ...]]:
    return [
        (response["url"].rsplit("/", 1)[1], response["status"], response["sha256"], response["parent"])
        for response in document["responses"]
    ]


def test_nghttpd_over_tls_by_alpn_with_a_certificate_that_is_trusted(
    nghttpd: Callable[..., int], certificate: Path, fetch: Command
) -> None:
    port = nghttpd("--echo-upload", str(certificate.with_name("key.pem")), str(certificate))
    at = f"https://a.test:{port}"
    common = [f"{at}/large", f"{at}/small", "--resolve", f"a.test:{port}:127.0.0.1", "--ping", "--json"]
    came = fetch(*common, "--cacert", str(certificate), "--tls", "1.2")
    assert (came.code, came.err) == (0, "")
    expected = [("large", 200, _sha256(LARGE), None), ("small", 200, _sha256(SMALL), None)]
    assert _responses(came.document) == expected
    (connection,) = came.document["connections"]
    assert (connection["protocol"], connection["tls"]) == ("h2", "1.2")
    assert connection["round_trip_ms"] > 0
    assert _responses(fetch(*common, "--insecure", "--repeat", "200").document) == expected * 200
    untrusted = fetch(*common)
    assert untrusted.code == 1
    assert "certificate" in untrusted.document["responses"][0]["failure"].lower()


def test_nghttpd_pushes_what_it_was_told_to_if_it_may(nghttpd: Callable[..., int], fetch: Command) -> None:
    port = nghttpd("--push=/large=/small")
    at = f"http://127.0.0.1:{port}"
    came = fetch(f"{at}/large", "--protocol", "h2", "--push", "--json")
    assert _responses(came.document) == [
        ("large", 200, _sha256(LARGE), None),
        ("small", 200, _sha256(SMALL), 0),
    ]
    assert [response["pushed"] for response in came.document["responses"]] == [False, True]
    assert len(fetch(f"{at}/large", "--protocol", "h2", "--json").document["responses"]) == 1


@pytest.fixture(params=["--plaintext", "--save-ca"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], list[str]]]:
    """Start a server of one protocol, with and without TLS; gives where it is and what a fetch needs."""
    running: list[Served] = []

    def start(protocol: str) -> list[str]:
        ca = tmp_path / "ca.pem"
        how = [request.param] if request.param == "--plaintext" else [request.param, str(ca)]
        running.append(
            Served(tmp_path, ("--patterns", "--protocol", protocol.removesuffix("+pipelining"), *how))
        )
        at = f"127.0.0.1:{running[-1].port}"
        trusted = ["--protocol", protocol, "--json"]
        return (
            [f"http://{at}", *trusted] if len(how) == 1 else [f"https://{at}", *trusted, "--cacert", str(ca)]
        )

    yield start
    for served in running:
        with served.process:
            served.process.kill()


@pytest.mark.parametrize("protocol", protocols())
def test_every_protocol_with_a_server_of_ones_own(
    protocol: str, own: Callable[[str], list[str]], fetch: Command, tmp_path: Path
) -> None:
    at, *how = own(protocol)
    pattern = bytes((131 * i + 7 * (i // 256) + 13) % 256 for i in range(70_000))
    urls = [f"{at}/bytes/70000", f"{at}/bytes/0", f"{at}/nothing"]
    came = fetch(*urls, "--repeat", "50", "--ping", "--priority", "1i", *how)
    assert (came.code, came.err) == (0, "")
    expected = [(200, 70_000, _sha256(pattern)), (200, 0, _sha256(b"")), (404, *([None] * 2))]
    for at_place, response in enumerate(came.document["responses"]):
        status, size, digest = expected[at_place % 3]
        assert response["status"] == status
        assert size is None or (response["bytes"], response["sha256"]) == (size, digest)
    (connection,) = came.document["connections"]
    assert connection["protocol"] == protocol
    assert (connection["tls"] is None) == at.startswith("http:")
    (tmp_path / "up").write_bytes(LARGE)
    (echoed,) = fetch(f"{at}/echo", "--data", str(tmp_path / "up"), *how).document["responses"]
    assert (echoed["status"], echoed["sha256"]) == (200, _sha256(LARGE))
    pushed = [response["pushed"] for response in fetch(f"{at}/push/3", "--push", *how).document["responses"]]
    assert pushed == [False] + [True] * (0 if protocol.startswith("http/1.1") else 3)
    (alone,) = fetch(f"{at}/push/3", *how).document["responses"]
    assert (alone["failure"], alone["pushed"]) == (None, False)
