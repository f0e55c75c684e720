"""Recorded pages loaded again by a real browser, with nothing but the recording behind the link."""

import gzip
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kernel
from conftest import need
from kernel import LOADSTONE
from loadstone import serving
from loadstone._native import Page as NativePage
from loadstone._native import Stopper
from loadstone.browser import PageTiming, local, seeded
from loadstone.files import InputError
from loadstone.recording import Archive, BodyState, LoadNote, RecordedExchange, served
from loadstone.recording.archive import HAR, packed
from loadstone.recording.served import ServedRecording, ServedResponse

RECORDED_AT = 1_600_000_000.0
SLOW_MS = 1500.0
"""So long a page is kept loading, for all that it begins to have an end."""

# --- a page that says what it was given ---

_ASK = """
const given = (realm) => ({
  realm,
  random: Math.random(),
  values: [...crypto.getRandomValues(new Uint32Array(2))].join(),
  id: crypto.randomUUID(),
  now: Date.now(),
  same: [new Date().getTime(), +new Date(Date().toString()), performance.timeOrigin + performance.now()]
    .every((time) => Math.abs(time - Date.now()) < 1500),
  kept: new Date(5).getTime() === 5 && new Date() instanceof Date && new Date().constructor === Date,
});
"""
_PAGE = """<!doctype html><title>realms</title><img src="/slow.png">
<script src="/ask.js"></script>
<script>
  const say = (said) => fetch("/said?" + encodeURIComponent(JSON.stringify(said)));
  say({...given("page"), navigated: Math.abs(performance.timing.navigationStart - Date.now()) < 5000});
  onmessage = (event) => say(event.data);
  new Worker("/worker.js").onmessage = (event) => say(event.data);
  const shared = new SharedWorker("/shared.js");
  shared.port.onmessage = (event) => say(event.data);
  navigator.serviceWorker.onmessage = (event) => say(event.data);
  navigator.serviceWorker.register("/service.js").then(async (registration) => {
    const worker = registration.installing ?? registration.active;
    worker.postMessage("");
  });
  document.cookie = "kept=1; expires=" + new Date(Date.now() + 3600e3).toUTCString();
  say({realm: "cookie", kept: document.cookie});
  try { crypto.getRandomValues(new Float32Array(1)); }
  catch (error) { say({realm: "refused", why: error.name}); }
</script>
<iframe src="http://127.0.0.1:PORT/frame.html"></iframe>
"""
_FILES = {
    "/": ("text/html", _PAGE),
    "/ask.js": ("text/javascript", _ASK),
    "/frame.html": (
        "text/html",
        "<script src=/ask.js></script><script>parent.postMessage(given('frame'), '*')</script>",
    ),
    "/worker.js": ("text/javascript", _ASK + "postMessage(given('worker'));"),
    "/shared.js": (
        "text/javascript",
        _ASK + "onconnect = (event) => event.ports[0].postMessage(given('shared'));",
    ),
    "/service.js": (
        "text/javascript",
        _ASK + "onmessage = (event) => event.source.postMessage(given('service'));",
    ),
    "/said": ("text/plain", "heard"),
}


def written(url: str, kind: str, text: str, **more: Any) -> ServedResponse:
    return ServedResponse("GET", url, 200, [(b"content-type", kind.encode())], text.encode(), **more)


