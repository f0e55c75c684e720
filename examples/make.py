"""Writes four invented pages, sized like pages of their kinds: newspaper, shop, film, guide of a television.

Run it from anywhere: `python examples/make.py`. The files are checked in.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

# --- news.page.json: a newspaper's front page, needs stated by hand ---

NEWS = "https://www.news.example.test"
STATIC = "https://static.news.example.test"
PICTURES = "https://pictures.news.example.test"
COUNTER = "https://count.example.test"


def after(node: str, **more: Any) -> list[dict[str, Any]]:
    """Give the needs of something that waits for one node."""
    return [{"node": node, **more}]


def news_page() -> dict[str, Any]:
    """Make the front page: 61 objects on four hosts."""
    root = f"{NEWS}/"
    in_head = after(root, on="bytes", bytes=6_000)
    app, late = f"{STATIC}/js/app.js", f"{STATIC}/js/late.js"
    objects: list[dict[str, Any]] = [
        {"url": root, "bytes": 38_400, "kind": "html", "response_header_bytes": 620, "think_ms": 45},
        {"url": f"{STATIC}/css/front.css", "bytes": 31_200, "needs": in_head},
        {"url": f"{STATIC}/css/print.css", "bytes": 2_900, "needs": in_head, "needed": False},
        {"url": app, "bytes": 112_000, "needs": in_head},
        {"url": late, "bytes": 46_500, "needs": after(app, ms=35)},
    ]
    objects += [
        {
            "url": f"{STATIC}/fonts/{name}.woff2",
            "bytes": size,
            "needs": after(f"{STATIC}/css/front.css", ms=8),
        }
        for name, size in [("text", 27_800), ("text-bold", 28_300), ("headline", 22_600)]
    ]
    objects += [
        {"url": f"{STATIC}/icons/{name}.svg", "bytes": size, "needs": after(f"{STATIC}/css/front.css", ms=8)}
        for name, size in [("logo", 3_400), ("search", 700), ("menu", 500), ("weather", 1_900)]
    ]
    # The markup names the pictures as it arrives; the script adds those further down.
    objects += [
        {
            "url": f"{PICTURES}/lead/{n}.webp",
            "bytes": 64_000 - 4_100 * n,
            "needs": after(root, on="bytes", bytes=8_000 + 2_500 * n),
        }
        for n in range(6)
    ]
    objects += [
        {
            "url": f"{PICTURES}/story/{n}.webp",
            "bytes": 7_400 + 613 * (n * 7 % 11),
            "needs": after(root, on="bytes", bytes=24_000 + 500 * n),
        }
        for n in range(22)
    ]
    objects += [
        {"url": f"{PICTURES}/below/{n}.webp", "bytes": 9_800 + 871 * (n * 5 % 7), "needs": after("layout")}
        for n in range(14)
    ]
    objects += [
        {
            "url": f"{NEWS}/api/ticker.json",
            "bytes": 4_200,
            "kind": "json",
            "needs": after(app, ms=30),
            "think_ms": 60,
        },
        {
            "url": f"{NEWS}/api/weather.json",
            "bytes": 900,
            "kind": "json",
            "needs": after(app, ms=30),
            "think_ms": 25,
        },
        {
            "url": f"{NEWS}/api/most-read.json",
            "bytes": 6_100,
            "kind": "json",
            "needs": after(late, ms=10),
            "think_ms": 80,
        },
        {"url": f"{COUNTER}/c.js", "bytes": 17_300, "needs": after(app, ms=20)},
        {
            "url": f"{COUNTER}/hit?page=front",
            "bytes": 43,
            "kind": "image",
            "needs": after(f"{COUNTER}/c.js", ms=15),
            "needed": False,
        },
        {
            "url": f"{COUNTER}/seen",
            "bytes": 0,
            "kind": "xhr",
            "method": "POST",
            "status": 204,
            "upload_bytes": 1_300,
            "needs": after(late, ms=40),
            "needed": False,
        },
        {"url": f"{NEWS}/favicon.ico", "bytes": 1_150, "needs": after(root), "needed": False},
    ]
    return {
        "objects": objects,
        "compute": [
            {"name": "layout", "ms": 55, "needs": [{"node": app}, {"node": f"{STATIC}/css/front.css"}]}
        ],
        "hosts": {"count.example.test": {"rtt_ms": 35, "think_ms": 10}},
    }


# --- shop.har: a shop's start page, as Chrome would export it ---

SHOP = "https://shop.example.test"
MEDIA = "https://media.shop.example.test"
PAY = "https://pay.example.test"
BEGIN = datetime(2026, 3, 2, 10, 15, 0, tzinfo=UTC)

MIME = {
    "document": "text/html; charset=utf-8",
    "stylesheet": "text/css",
    "script": "application/javascript",
    "font": "font/woff2",
    "image": "image/webp",
    "fetch": "application/json",
}


class Recording:
    """Entries of a load over HTTP/2 that found every object at a plausible moment."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.ends: dict[str, float] = {}
        self._connections: dict[str, str] = {}

    def add(
        self, kind: str, url: str, size: int, by: str | None, after_ms: float = 2.0, wait: float = 20.0
    ) -> str:
        """Record one request, `after_ms` after its initiator `by` was there."""
        begun = self.ends[by] + after_ms if by else 0.0
        host = url.split("/")[2]
        new = host not in self._connections
        connect = 44.0 if new else -1
        self._connections.setdefault(host, str(4000 + len(self._connections)))
        receive = round(1.5 + size / 1_100, 1)
        timings = {
            "blocked": 1.0,
            "dns": 12.0 if new else -1,
            "connect": connect,
            "ssl": 23.0 if new else -1,
            "send": 0.2,
            "wait": 22.0 + wait,
            "receive": receive,
        }
        took = 1.0 + 0.2 + 22.0 + wait + receive + (12.0 + 44.0 if new else 0.0)
        self.ends[url] = begun + took
        self.entries.append(
            _entry(kind, url, size, by, begun, round(took, 1), timings, self._connections[host])
        )
        return url


