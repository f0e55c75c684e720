"""`loadstone-edge`, the edge without Python, as a process."""

import functools
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
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
                                socket.create_connection(("127.0.0.1", edge.port), VAIN).close()
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
        front = 'cert = "cert.pem"\nkey = "key.pem"'
        (tmp_path / "edge.toml").write_text(f'[front]\n{front}\n[origins]\n"{name}" = "{origin}"\n')

    def get(name: str) -> bytes:
        place = ["--cacert", tmp_path / "cert.pem", "--resolve", f"{name}:{edge.port}:127.0.0.1"]
        return curl(*place, f"https://{name}:{edge.port}/bytes/5")

    write("a.test")
    edge = run(str(tmp_path / "edge.toml"), command=COMMANDS[command])
    assert get("a.test") == pattern(5)
    write("b.test")
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
