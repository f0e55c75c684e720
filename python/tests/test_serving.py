"""`loadstone serve` as a process, and other people's clients."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import EXAMPLES, Command, need

# Nothing here takes so long unless it waits for nothing.
VAIN = 30


class Served:
    """A server that runs, and what it printed when it began."""

    def __init__(
        self, folder: Path, arguments: tuple[str, ...], verb: str = "serve", command: tuple[str, ...] = ()
    ) -> None:
        command = command or (sys.executable, "-m", "loadstone", verb)
        words = [*command, *arguments, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        watch = threading.Timer(VAIN, self.process.kill)
        watch.start()
        stream = self.process.stderr if "-" in arguments else self.process.stdout
        assert stream is not None
        for line in stream:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("listening on "):
                break
        watch.cancel()
        assert self.lines and self.lines[-1].startswith("listening on "), self.process.communicate()
        self.port = int(self.lines[-1].rpartition(":")[2])

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=VAIN)
        return self.process.returncode, out, err


Serve = Callable[..., Served]


@contextmanager
def all_served(folder: Path) -> Iterator[Serve]:
    """Give what begins servers; they are killed at the end."""
    running: list[Served] = []

    def begin(*arguments: object, verb: str = "serve", command: tuple[str, ...] = ()) -> Served:
        running.append(Served(folder, tuple(map(str, arguments)), verb, command))
        return running[-1]

    try:
        yield begin
    finally:
        for served in running:
            with served.process:
                served.process.kill()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "sub").mkdir(parents=True)
    (folder / "index.html").write_text("<p>root</p>")
    (folder / "a.css").write_text("p {}")
    (folder / "sub" / "index.html").write_text("<p>sub</p>")
    (folder / "large.bin").write_bytes(os.urandom(1_000_000))
    (folder / ".htpasswd").write_text("password")
    (tmp_path / "secret").write_text("secret")
    return folder


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with all_served(tmp_path) as begin:
        yield begin


def curl(*arguments: Any) -> bytes:
    command = [need("curl"), "--silent", "--show-error", "--max-time", str(VAIN), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
@pytest.mark.parametrize("tls", ["--tls-max 1.2", "--tlsv1.3"])
def test_curl_gets_files_over_tls_from_a_name_that_the_certificate_has(
    serve: Serve, site: Path, tmp_path: Path, version: str, tls: str
) -> None:
    served = serve(site, "--save-ca", "ca.pem")
    assert served.lines[0] == f"https://127.0.0.1:{served.port}/  h2, spdy/3.1, spdy/3, spdy/2, http/1.1"
    for host in ("localhost", "127.0.0.1"):
        base = f"https://{host}:{served.port}"
        options = ["--cacert", tmp_path / "ca.pem", version, *tls.split()]
        assert curl(*options, f"{base}/") == b"<p>root</p>"
        assert curl(*options, f"{base}/large.bin") == (site / "large.bin").read_bytes()
        spoken = curl(*options, "-o", os.devnull, "-w", "%{http_version} %{http_code}", "-L", f"{base}/sub")
        assert spoken.decode() == f"{version.removeprefix('--http')} 200"
    assert served.stop() == (0, "", "")


def test_dotfiles_are_served_to_who_asks_for_it(serve: Serve, site: Path) -> None:
    served = serve(site, "--plaintext", "--dotfiles")
    assert curl(f"http://127.0.0.1:{served.port}/.htpasswd") == b"password"


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_curl_gets_files_in_plaintext(serve: Serve, site: Path, version: str) -> None:
    protocol = ["--protocol", "h2"] if "2" in version else []
    served = serve(site, "--plaintext", "--patterns", *protocol)
    base = f"http://127.0.0.1:{served.port}"
    assert curl(version, f"{base}/sub/") == b"<p>sub</p>"
    head = curl(version, "-I", f"{base}/a.css").decode().lower()
    assert "content-type: text/css; charset=utf-8" in head and "content-length: 4" in head
    status = ["-o", os.devnull, "-w", "%{http_code}", "--path-as-is"]
    for path, expected in {
        "/none": "404",
        "/../secret": "404",
        "/%2e%2e/secret": "404",
        "/sub": "301",
        "/.htpasswd": "404",
        "/%2ehtpasswd": "404",
    }.items():
        assert curl(version, *status, base + path).decode() == expected, path
    assert curl(version, *status, "-X", "DELETE", f"{base}/a.css").decode() == "405"
    pattern = bytes((131 * i + 7 * (i // 256) + 13) % 256 for i in range(70_000))
    assert curl(version, f"{base}/bytes/70000") == pattern
    assert (
        curl(version, "--data-binary", f"@{site / 'large.bin'}", f"{base}/echo")
        == (site / "large.bin").read_bytes()
    )


def test_nghttp_takes_pushes(serve: Serve, site: Path, tmp_path: Path) -> None:
    (tmp_path / "push.json").write_text('{"/": ["/a.css", {"path": "/large.bin", "urgency": 6}]}')
    served = serve(site, "--push-manifest", "push.json")
    command = [need("nghttp"), "-ns", f"https://127.0.0.1:{served.port}/"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=VAIN).stdout
    # A star marks what was pushed.
    assert re.search(r"\* .* 200 +4 /a\.css", said), said
    assert re.search(r"\* .* 200 +976K /large\.bin", said), said


@pytest.mark.parametrize("protocol", ["http/1.1", "spdy/2", "spdy/3", "spdy/3.1", "h2"])
def test_our_own_client_speaks_every_protocol(
    serve: Serve, loadstone: Command, site: Path, tmp_path: Path, protocol: str
) -> None:
    served = serve(site, "--patterns", "--save-ca", "ca.pem")
    urls = [f"https://localhost:{served.port}{path}" for path in ("/large.bin", "/push/3", "/none")]
    given = ["--protocol", protocol, "--cacert", tmp_path / "ca.pem", "--push", "--json", *urls]
    said = loadstone("fetch", *given).document["responses"]
    assert [response["status"] for response in said[:3]] == [200, 200, 404]
    assert said[0]["sha256"] == hashlib.sha256((site / "large.bin").read_bytes()).hexdigest()
    pushed = [response["bytes"] for response in said[3:]]
    assert sorted(pushed) == ([] if protocol == "http/1.1" else [1000, 1001, 1002])


def test_early_hints_come_first(serve: Serve, site: Path, tmp_path: Path) -> None:
    (tmp_path / "push.json").write_text('{"/": ["/a.css"]}')
    served = serve(site, "--push-manifest", "push.json", "--hints", "--plaintext")
    said = curl("-i", f"http://127.0.0.1:{served.port}/").decode().split("\r\n\r\n")
    assert said[0].startswith("HTTP/1.1 103") and "link: </a.css>; rel=preload; as=style" in said[0]
    assert said[1].startswith("HTTP/1.1 200") and said[2] == "<p>root</p>"


@pytest.fixture
def fonts(tmp_path: Path) -> Path:
    """A page whose style sheet brings a font, with a script and a frame of another host."""
    root, style = "https://a.test/", "https://a.test/a.css"
    objects: list[dict[str, Any]] = [
        {"url": root, "bytes": 100},
        {"url": style, "bytes": 100},
        {"url": "https://a.test/b.woff2", "bytes": 100, "needs": [{"node": style}]},
        {"url": "https://b.test/c.js?d", "bytes": 100},
        {"url": "https://b.test/e.html", "bytes": 100},
    ]
    path = tmp_path / "fonts.page.json"
    path.write_text(json.dumps({"objects": objects}))
    return path


def test_a_manifest_is_made_of_a_page(loadstone: Command, fonts: Path) -> None:
    style = {"path": "https://a.test/a.css", "urgency": 0, "as": "style"}
    font = {"path": "https://a.test/b.woff2", "urgency": 1, "as": "font", "crossorigin": True}
    script = {"path": "https://b.test/c.js?d", "urgency": 1, "as": "script"}
    made = {
        (): {"https://a.test/": [style]},
        ("--push", "embedded"): {"https://a.test/": [style], "https://a.test/a.css": [font]},
        ("--push", "embedded", "--push-levels", "2"): {"https://a.test/": [style, font]},
        ("--hint", "all"): {"https://a.test/": [style, font, script]},
        ("--preconnect", "hosts"): {"https://a.test/": [{"preconnect": "https://b.test"}]},
    }
    for options, expected in made.items():
        assert json.loads(loadstone("manifest", str(fonts), *options).out) == expected, options
    for hint in (("--hint", "all"), ("--preconnect", "hosts")):
        refused = loadstone("manifest", str(fonts), *hint, "--push", "all")
        assert refused.code == 2 and f"{hint[0]}: a manifest is for one of them" in refused.err


def test_a_made_manifest_can_be_served(serve: Serve, loadstone: Command, fonts: Path, tmp_path: Path) -> None:
    told = loadstone("manifest", str(fonts), "--hint", "all", "--preconnect", "hosts").out
    (tmp_path / "hints.json").write_text(told)
    served = serve(fonts, "--push-manifest", "hints.json", "--hints", "--plaintext")
    heads = ("-D", "-", "-o", tmp_path / "body", "-H", "Host: a.test")
    said = curl(*heads, f"http://127.0.0.1:{served.port}/").decode().split("\r\n\r\n")
    assert said[0].startswith("HTTP/1.1 103"), said
    assert "</b.woff2>; rel=preload; as=font; crossorigin" in said[0]
    assert "<https://b.test/c.js?d>; rel=preload; as=script" in said[0]
    assert "<https://b.test>; rel=preconnect" in said[0]


def test_a_recording_is_found_under_its_own_names(serve: Serve, tmp_path: Path) -> None:
    har = EXAMPLES / "shop.har"
    served = serve(har, "--save-ca", "ca.pem")
    entries = json.loads(har.read_text())["log"]["entries"]
    url = entries[0]["request"]["url"]
    host = url.split("/")[2]
    assert f"https://{host}:{served.port}/  for clients that resolve it so" in served.lines
    resolve = ["--resolve", f"{host}:{served.port}:127.0.0.1", "--cacert", tmp_path / "ca.pem"]
    path = url.split(host, 1)[1]
    by_name = curl(*resolve, f"https://{host}:{served.port}{path}")
    by_address = curl("--cacert", tmp_path / "ca.pem", f"https://127.0.0.1:{served.port}{path}")
    assert by_name == by_address and by_name[:3] == bytes([13, 144, 19])


def test_the_log_on_standard_output_has_nothing_but_lines_of_json(serve: Serve) -> None:
    served = serve("--patterns", "--plaintext", "--access-log", "-")
    for number in range(5):
        curl("-A", "", f"http://127.0.0.1:{served.port}/bytes/{number}")
    code, out, _ = served.stop(signal.SIGTERM)
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["bytes"] for line in lines if "path" in line] == [0, 1, 2, 3, 4]
    peers = {line["connection"]: line["peer"] for line in lines if "peer" in line}
    assert all(peers[line["connection"]].startswith("127.0.0.1:") for line in lines)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line["time"]) for line in lines)


def test_a_log_that_cannot_be_written_is_spoken_of_at_once_and_harms_no_answer(serve: Serve) -> None:
    served = serve("--patterns", "--plaintext", "--access-log", "/dev/full")
    assert len(curl(f"http://127.0.0.1:{served.port}/bytes/9")) == 9
    assert served.process.stderr is not None
    said = served.process.stderr.readline()
    assert said.startswith("loadstone: /dev/full: cannot be written (No space left on device"), said
    assert len(curl(f"http://127.0.0.1:{served.port}/bytes/9")) == 9
    code, _, err = served.stop(signal.SIGTERM)
    assert code == 2 and err.count("\n") == 1, err


def test_a_signal_lets_finish_what_is_under_way_and_a_second_one_does_not(serve: Serve) -> None:
    for signals, code in ((1, 0), (2, 0)):
        served = serve("--patterns", "--plaintext", "--grace", "600")
        # It reads slowly enough to be under way still.
        rate, size = ("20M", 30_000_000) if signals == 1 else ("1k", 1_000_000_000)
        command = [need("curl"), "-sN", "--limit-rate", rate, f"http://127.0.0.1:{served.port}/bytes/{size}"]
        client = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert client.stdout is not None
        received = len(client.stdout.read(10))
        served.process.send_signal(signal.SIGINT)
        if signals == 1:
            received += len(client.stdout.read())
            assert received == size
            assert served.process.wait(VAIN) == code
        else:
            # The door is shut as soon as the first has been understood.
            while (
                subprocess.run(
                    [need("curl"), "-s", f"http://127.0.0.1:{served.port}/"], check=False
                ).returncode
                != 7
            ):
                pass
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(VAIN) == code
            assert "cut off" in served.process.communicate()[1]
        with client:
            client.kill()


BAD_USAGE = {
    "serve": ["DIR|RECORDING", "--patterns"],
    "serve nowhere": ["nowhere", "no such file"],
    "serve --patterns --listen here": ["cannot listen on here", "HOST:PORT"],
    "serve --patterns --protocol h3": ["--protocol", "h2, spdy/3.1"],
    "serve --patterns --max-streams 0": ["--max-streams", "1 to 10000"],
    "serve --patterns --notsent-lowat 1": ["--notsent-lowat", "2048"],
    "serve --patterns --policy none": ["--policy", "priority"],
    "serve --patterns --cert a.pem": ["--cert", "--key"],
    "serve --patterns --plaintext --save-ca ca.pem": ["--save-ca", "--plaintext"],
    "serve synthetic:A --dotfiles": ["--dotfiles", "directory"],
    "serve --patterns --push-manifest missing.json": ["missing.json"],
    "serve --patterns --access-log .": ["cannot be written"],
}


@pytest.mark.parametrize("line", BAD_USAGE)
def test_bad_usage_is_one_line_with_the_remedy(
    loadstone: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = loadstone(*line.split())
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    for expected in BAD_USAGE[line]:
        assert expected in result.err, result.err


def test_a_manifest_that_lists_what_is_not_there_is_refused(
    loadstone: Command, site: Path, tmp_path: Path
) -> None:
    for text, expected in [
        ('{"/": ["/missing.css"]}', "/missing.css"),
        ('{"/": ["missing.css"]}', "write /path or https://host/path"),
        ("nonsense", "not JSON"),
    ]:
        (tmp_path / "push.json").write_text(text)
        result = loadstone("serve", str(site), "--push-manifest", str(tmp_path / "push.json"))
        assert result.code == 2 and expected in result.err, result.err


def test_a_second_signal_ends_a_server_whose_log_nobody_reads(serve: Serve) -> None:
    served = serve("--patterns", "--plaintext", "--protocol", "h2", "--access-log", "-")
    url = f"http://127.0.0.1:{served.port}/bytes/1"
    # More lines than a pipe and the log's own queue hold.
    asking = ["fetch", url, "--protocol", "h2", "--repeat", "20000", "--timeout", "3"]
    subprocess.run([sys.executable, "-m", "loadstone", *asking], check=False, capture_output=True)
    # Two of a kind could count as one.
    for number in (signal.SIGINT, signal.SIGTERM):
        served.process.send_signal(number)
    assert served.process.wait(VAIN) == 1