@contextmanager
def serving_at_a_port(responses: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Serve paths without TLS at this machine's own addresses, which are secure to browsers."""
    free = serving.open_server(serving.setting(None, "127.0.0.1:0", {"front.transport": "plaintext"}))
    port = free.port
    del free
    slow = ServedResponse("GET", "http://localhost/slow.png", 404, [], b"", think_ms=SLOW_MS)
    made = [
        written(f"http://localhost{path}", kind, text.replace("PORT", str(port)), any_query=path == "/said")
        for path, (kind, text) in responses.items()
    ]
    site = ServedRecording("realms", "http://localhost/", [*made, slow]).site()
    server = serving.open_server(
        serving.setting(None, f"127.0.0.1:{port}", {"front.transport": "plaintext"}), site
    )
    leave, end = Stopper(), Stopper()
    thread = threading.Thread(target=server.run, args=(leave, end))
    thread.start()
    try:
        yield f"http://localhost:{port}/"
    finally:
        leave.stop()
        end.stop()
        thread.join()


def said(timing: PageTiming) -> dict[str, Any]:
    """Give what the page was given, by realm."""
    from urllib.parse import unquote

    each = [one.url.partition("/said?")[2] for one in timing.resources if "/said?" in one.url]
    return {one["realm"]: one for one in (json.loads(unquote(text)) for text in each)}


def test_documents_and_workers_have_seeded_randomness_and_the_recording_s_time() -> None:
    chromium = need("chromium")
    with serving_at_a_port(_FILES) as url, local.started(chromium) as browser:
        one, two = (said(browser.load(url, scripts=seeded.scripts(RECORDED_AT))) for _ in range(2))
        other = said(browser.load(url, scripts=seeded.scripts(RECORDED_AT, seed=2)))
        plain = said(browser.load(url))
    realms = {"page", "frame", "worker", "shared", "service"}
    assert realms | {"cookie", "refused"} == one.keys() == two.keys() == other.keys() == plain.keys()
    for realm in realms:
        for name in ("random", "values", "id"):
            assert one[realm][name] == two[realm][name] != other[realm][name], (realm, name)
            assert one[realm][name] != plain[realm][name]
        assert 0 <= one[realm]["random"] < 1
        assert re.fullmatch(
            r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one[realm]["id"]
        )
        assert 0 <= one[realm]["now"] - RECORDED_AT * 1e3 < 60_000, "it runs on"
        assert one[realm]["same"] and one[realm]["kept"], realm
    assert len({one[realm]["random"] for realm in realms}) == len(realms)
    assert one["page"]["navigated"] and "kept=1" in one["cookie"]["kept"]
    assert one["refused"]["why"] == plain["refused"]["why"]


def test_a_clock_that_is_not_moved_is_the_machine_s() -> None:
    [script] = seeded.scripts(seed=7)
    assert script.endswith("(7, 0)")


# --- what is served of recordings and of sites ---


def exchange(url: str, **more: Any) -> RecordedExchange:
    plain: dict[str, Any] = {
        "url": url, "method": "GET", "request_fields": (), "request_body": b"", "status": 200,
        "response_fields": (("content-type", "text/css"),), "body": b"p {}", "body_state": BodyState.WHOLE,
        "wire_bytes": 4, "raw": None, "resource_type": "Other", "frame": "", "load": 1, "request": "1",
        "protocol": "h2", "address": "", "started": RECORDED_AT,
    }  # fmt: skip
    return RecordedExchange(**{**plain, **more})


def archive(*exchanges: RecordedExchange) -> Archive:
    note = LoadNote(1, "https://a.test/", False, RECORDED_AT, 1.0, "quiet")
    return Archive("a.wacz", [note], exchanges, "Chrome/1")


def test_of_each_url_the_responses_of_its_first_load_are_served() -> None:
    made = served.of_archive(
        archive(
            exchange("https://a.test/", status=304, load=1),
            exchange("https://a.test/", body=b"one", load=2),
            exchange("https://a.test/", body=b"two", load=2),
            exchange("https://a.test/", body=b"three", load=3),
            exchange("http://b.test:8080/late", load=3, protocol="http/1.1", body_state=BodyState.MISSING),
            exchange("blob:https://a.test/1"),
        )
    )
    assert [(one.url, one.body) for one in made.responses] == [
        ("https://a.test/", b"one"),
        ("https://a.test/", b"two"),
        ("http://b.test:8080/late", b"p {}"),
    ]
    assert (made.start, made.recorded_at, made.protocols) == (
        "https://a.test/",
        RECORDED_AT,
        {"a.test": "h2"},
    )
    assert made.notices == ["a.wacz: 1 bodies were not recorded whole"]
    assert [host for _, host in made.page().content.names_and_hosts()] == ["a.test", "b.test"]


@pytest.mark.parametrize("kept", [b"raw", None])
@pytest.mark.parametrize("length", [3, 0, None])
def test_a_body_is_sent_as_it_was_recorded_where_that_is_known(
    kept: bytes | None, length: int | None
) -> None:
    fields = (("Content-Encoding", "GZIP"),)
    [one] = served.of_archive(
        archive(
            exchange("https://a.test/", response_fields=fields, raw=kept, wire_bytes=length, protocol="h3")
        )
    ).responses
    assert (one.raw, one.wire_length, one.is_written) == (kept, length or None, not length)
    [plain] = served.of_archive(archive(exchange("https://a.test/", raw=b"p {}"))).responses
    assert (plain.raw, plain.wire_length, plain.is_written) == (None, None, False)


@pytest.mark.parametrize(
    ("wire", "own"), [(10, 1), (16_393, 16_384), (16_394 + 9, 16_385), (110_220, 110_157), (9, 0), (0, 0)]
)
def test_frames_of_h2_are_not_a_body_s_own_bytes(wire: int, own: int) -> None:
    fields = (("content-encoding", "br"),)
    made = [
        served.of_archive(
            archive(exchange("https://a.test/", response_fields=fields, wire_bytes=wire, protocol=protocol))
        )
        for protocol in ("h2", "http/1.1")
    ]
    assert [one.responses[0].wire_length for one in made] == [own or None, wire or None]


def site(folder: Path, *responses: dict[str, Any], start: str = "https://a.test/") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "site.json").write_text(json.dumps({"start": start, "responses": responses}))
    return str(folder)