def as_fields(fields: dict[str, str]) -> list[dict[str, str]]:
    """Header fields as a HAR lists them."""
    return [{"name": name, "value": value} for name, value in fields.items()]


def _entry(
    kind: str,
    url: str,
    size: int,
    by: str | None,
    begun: float,
    took: float,
    timings: dict[str, float],
    conn: str,
) -> dict[str, Any]:
    host, path = url.split("/")[2], "/" + "/".join(url.split("/")[3:])
    request_fields = {
        ":authority": host,
        ":method": "GET",
        ":path": path,
        ":scheme": "https",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate, br, zstd",
        "accept-language": "en",
        "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
        **({"cookie": "basket=1f7c2a90b4; consent=essential", "referer": f"{SHOP}/"} if by else {}),
    }
    response_fields = {
        "content-type": MIME[kind],
        "content-length": str(size),
        "cache-control": "no-cache"
        if kind in ("document", "fetch")
        else "public, max-age=31536000, immutable",
        "date": "Mon, 02 Mar 2026 10:15:00 GMT",
        "server": "example",
    }
    script = {"type": "script", "stack": {"callFrames": [{"url": by, "lineNumber": 1, "columnNumber": 1}]}}
    parser = {"type": "parser", "url": by, "lineNumber": 12}
    initiator = {"type": "other"} if by is None else script if by.endswith(".js") else parser
    return {
        "_initiator": initiator,
        "_resourceType": kind,
        "_priority": {"image": "Low", "document": "VeryHigh"}.get(kind, "High"),
        "connection": conn,
        "pageref": "page_1",
        "startedDateTime": (BEGIN + timedelta(milliseconds=begun))
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z"),
        "time": took,
        "request": {
            "method": "GET",
            "url": url,
            "httpVersion": "h2",
            "headers": as_fields(request_fields),
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": 200,
            "statusText": "",
            "httpVersion": "h2",
            "headers": as_fields(response_fields),
            "cookies": [],
            "content": {
                "size": size * 3 if kind in ("document", "stylesheet", "script") else size,
                "mimeType": MIME[kind],
            },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
            "_transferSize": size + 120,
        },
        "cache": {},
        "timings": timings,
    }


