"""`loadstone-edge`, the edge without Python, as a process."""

import contextlib
import functools
import itertools
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import leave_out, need
from test_edge import BAD_USAGE, FILES, pattern
from test_serving import VAIN, Serve, all_served, curl, serve

__all__ = ["serve"]

PROGRAM = Path(sys.executable).parent / "loadstone-edge"


@pytest.fixture(autouse=True)
def program() -> None:
    if not PROGRAM.exists():
        leave_out("no loadstone-edge here: run 'scripts/setup tests'")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Serve]:
    with all_served(tmp_path) as begin:
        yield functools.partial(begin, command=(str(PROGRAM),))


@pytest.fixture
def origin(serve: Serve) -> str:
    return f"http://127.0.0.1:{serve('--patterns', '--plaintext').port}"


def test_its_operator_is_told_what_it_has_done(run: Serve, origin: str, tmp_path: Path) -> None:
    (tmp_path / "edge.toml").write_text(
        f'[front]\nlisten = "127.0.0.1:0"\ntransport = "plaintext"\n[origins]\n"a.test" = "{origin}"\n'
        '[cache]\nbytes = 1_000_000\n[admin]\nlisten = "127.0.0.1:0"\n'
    )
    edge = run(str(tmp_path / "edge.toml"))
    [said] = [line for line in edge.lines if line.endswith(" for its operator")]
    admin = said.removesuffix("/metrics for its operator")
    assert curl("-H", "Host: a.test", f"http://127.0.0.1:{edge.port}/bytes/1000") == pattern(1000)
    metrics = curl(f"{admin}/metrics").decode()
    assert 'loadstone_edge_requests_total{protocol="http/1.1",status="2xx",' in metrics
    assert f'loadstone_edge_origin_connections{{origin="{origin}",state="open"}} 1' in metrics
    assert curl(f"{admin}/health") == b"serving\n"
    assert curl("-X", "POST", f"{admin}/purge?host=a.test").endswith(b" forgotten\n")


