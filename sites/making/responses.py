"""What each URL of a site answers: status, fields, the file with the bytes as sent, the server's thinking."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".jsx": "text/jsx; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".xml": "text/xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".ttf": "font/ttf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
# Milliseconds that a server thinks, at least and at most.
THINKING = {".html": (35, 140), ".json": (20, 90)}
THINKING_STATIC = (1, 10)
COMPRESSED = {".html", ".css", ".js", ".jsx", ".mjs", ".json", ".svg", ".webmanifest", ".xml", ".txt"}
SMALLEST_COMPRESSED = 600
# When the first of the files was changed last; the others are changed later.
EPOCH = 1_700_000_000


@dataclass
class Response:
    """The answer of one URL to one method."""

    url: str
    method: str
    status: int
    file: str | None
    fields: dict[str, str]
    think_ms: int
    any_query: bool

    def document(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        fields = [[name, value] for name, value in self.fields.items()]
        own = {"url": self.url, "method": self.method, "status": self.status, "file": self.file}
        return {**own, "fields": fields, "think_ms": self.think_ms, "any_query": self.any_query}


def of_site(tree: Path, description: dict[str, Any]) -> list[Response]:
    """Give the responses of a built tree, by URL; writes the compressed bodies into it."""
    named = description.get("response", [])
    rules = description.get("rule", [])
    taken = {entry["file"] for entry in named if "file" in entry and not entry.get("also")}
    found = [plain(file) for file in files(tree) if file not in taken]
    done = [response(tree, entry, rules, description) for entry in [*found, *named]]
    return sorted(done, key=lambda one: (one.url, one.method))


def files(tree: Path) -> Iterator[str]:
    """Give the paths of all files below a tree, in order."""
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            yield path.relative_to(tree).as_posix()


def plain(file: str) -> dict[str, Any]:
    """Describe the response that a file is by itself."""
    return {"url": "https://" + file.removesuffix("index.html"), "file": file}


def response(
    tree: Path, entry: dict[str, Any], rules: list[dict[str, Any]], site: dict[str, Any]
) -> Response:
    """Make one response: defaults by kind, then the rules that match its URL, then its own words."""
    url, file = entry["url"], entry.get("file")
    ending = Path(file).suffix if file else ""
    fields = {"server": site.get("servers", {}).get(url.split("/")[2], "nginx")}
    if file:
        body = (tree / file).read_bytes()
        fields |= of_body(url, ending, body)
        if ending in COMPRESSED and len(body) >= SMALLEST_COMPRESSED:
            file += ".gz"
            (tree / file).write_bytes(gzip.compress(body, 6, mtime=0))
            fields |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    low, high = THINKING.get(ending, THINKING_STATIC)
    options: dict[str, Any] = {"think_ms": low + zlib.crc32(url.encode()) % (high - low + 1)}
    for rule in [*(one for one in rules if fnmatchcase(url, one["match"])), entry]:
        fields |= rule.get("fields", {})
        options |= {key: rule[key] for key in ("think_ms", "any_query", "status", "method") if key in rule}
    return Response(
        url=url,
        method=options.get("method", "GET"),
        status=options.get("status", 200),
        file=file,
        # An empty value takes a field away.
        fields={name: value for name, value in fields.items() if value},
        think_ms=options["think_ms"],
        any_query=options.get("any_query", False),
    )


def of_body(url: str, ending: str, body: bytes) -> dict[str, str]:
    """Give the fields that a body has by itself."""
    number = zlib.crc32(url.encode())
    kept = (
        "no-cache"
        if ending in {".html", ".json"}
        else f"public, max-age={(3600, 86400, 31536000)[number % 3]}"
    )
    return {
        "content-type": TYPES[ending],
        "cache-control": kept,
        "etag": f'"{hashlib.sha256(body).hexdigest()[:16]}"',
        "last-modified": formatdate(EPOCH + number % 40_000_000, usegmt=True),
    }