def test_a_site_s_files_are_bodies_as_they_are_sent(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("p {}")
    (tmp_path / "a.css.gz").write_bytes(gzip.compress(b"p {}"))
    coded = {"url": "https://a.test/gz", "file": "a.css.gz", "fields": [["content-encoding", "gzip"]]}
    plain = {"url": "https://a.test/", "file": "a.css", "think_ms": 5, "any_query": True}
    made = served.read(
        [site(tmp_path, coded, {"url": "https://b.test/", "status": 204, "file": None}, plain)]
    )
    first, raw, empty = made.responses
    assert (first.url, first.body, first.think_ms, first.any_query, first.is_written) == (
        made.start, b"p {}", 5, True, True,
    )  # fmt: skip
    assert (raw.body, raw.raw, empty.status, empty.body) == (
        b"p {}",
        (tmp_path / "a.css.gz").read_bytes(),
        204,
        b"",
    )
    assert made.protocols == {"a.test": "h2", "b.test": "h2"}
    assert made.recorded_at is None


def test_hosts_of_one_server_have_one_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    pages = [{"url": f"https://{host}.test/", "file": "a"} for host in "ab"]
    folder = site(tmp_path, *pages)
    assert "hosts" not in json.loads(served.read([folder]).page().json)
    document = json.loads(Path(folder, "site.json").read_text()) | {"served_by": {"b.test": "a.test"}}
    Path(folder, "site.json").write_text(json.dumps(document))
    made = served.read([folder])
    assert made.served_by == {"b.test": "a.test"}
    assert json.loads(made.page().json)["hosts"]["b.test"]["served_by"] == "a.test"


def test_several_are_served_together_and_the_first_one_s_urls_count(tmp_path: Path) -> None:
    names = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own").write_text(name)
        pages = [{"url": f"https://{host}.test/", "file": "own"} for host in ("a", name)]
        names.append(site(folder, *pages))
    made = served.read(names)
    assert [(one.url, one.body) for one in made.responses] == [
        ("https://a.test/", b"one"),
        ("https://one.test/", b"one"),
        ("https://two.test/", b"two"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no description of a site"),
        ('{"start": "https://a.test/", "responses": []}', "has no responses"),
        (
            '{"start": "https://a.test/", "responses": [{"url": "https://a.test/", "file": "none"}]}',
            "is not there",
        ),
        ('{"start": "a", "responses": [{"url": "ftp://a.test/"}]}', "names no web server"),
    ],
)
def test_a_site_that_cannot_be_served_is_refused_with_its_file(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "site.json").write_text(text)
    with pytest.raises(InputError, match=said) as refused:
        served.read([str(tmp_path)]).site()
    assert str(refused.value).startswith(str(tmp_path))


def test_a_recording_without_bodies_is_not_served_beside_one_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    folder = site(tmp_path, {"url": "https://a.test/", "file": "a"})
    with pytest.raises(InputError, match=r"shop\.har: has no bodies"):
        served.read([folder, "shop.har"])


def test_what_was_not_as_recorded_is_said_at_the_end() -> None:
    said = {"exact": 3, "by_query": 0, "by_shape": 0, "unmatched": 0, "not_recorded": {}, "longer": []}
    assert served.in_words(said) == []
    one = "GET https://a.test/"
    longer = [{"request": one, "recorded_bytes": 1, "sent_bytes": 2}]
    unmatched = {f"{one}{number}": 1 for number in range(12)}
    lines = served.in_words(
        {**said, "by_query": 1, "unmatched": 12, "not_recorded": unmatched, "longer": longer}
    )
    assert lines[0].startswith("16 requests: 3 as recorded, 1 by the likest query")
    assert lines[1:3] == [f"not recorded: {one}0", f"not recorded: {one}1"]
    assert lines[-2:] == ["and 2 more", f"longer than recorded: {one} (2 bytes for 1)"]


def har(*entries: dict[str, Any]) -> dict[str, bytes]:
    page = {"id": "page_1", "startedDateTime": "2026-05-04T10:00:00Z", "pageTimings": {"onLoad": 300}}
    return {HAR: packed(json.dumps({"log": {"pages": [page], "entries": entries}}).encode())}


def entry(number: int, host: str, at_ms: float, wait: float, **times: float) -> dict[str, Any]:
    return {
        "pageref": "page_1",
        "startedDateTime": f"2026-05-04T10:00:{at_ms / 1e3:06.3f}Z",
        "_requestId": str(number),
        "request": {"method": "GET", "url": f"https://{host}/{number}"},
        "timings": {"blocked": -1, "send": 0, "wait": wait, "receive": 0, **times},
    }


def test_servers_think_while_nothing_comes_after_a_round_trip() -> None:
    times = har(
        # 20 ms away; it thinks for 30.
        entry(1, "a.test", 0, 50, connect=50, ssl=30, receive=100),
        # Asked at 100: until 200 the first response comes, then nothing until 230.
        entry(2, "a.test", 100, 130),
        # Another host, 60 ms away: 1,000 to 1,060 on the way, and 40 ms.
        entry(3, "b.test", 900, 100, connect=100, ssl=40),
        # Faster than its round trip.
        entry(4, "b.test", 2000, 50),
        {"no": "entry"},
    )
    urls = [f"https://{host}.test/{number}" for number, host in enumerate("aabb", 1)]
    exchanges = [
        exchange(url, request=str(number)) for number, url in enumerate([*urls, "https://a.test/5"], 1)
    ]
    made = served.of_archive(replace(archive(*exchanges), packed=times))
    assert [round(one.think_ms) for one in made.responses] == [30, 30, 40, 0, 0]


def test_a_host_whose_name_does_not_exist_is_served_by_none() -> None:
    body = {"status": 200, "content": {"size": 100, "mimeType": "text/html"}}
    document = entry(1, "a.test", 0, 50, connect=20) | {"time": 60, "response": body}
    failed = entry(2, "gone.test", 100, 0) | {"time": 80, "response": {"status": 0}}
    failed["response"]["_error"] = "net::ERR_NAME_NOT_RESOLVED"
    recorded = replace(archive(exchange("https://a.test/1")), packed=har(document, failed))
    assert NativePage.from_har(recorded.extra(HAR), 1).to_json().count('"name_error"') == 1
    assert served.of_archive(recorded).served_by == {}


# --- recorded, and loaded again without the network ---

_NEWS = """<!doctype html><title>again</title><link rel="stylesheet" href="/a.css">
<script src="https://cdn.test/app.js"></script><img src="/a.svg"><div id="slot"></div>
<script>
  const id = Math.random().toString(36).slice(2);
  new Image().src = "https://ads.test/seen?id=" + id + "&t=" + Date.now();
  new Image().src = "https://ads.test/b/" + crypto.randomUUID() + "/px.svg?page=news";
  fetch("https://ads.test/bid?slot=top&ord=" + Math.floor(Math.random() * 1e9), {
    method: "PUT", headers: {"x-id": id}, credentials: "include", body: "{}",
  }).then((answer) => answer.text()).then((text) => { slot.textContent = text; });
  for (let n = 0; n < 3; n++) fetch("/poll").then((answer) => answer.text());
  new Worker("/worker.js");
</script>
<iframe src="https://ads.test/frame.html"></iframe><img src="/slow.svg">
"""
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
_CORS = [
    ["access-control-allow-origin", "https://www.a.test"],
    ["access-control-allow-credentials", "true"],
    ["access-control-allow-methods", "PUT"],
    ["access-control-allow-headers", "x-id"],
]


def living_site(folder: Path) -> str:
    """Write a site with what depends on time and chance."""
    files = {
        "index.html": _NEWS,
        "a.css": "p { color: red } " * 100,
        "app.js": "document.title += '!'; " * 100,
        "worker.js": "fetch('/from-worker?r=' + Math.random())",
        "frame.html": "<script>new Image().src = '/in-frame?r=' + Math.random()</script>",
        "a.svg": _SVG,
        "text": "said",
    }
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)

    def one(url: str, file: str | None, kind: str, **more: Any) -> dict[str, Any]:
        own = {"url": f"https://{url}", "file": file, **more}
        return {**own, "fields": [["content-type", kind], *more.get("fields", [])]}

    svg, text = "image/svg+xml", "text/plain"
    ids = [f"{digit * 8}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}" for digit in "12"]
    return site(
        folder,
        one("www.a.test/", "index.html", "text/html"),
        one("www.a.test/a.css", "a.css", "text/css"),
        one("www.a.test/a.svg", "a.svg", svg),
        one("www.a.test/favicon.ico", "a.svg", svg),
        one("www.a.test/slow.svg", "a.svg", svg, think_ms=SLOW_MS),
        one("www.a.test/worker.js", "worker.js", "text/javascript"),
        one("www.a.test/from-worker", "text", text, any_query=True),
        one("www.a.test/poll", "text", text),
        one("cdn.test/app.js", "app.js", "text/javascript"),
        one("ads.test/seen", "a.svg", svg, any_query=True),
        *(one(f"ads.test/b/{own}/px.svg", "a.svg", svg, any_query=True) for own in ids),
        one("ads.test/bid", "text", text, method="PUT", any_query=True, fields=_CORS),
        one("ads.test/bid", None, text, method="OPTIONS", status=204, any_query=True, fields=_CORS),
        one("ads.test/frame.html", "frame.html", "text/html"),
        one("ads.test/in-frame", "a.svg", svg, any_query=True),
        start="https://www.a.test/",
    )