def test_it_relays_as_its_file_and_its_options_say(run: Serve, origin: str, tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    settings = f'[front]\naccess_log = "edge.log"\n[origins]\n"a.test" = "{origin}"\n[simulated]\n'
    (folder / "edge.toml").write_text(settings)
    edge = run(str(folder / "edge.toml"), "--origin", f"b.test={origin}", "--save-ca", "ca.pem")
    assert edge.lines == [
        "h2, spdy/3.1, spdy/3, spdy/2, http/1.1",
        f"https://a.test:{edge.port}/ from {origin}",
        f"https://b.test:{edge.port}/ from {origin}",
        f"listening on 127.0.0.1:{edge.port}",
    ]
    for name in ("a.test", "b.test"):
        place = ["--cacert", tmp_path / "ca.pem", "--resolve", f"{name}:{edge.port}:127.0.0.1", "--http2"]
        assert curl(*place, f"https://{name}:{edge.port}/bytes/70000") == pattern(70_000)
    assert edge.stop(signal.SIGTERM) == (0, "", "")
    # It stands beside the file that names it.
    lines = [json.loads(line) for line in (folder / "edge.log").read_text().splitlines()]
    assert [line["host"].partition(":")[0] for line in lines if "path" in line] == ["a.test", "b.test"]


def test_a_signal_lets_what_is_under_way_come_to_its_end_and_a_second_one_does_not(run: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as origin:
        url = f"http://127.0.0.1:{origin.getsockname()[1]}"
        for signals in (1, 2):
            edge = run("--origin", f"a.test={url}", "--plaintext")
            with socket.create_connection(("127.0.0.1", edge.port), VAIN) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
                behind, _ = origin.accept()
                with behind:
                    behind.recv(4096)
                    edge.process.send_signal(signal.SIGTERM)
                    if signals == 1:
                        behind.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                        assert client.makefile("rb").read().endswith(b"ok")
                        assert edge.process.wait(VAIN) == 0
                    else:
                        # The first one has been heard when nobody is let in any more.
                        while True:
                            try:
                                with socket.create_connection(("127.0.0.1", edge.port), VAIN) as early:
                                    early.shutdown(socket.SHUT_WR)
                                    # Whoever was let in is gone by then, and not cut off.
                                    early.recv(1)
                            except OSError:
                                break
                        code, _, said = edge.stop(signal.SIGTERM)
                        cut = "loadstone-edge: 2 connections cut off: give clients more time with --grace\n"
                        assert (code, said) == (0, cut)


def make_certificate(folder: Path, name: str) -> None:
    need("openssl")
    wanted = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -addext subjectAltName=DNS:{name}"
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run(["openssl", *wanted.split(), *files], check=True, capture_output=True)


COMMANDS = {"rust": (str(PROGRAM),), "python": (sys.executable, "-m", "loadstone", "edge")}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hangup_lets_it_read_its_file_again(run: Serve, origin: str, tmp_path: Path, command: str) -> None:
    def write(name: str) -> None:
        make_certificate(tmp_path, name)
        front = 'cert = "cert.pem"\nkey = "key.pem"\naccess_log = "log"'
        (tmp_path / "edge.toml").write_text(f'[front]\n{front}\n[origins]\n"{name}" = "{origin}"\n')

    def get(name: str) -> bytes:
        place = ["--cacert", tmp_path / "cert.pem", "--resolve", f"{name}:{edge.port}:127.0.0.1"]
        return curl(*place, f"https://{name}:{edge.port}/bytes/5")

    write("a.test")
    edge = run(str(tmp_path / "edge.toml"), command=COMMANDS[command])
    assert get("a.test") == pattern(5)
    write("b.test")
    # The first one may still be on its way to it.
    (tmp_path / "log").rename(tmp_path / "log.1")
    assert edge.process.stderr is not None
    edge.process.send_signal(signal.SIGHUP)
    assert edge.process.stderr.readline().endswith(": the settings have been read again\n")
    assert get("b.test") == pattern(5)
    (tmp_path / "edge.toml").write_text("[front]\nidle = 0")
    edge.process.send_signal(signal.SIGHUP)
    said = edge.process.stderr.readline()
    assert "edge.toml: front.idle: 0 is out of range" in said and said.endswith(" (it goes on as it was)\n")
    assert get("b.test") == pattern(5)
    assert edge.stop(signal.SIGTERM) == (0, "", "")
    logs = [(tmp_path / name).read_text() for name in ("log.1", "log")]
    served = [set(re.findall(r'"host":"(.).test', log)) for log in logs]
    assert served == [{"a"}, {"b"}], "the log goes on in a file of its name"


@pytest.mark.parametrize("line", BAD_USAGE)
def test_bad_usage_is_one_line_with_the_place_and_the_remedy(tmp_path: Path, line: str) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    result = subprocess.run(
        [PROGRAM, *line.split()[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=VAIN
    )
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
    for expected in BAD_USAGE[line]:
        assert expected in result.stderr, result.stderr


def test_a_file_that_is_no_certificate_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    options = ["--origin", "a.test=http://127.0.0.1", "--listen", "127.0.0.1:0", "--save-ca", "mine"]
    result = subprocess.run([PROGRAM, *options], cwd=tmp_path, capture_output=True, text=True, timeout=VAIN)
    assert (result.returncode, (tmp_path / "mine").read_text()) == (2, "mine")
    assert "--save-ca: mine: cannot be written" in result.stderr


class _Numbered(BaseHTTPRequestHandler):
    """An origin whose content is its path, over and over, and may be stored."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        content = content_of(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def content_of(path: str) -> bytes:
    return (f"{path}," * 60_000)[:60_000].encode()


def test_an_edge_that_is_killed_while_it_writes_has_whole_responses_or_none(
    run: Serve, tmp_path: Path
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Numbered) as origin:
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{origin.server_address[1]}"
        options = ["--origin", f"a.test={url}", "--plaintext", "--protocol", "http/1.1"]
        # Memory has room for a few: what is asked for again is read from the disk.
        options += ["--cache", "1000000", "--cache-disk", str(tmp_path / "cache"), "--admin", "127.0.0.1:0"]
        got: list[str] = []
        for round in range(4):
            edge = run(*options)
            [said] = [line for line in edge.lines if line.endswith(" for its operator")]
            admin = said.removesuffix("/metrics for its operator")
            hits = [path for path in got if ask(edge.port, path)]
            # Of those that were complete before it was killed, the last ones may have been in memory alone.
            assert len(hits) >= len(got) // 2
            assert (
                not got or curl("-X", "POST", f"{admin}/purge?url=http://a.test{got[0]}") == b"1 forgotten\n"
            )
            stop = threading.Event()
            with ThreadPoolExecutor(4) as clients:
                for client in range(4):
                    clients.submit(load, edge.port, f"/{round}/{client}/", stop, got)
                while len(got) < 40 * (round + 1):
                    time.sleep(0.01)
                edge.process.kill()
                edge.process.wait(VAIN)
                stop.set()
        edge = run(*options)
        assert not ask(edge.port, got[0]), "it was purged, and is asked for again"
        origin.shutdown()


def load(port: int, prefix: str, stop: threading.Event, got: list[str]) -> None:
    """Ask for one thing after the other until nobody answers."""
    for number in itertools.count():
        if stop.is_set():
            return
        try:
            ask(port, f"{prefix}{number}")
        except OSError:
            return
        got.append(f"{prefix}{number}")


def ask(port: int, path: str) -> bool:
    """Ask the edge, check each byte of its answer, and say whether it was stored."""
    client = HTTPConnection("127.0.0.1", port, timeout=VAIN)
    with contextlib.closing(client):
        try:
            client.request("GET", path, headers={"Host": "a.test"})
            answer = client.getresponse()
            content = answer.read()
        except HTTPException as error:
            raise ConnectionError("it was killed meanwhile") from error
        assert content == content_of(path)
        return "; hit" in (answer.getheader("Cache-Status") or "")
