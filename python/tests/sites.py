"""Pages on a server of this machine, and what recordings of them have."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from loadstone.recording import Archive, BodyState, archive
from loadstone.recording.visit import Patience

HTML = "text/html; charset=utf-8"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
QUICK = Patience(load_s=20.0, settle_s=0.3)


class Server(ThreadingHTTPServer):
    """Answers with what it is given, by path; a function writes its answer itself."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, Any] = {}
        self.asked: list[str] = []
        self.ended = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that go away."""

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_port}"

    @property
    def other(self) -> str:
        """Give the same server as another site."""
        return f"http://127.0.0.1:{self.server_port}"

    def page(self, body: str, **more: Any) -> str:
        """Serve a page with more objects beside it, `a_js` as /a.js: its URL."""
        self.pages["/"] = (HTML, f"<!doctype html><title>A page</title>{body}".encode())
        kinds = {
            "js": "text/javascript",
            "css": "text/css",
            "svg": "image/svg+xml",
            "html": HTML,
            "json": "application/json",
        }
        for name, content in more.items():
            stem, _, kind = name.rpartition("_")
            content = content.encode() if isinstance(content, str) else content
            self.pages[f"/{stem}.{kind}"] = (kinds[kind], content)
        return f"{self.url}/"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        answer = self.server.pages.get(self.path.partition("?")[0])
        if callable(answer):
            answer(self)
            return
        status = 404 if answer is None else 200
        kind, content, *fields = answer or ("text/plain", b"none")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


def paths(one: Archive, load: int = 1) -> list[str]:
    urls = [exchange.url for exchange in one.exchanges if exchange.load == load]
    return sorted(url.split("/", 3)[3] for url in urls if not url.endswith("favicon.ico"))


def body(one: Archive, path: str) -> tuple[bytes, BodyState]:
    [found] = [exchange for exchange in one.exchanges if exchange.url.endswith(path)]
    return found.body, found.body_state


def events(one: Archive, load: int = 1) -> list[dict[str, Any]]:
    return [json.loads(line) for line in one.extra(archive.events_of(load)).splitlines()]


def trace(one: Archive, load: int = 1) -> list[dict[str, Any]]:
    return json.loads(one.extra(archive.trace_of(load)))["traceEvents"]


def initiators(one: Archive) -> dict[str, dict[str, Any]]:
    return {
        said["params"]["request"]["url"].rpartition("/")[2]: said["params"]["initiator"]
        for said in events(one)
        if said["method"] == "Network.requestWillBeSent"
    }


def silent(handler: Handler) -> None:
    handler.server.ended.wait(60)
    handler.close_connection = True
