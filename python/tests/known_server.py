"""Serves the pages with known answers over HTTP on this machine, as known_pages/README.md says."""

import json
import mimetypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from time import sleep
from typing import Any
from urllib.parse import urljoin, urlsplit

from conftest import ROOT

PAGES = Path(__file__).parent / "known_pages"
EXPECTED: dict[str, dict[str, Any]] = {
    path.parent.name: json.loads(path.read_text()) for path in sorted(PAGES.glob("*/expected.json"))
}
HOST, OTHER = "known.test", "other.known.test"
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
TYPES |= {".html": "text/html; charset=utf-8", ".json": "application/json"}


def url(name: str, path: str) -> str:
    """Give where a resource of a page is."""
    host = OTHER if path.startswith("other/") else HOST
    return f"http://{host}/{name}/{path.removeprefix('other/')}"


def text(name: str, path: str) -> bytes:
    """Give what a resource has as its body."""
    if EXPECTED[name].get("serve", {}).get(path, {}).get("made") == "font":
        return font()
    return (PAGES / name / path).read_bytes()


def font() -> bytes:
    sites = str(ROOT / "sites")
    if sites not in sys.path:
        sys.path.insert(0, sites)
    from making.fonts import woff2

    return woff2(Random(1), "Known", 6000)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        host = self.headers.get("host", "").split(":")[0]
        _, name, *rest = urlsplit(self.path).path.split("/")
        path = "/".join((["other"] if host == OTHER else []) + rest)
        expected = EXPECTED.get(name, {})
        special = expected.get("serve", {}).get(path, {})
        sleep(special.get("delay_ms", 0) / 1000)
        status, body = special.get("status", 200), b""
        if name not in EXPECTED or (status == 200 and not is_there(name, path)):
            status = 404
        elif status == 200:
            body = text(name, path)
        self.send_response(status)
        if location := special.get("location"):
            self.send_header("Location", urljoin(url(name, path), location))
        self.send_header("Content-Type", type_of(path))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        pause = expected.get("split", 0) if path == "index.html" else 0
        self.wfile.write(body[:pause])
        self.wfile.flush()
        if pause:
            sleep(expected["pause_ms"] / 1000)
        self.wfile.write(body[pause:])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.do_GET()

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


def is_there(name: str, path: str) -> bool:
    made = EXPECTED[name].get("serve", {}).get(path, {}).get("made")
    return made is not None or (PAGES / name / path).is_file()


def type_of(path: str) -> str:
    suffix = Path(path).suffix
    return TYPES.get(suffix) or mimetypes.types_map.get(suffix, "text/plain")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that goes away."""


@contextmanager
def serving() -> Iterator[list[str]]:
    """Serve them; give the switches with which Chromium finds the hosts here."""
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        port = server.server_address[1]
        rules = ",".join(f"MAP {host}:80 127.0.0.1:{port}" for host in (HOST, OTHER))
        try:
            yield [f"--host-resolver-rules={rules}"]
        finally:
            server.shutdown()
            thread.join()