def shop_har() -> dict[str, Any]:
    """Make the recording: 42 requests to three hosts."""
    recording = Recording()
    add = recording.add
    root = add("document", f"{SHOP}/", 24_300, None, wait=90.0)
    css = add("stylesheet", f"{SHOP}/assets/shop.css", 28_900, root)
    add("stylesheet", f"{SHOP}/assets/theme.css", 6_200, root)
    app = add("script", f"{SHOP}/assets/app.js", 148_000, root)
    add("script", f"{SHOP}/assets/consent.js", 19_400, root)
    for name, size in [("regular", 24_100), ("bold", 24_900)]:
        add("font", f"{SHOP}/assets/{name}.woff2", size, css, after_ms=9.0)
    add("image", f"{MEDIA}/hero.webp", 118_000, root)
    for n in range(18):
        add("image", f"{MEDIA}/product/{1040 + n}.webp", 11_200 + 947 * (n * 5 % 13), root, after_ms=3.0)
    vendor = add("script", f"{SHOP}/assets/vendor.js", 84_600, app, after_ms=28.0)
    products = add("fetch", f"{SHOP}/api/recommendations", 9_700, app, after_ms=41.0, wait=130.0)
    add("fetch", f"{SHOP}/api/basket", 640, app, after_ms=41.0, wait=35.0)
    add("fetch", f"{SHOP}/api/stock", 1_900, vendor, after_ms=18.0, wait=60.0)
    pay = add("script", f"{PAY}/buttons.js", 36_500, app, after_ms=44.0)
    add("fetch", f"{PAY}/session", 820, pay, after_ms=12.0, wait=75.0)
    for n in range(9):
        url = f"{MEDIA}/recommended/{2200 + n}.webp"
        add(
            "image",
            url,
            8_300 + 611 * (n * 4 % 9),
            vendor,
            after_ms=recording.ends[products] - recording.ends[vendor] + 6.0,
        )
    add("image", f"{SHOP}/favicon.ico", 1_400, root, after_ms=60.0)
    entries = sorted(recording.entries, key=lambda entry: entry["startedDateTime"])
    last = max(recording.ends.values())
    page = {
        "startedDateTime": BEGIN.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "id": "page_1",
        "title": f"{SHOP}/",
        "pageTimings": {"onContentLoad": round(recording.ends[app] + 30, 1), "onLoad": round(last + 15, 1)},
    }
    creator = {"name": "examples/make.py", "version": "1"}
    return {"log": {"version": "1.2", "creator": creator, "pages": [page], "entries": entries}}


# --- video.page.json: a film in fragments, which a server may push into a gateway's cache ---

VIDEO = "https://video.example.test"
FRAGMENTS = 12


def video_page() -> dict[str, Any]:
    """Make twelve fragments of 2 s at 2 Mbit/s, one after another; the list of them may bring them along."""
    playlist = f"{VIDEO}/film.m3u8"
    fragments = [f"{VIDEO}/film-{number:02}.m4s" for number in range(FRAGMENTS)]
    objects: list[dict[str, Any]] = [{"url": playlist, "bytes": 900, "kind": "text"}]
    objects += [
        {"url": url, "bytes": 500_000, "kind": "media", "needs": after(before), "pushed_with": playlist}
        for before, url in zip([playlist, *fragments], fragments, strict=False)
    ]
    return {"version": 1, "objects": objects}


# --- remote-ui.page.json: the interface of a set-top box; servers, client and content have one owner ---

INTERFACE = "https://ui.example.test"


def remote_ui_page() -> dict[str, Any]:
    """Make a guide of 48 programmes, each with a small picture, on one host."""
    root, app = f"{INTERFACE}/guide", f"{INTERFACE}/guide.js"
    in_head = after(root, on="bytes", bytes=1_200)
    objects: list[dict[str, Any]] = [
        {"url": root, "bytes": 6_400, "kind": "html", "think_ms": 10},
        {"url": f"{INTERFACE}/guide.css", "bytes": 8_200, "needs": in_head},
        {"url": app, "bytes": 41_000, "needs": in_head},
        {"url": f"{INTERFACE}/programmes.json", "bytes": 9_500, "think_ms": 15, "needs": after(app, ms=12)},
    ]
    objects += [
        {
            "url": f"{INTERFACE}/programme/{number}.png",
            "bytes": 3_000 + 170 * (number * 7 % 24),
            "needs": after(f"{INTERFACE}/programmes.json", ms=6),
        }
        for number in range(48)
    ]
    return {"version": 1, "objects": objects}


def main() -> None:
    """Write the files."""
    for name, page in [("video", video_page()), ("remote-ui", remote_ui_page())]:
        (HERE / f"{name}.page.json").write_text(json.dumps(page, indent=1) + "\n")
    (HERE / "news.page.json").write_text(json.dumps(news_page(), indent=1) + "\n")
    (HERE / "shop.har").write_text(json.dumps(shop_har(), indent=1) + "\n")


if __name__ == "__main__":
    main()