def requested(load: Any) -> list[str]:
    """Give what the main document asked for; for moments, that there was one."""
    return sorted(re.sub(r"\b\d{13}\b", "MOMENT", one["url"]) for one in load["resources"])


@pytest.mark.usefixtures("access")
def test_a_recorded_page_is_loaded_again_without_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chromium, _ = need("chromium"), need("certutil")
    monkeypatch.setattr(kernel, "PATIENCE", 120)
    page, recording = "https://www.a.test/", str(tmp_path / "a.wacz")
    network = ["--network", "20mbit,20ms"]
    built = living_site(tmp_path / "site")
    order = ["record", page, "-o", recording, "--runs", "1", "--settle", "1"]
    recorded = kernel.run("bed", built, *network, "--json", "--", *LOADSTONE, *order)
    assert recorded.code == 0, recorded.err
    first = json.loads(recorded.out.splitlines()[-1])["recording"]
    assert first["unmatched"] == 0 == len(first["longer"])

    again = kernel.run("bed", recording, *network, "--json", "--loads", "2", "--", chromium, page)
    assert again.code == 0, again.err
    one, two = again.document["variants"][0]["loads"]
    assert requested(one) == requested(two)
    assert any("/b/" in url for url in requested(one))
    matched = again.document["recording"]
    asked = matched["exact"] + matched["by_query"] + matched["by_shape"] + matched["unmatched"]
    assert asked >= 5 * 14
    assert matched["unmatched"] <= asked / 100, matched
    assert matched["unused"] == [] and matched["longer"] == []
