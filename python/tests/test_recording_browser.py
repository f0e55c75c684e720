"""Pages recorded by a real Chromium from a server on this machine: what is kept."""

import json
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import kernel
from conftest import Command, Record, need
from loadstone.browser import local
from loadstone.browser.devtools import Devtools
from loadstone.files import InputError
from loadstone.recording import Archive, BodyState, archive
from loadstone.recording.graph import graph_of
from loadstone.recording.visit import Visit
from sites import SVG, Handler, Server, body, events, initiators, paths, silent, trace

# --- what is kept ---


def test_a_page_with_all_that_it_loads(server: Server, record: Record) -> None:
    """Objects of the document, of a frame of another site, of a worker and a service worker."""
    url = server.page(
        '<link rel=stylesheet href=a.css><script src=a.js></script><img src=a.svg>'
        f'<iframe src="{server.other}/frame.html"></iframe>',
        a_css="p { color: red }",
        a_js="new Worker('worker.js'); navigator.serviceWorker.register('service.js');",
        a_svg=SVG,
        frame_html="<img src=in_frame.svg>",
        in_frame_svg=SVG,
        worker_js="fetch('of_worker.json')",
        of_worker_json="{}",
        service_js="oninstall = (event) => event.waitUntil(fetch('of_service.json'))",
        of_service_json="[]",
    )  # fmt: skip
    made = record(url)
    everything = ["a.css", "a.js", "a.svg", "frame.html", "in_frame.svg", "of_service.json", "of_worker.json"]
    assert paths(made) == sorted([*everything, "", "service.js", "worker.js"])
    for one in made.exchanges:
        if not one.url.endswith("favicon.ico"):
            assert one.body == server.pages[f"/{one.url.split('/', 3)[3]}"][1]
            assert (one.body_state, one.raw, one.status) == (BodyState.WHOLE, one.body, 200)
            assert one.response_field("content-length") == str(len(one.body))
    by_path = {one.url.rpartition("/")[2]: one for one in made.exchanges}
    assert by_path["in_frame.svg"].frame != by_path["a.svg"].frame == made.loads[0].main_frame
    assert (by_path["a.css"].resource_type, by_path["of_worker.json"].resource_type) == (
        "Stylesheet",
        "Fetch",
    )
    kinds = {said.get("type") for said in events(made)}
    assert {"page", "iframe", "worker", "service_worker"} <= kinds
    [load] = made.loads
    assert (load.ended, load.title, load.lost, load.warm) == ("quiet", "A page", 0, False)
    assert load.onload_ms is not None and 0 < load.onload_ms < 20_000
    assert json.loads(made.extra(archive.HAR))["log"]["pages"][0]["pageTimings"]["onLoad"] == pytest.approx(
        load.onload_ms, abs=0.01
    )


def test_no_body_is_asked_for_while_a_page_loads(
    server: Server, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its main thread would have to give it."""
    said: list[tuple[str, str | None]] = []
    post, take = Devtools.post, Visit._take

    def posted(
        devtools: Devtools, method: str, until: float, session: str | None = None, *more: Any, **given: Any
    ) -> None:
        said.append((method, session))
        post(devtools, method, until, session, *more, **given)

    def taken(visit: Visit, event: dict[str, Any]) -> None:
        said.append((event["method"], event.get("sessionId")))
        take(visit, event)

    monkeypatch.setattr(Devtools, "post", posted)
    monkeypatch.setattr(Visit, "_take", taken)
    frame = f'<iframe src="{server.other}/frame.html"></iframe>'
    record(server.page(f"<img src=a.svg>{frame}", a_svg=SVG, frame_html="<img src=b.svg>", b_svg=SVG))
    asked = [
        (at, session) for at, (method, session) in enumerate(said) if method == "Network.getResponseBody"
    ]
    assert len(asked) >= 4
    for at, session in asked:
        assert ("Page.loadEventFired", session) in said[:at]


def test_the_graph_is_that_of_all_loads(server: Server, record: Record) -> None:
    script = "new Image().src = 'seen.svg?' + Math.random()"
    url = server.page("<script src=a.js></script><p>x", a_js=script)
    made = record(url, runs=2)
    graph = json.loads(made.extra(archive.GRAPH))
    assert graph == json.loads(graph_of(made).to_json())
    assert graph["loads"]["count"] == 2
    changing = [one["url"] for one in graph["objects"] if one.get("changes")]
    assert len(changing) == 1 and changing[0].startswith(f"{url}seen.svg?")
    # Chromium may know of a second load that there is no icon.
    of_one = {one["url"] for one in graph["objects"] if "seen" in one}
    assert of_one <= {f"{url}favicon.ico"}


def test_the_trace_is_that_of_the_page_s_processes(server: Server, record: Record) -> None:
    script = "const until = performance.now() + 50; while (performance.now() < until);"
    url = server.page("<script src=a.js></script><p>x", a_js=script)
    made = record(url, runs=2)
    for load in (1, 2):
        found = trace(made, load)
        asked = {one["args"]["data"]["url"] for one in found if one["name"] == "ResourceSendRequest"}
        assert asked and all(one.startswith(url) for one in asked)
        names = {one["args"]["name"] for one in found if one["name"] == "process_name"}
        assert names == {"Renderer"}
        [ran] = [
            one
            for one in found
            if one["name"] == "EvaluateScript" and one["args"]["data"]["url"] == f"{url}a.js"
        ]
        assert ran["dur"] >= 49_000 and 0 < ran["tdur"] <= ran["dur"]
        # DevTools' clock is that of the trace.
        sent = [one for one in events(made, load) if one["method"] == "Network.requestWillBeSent"]
        assert sent[0]["params"]["timestamp"] * 1e6 < ran["ts"] < sent[0]["params"]["timestamp"] * 1e6 + 5e6


def test_a_load_ends_when_its_load_event_begins(server: Server, record: Record) -> None:
    """As `loadEventStart` of a page's own timing; DevTools tells when all that listens has run."""
    busy = "const until = performance.now() + 400; while (performance.now() < until);"
    made = record(server.page(f"<script>onload = () => {{ {busy} }}</script>"))
    [end] = [one for one in events(made) if one["method"] == "Page.loadEventFired"]
    began = min(
        one["params"]["timestamp"] for one in events(made) if one["method"] == "Network.requestWillBeSent"
    )
    onload = made.loads[0].onload_ms
    assert onload is not None and 0 < onload <= (end["params"]["timestamp"] - began) * 1e3 - 400


def test_what_was_painted_is_asked_when_the_load_is_over(server: Server, record: Record) -> None:
    url = server.page(
        '<body style="margin: 0"><p>x</p><img src=a.svg style="width: 300px; height: 200px">'
        '<div style="position: absolute; top: 9999px"><img src=b.svg></div>',
        a_svg=SVG,
        b_svg=SVG,
    )
    made = record(url)
    [page] = json.loads(made.extra(archive.HAR))["log"]["pages"]
    entries = json.loads(made.extra(archive.HAR))["log"]["entries"]
    shown = {entry["request"]["url"].rsplit("/", 1)[1]: entry.get("_viewPixels") for entry in entries}
    assert shown["a.svg"] == 300 * 200 and shown.get("b.svg") is None
    assert page["_viewPixels"] > 300 * 200 and page["pageTimings"]["_largestContentfulPaint"] > 0
    graph = json.loads(graph_of(made, keep_secrets=True).to_json())
    names = {node["name"] for node in graph["compute"]}
    assert names >= {"DOMContentLoaded", "first contentful paint", "largest contentful paint"}
    assert graph["view_pixels"] == page["_viewPixels"]


def test_the_last_of_several_loads_is_filmed(server: Server, record: Record) -> None:
    """The left half of the page is black at once, the right half when a script comes, a second later."""

    def late(handler: Handler) -> None:
        sleep(1)
        script = b"document.getElementById('right').hidden = false"
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(script)))
        handler.end_headers()
        handler.wfile.write(script)

    half = "style='position: absolute; top: 0; width: 50%; height: 100%; background: black;"
    halves = f"<div {half} left: 0'>x</div><div id=right hidden {half} right: 0'></div>"
    url = server.page(f"{halves}<script async src=late.js></script>")
    server.pages["/late.js"] = late
    made = record(url, runs=2)
    assert [load.filmed for load in made.loads] == [False, True]
    first, filmed = json.loads(made.extra(archive.HAR))["log"]["pages"]
    assert "_viewSteps" not in first
    left, right = filmed["_viewSteps"]
    assert (left["share"], right["share"]) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.5, abs=0.01))
    assert left["ms"] < 1000 < right["ms"] < made.loads[1].onload_ms + 300
    assert not any(one["method"].startswith("Page.screencast") for one in events(made, 2))
    graph = json.loads(graph_of(made, keep_secrets=True).to_json())
    assert [node["view_share"] for node in graph["compute"] if "view_share" in node] == [
        left["share"],
        right["share"],
    ]


def test_what_a_script_loads_is_known_by_its_stack(server: Server, record: Record) -> None:
    """Without asynchronous stacks Chromium names the parser for images, nothing for timers."""
    url = server.page(
        "<script src=a.js></script><img src=parser.svg>",
        a_js="new Image().src = 'now.svg'; setTimeout(() => { new Image().src = 'late.svg' }, 20)",
        now_svg=SVG, late_svg=SVG, parser_svg=SVG,
    )  # fmt: skip
    found = initiators(record(url))
    document = server.pages["/"][1].decode()
    assert found["parser.svg"]["type"] == "parser"
    assert found["parser.svg"]["columnNumber"] == document.index(">", document.index("<img")) + 1
    for name in ("now.svg", "late.svg"):
        assert found[name]["type"] == "script"
        assert f"{url}a.js" in json.dumps(found[name]["stack"])


def test_requests_of_a_document_s_first_bytes_are_not_lost(server: Server, record: Record) -> None:
    """Also after a redirect to another site, which changes the process: 10 loads of each."""
    url = server.page(
        "<link rel=stylesheet href=a.css><script src=a.js></script><img src=a.svg>",
        a_css="",
        a_js="1",
        a_svg=SVG,
    )

    def redirect(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{server.other}/")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.pages["/go"] = redirect
    made = record(url, f"{server.url}/go", runs=10)
    assert [one.lost for one in made.loads] == [0] * 20
    for load in range(1, 21):
        assert paths(made, load) == ["", "a.css", "a.js", "a.svg", *(["go"] if load > 10 else [])]
    went = [one for one in made.exchanges if one.load == 11][:2]
    assert [one.status for one in went] == [302, 200]
    assert went[0].response_field("location") == f"{server.other}/"


def test_bodies_are_exact_in_any_charset(server: Server, record: Record) -> None:
    odd = {
        "latin": ("text/plain; charset=iso-8859-1", "Ä€ß".encode("cp1252")),
        "mark": ("text/plain; charset=utf-8", b"\xef\xbb\xbfx"),
        "broken": ("text/css; charset=utf-8", b"/*\xff\xfe*/", ("Cache-Control", "max-age=60")),
        "latin.css": ("text/css; charset=iso-8859-1", "/*Ä€ß*/".encode("cp1252")),
        "mark.css": ("text/css", b"\xef\xbb\xbfx{}"),
        "binary": ("application/octet-stream", bytes(range(256))),
        "empty": ("text/plain", b""),
    }
    sheets = [name for name, (kind, *_) in odd.items() if kind.startswith("text/css")]
    links = "".join(f"<link rel=stylesheet href={name}>" for name in sheets)
    others = [name for name in odd if name not in sheets]
    url = server.page(f"{links}<script>for (const name of {others}) fetch(name)</script>")
    server.pages |= {f"/{name}": content for name, content in odd.items()}
    made = record(url)
    for name, (_, content, *_fields) in odd.items():
        assert body(made, f"/{name}")[0] == content
    assert body(made, "/broken")[1] is BodyState.AGAIN
    for name in ("empty", "latin.css", "mark.css", "binary"):
        assert body(made, f"/{name}")[1] is BodyState.WHOLE
    assert server.asked.count("/broken") == 1, "from the cache"


def test_coded_bodies_are_decoded_and_their_length_on_the_wire_is_known(
    server: Server, record: Record
) -> None:
    import gzip

    text = b"body { color: green }\n" * 200
    coded = gzip.compress(text)
    url = server.page("<link rel=stylesheet href=a.css>")
    server.pages["/a.css"] = ("text/css", coded, ("Content-Encoding", "gzip"))
    [found] = [one for one in record(url).exchanges if one.url.endswith("a.css")]
    assert (found.body, found.raw, found.wire_bytes) == (text, None, len(coded))
    assert found.response_field("content-encoding") == "gzip"


def test_a_warm_load_has_the_cache_of_the_one_before(server: Server, record: Record) -> None:
    url = server.page("<img src=a.svg>")
    server.pages["/a.svg"] = ("image/svg+xml", SVG, ("Cache-Control", "max-age=600"))
    made = record(url, runs=2, warm=True)
    assert [one.warm for one in made.loads] == [False, True, False, True]
    assert [paths(made, load) for load in (1, 2, 3, 4)] == [["", "a.svg"], [""], ["", "a.svg"], [""]]
    entries = json.loads(made.extra(archive.HAR))["log"]["entries"]
    cached = [one for one in entries if one["pageref"] == "page_2" and one.get("_fromCache")]
    assert len(cached) == 1


def test_scripts_of_ours_run_first_in_documents_and_workers(server: Server, record: Record) -> None:
    url = server.page(
        "<script>new Image().src = `${seed}.svg`; new Worker('w.js')</script>"
        f'<iframe src="{server.other}/frame.html"></iframe>',
        w_js="fetch(`of_worker_${seed}`)",
        frame_html="<script>new Image().src = `of_frame_${seed}.svg`</script>",
    )
    made = record(url, scripts=["globalThis.seed = 42"])
    assert {"42.svg", "of_worker_42", "of_frame_42.svg"} <= {*paths(made)}


def test_secrets_of_heads_are_replaced_unless_they_are_to_be_kept(server: Server, record: Record) -> None:
    url = server.page(
        "<script>fetch('a.json', {headers: {Authorization: 'Bearer topSecret2'}})</script>", a_json="{}"
    )
    kind, content = server.pages["/"]
    server.pages["/"] = (kind, content, ("Set-Cookie", "sid=topSecret1; Path=/"))
    kept = record(url, keep_secrets=True)
    assert kept.keeps_secrets
    shown = record(url)
    for one, is_there in ((kept, True), (shown, False)):
        heads = json.dumps([[other.request_fields, other.response_fields] for other in one.exchanges])
        texts = [heads, one.extra(archive.HAR).decode(), json.dumps(events(one))]
        for text in texts:
            assert "sid=" in text
            # What a script says is in a body of the page.
            assert [secret in text for secret in ("topSecret1", "topSecret2")] == [is_there] * 2
    [asked] = [one for one in shown.exchanges if one.url.endswith("a.json")]
    fields = {name.lower(): value for name, value in asked.request_fields}
    assert fields["authorization"].startswith("Bearer ") and fields["cookie"].startswith("sid=")


def test_bodies_of_requests_are_kept(server: Server, record: Record) -> None:
    sent = "fetch('a.json', {method: 'POST', body: new Uint8Array([0, 255, 13, 10])})"
    [found] = [
        one
        for one in record(server.page(f"<script>{sent}</script>", a_json="{}")).exchanges
        if one.method == "POST"
    ]
    assert found.request_body == b"\x00\xff\r\n"


# --- the verbs ---


def test_the_verb_writes_a_file_for_its_owner(
    server: Server, chromium: str, loadstone: Command, tmp_path: Path
) -> None:
    url, path = server.page("<img src=a.svg>", a_svg=SVG), tmp_path / "a.wacz"
    options = ["-o", str(path), "--settle", "0.3", "--runs", "2"]
    result = loadstone("record", url, *options)
    assert result.code == 0, result.err
    assert "Written to" in result.out and result.out.count("quiet") == 2
    assert path.stat().st_mode & 0o777 == 0o600
    again = loadstone("record", url, *options, "--json").document
    assert [one["ended"] for one in again["loads"]] == ["quiet", "quiet"]
    assert len(Archive.read(str(path)).loads) == 2
    har = tmp_path / "a.har"
    har.write_bytes(Archive.read(str(path)).extra(archive.HAR))
    page = loadstone("page", f"{har}#2", "--json").document
    assert page["objects"] >= 2


def test_mirror_records_each_page_once(
    server: Server, chromium: str, loadstone: Command, tmp_path: Path
) -> None:
    url, path = server.page("a", b_html="<img src=a.svg>", a_svg=SVG), tmp_path / "a.wacz"
    result = loadstone("mirror", url, f"{url}b.html", url, "-o", str(path), "--settle", "0.3")
    assert result.code == 0, result.err
    made = Archive.read(str(path))
    assert [one.url for one in made.loads] == [url, f"{url}b.html"]
    assert (paths(made, 1), paths(made, 2)) == ([""], ["a.svg", "b.html"])


def test_what_cannot_be_recorded_is_one_line(
    server: Server, chromium: str, loadstone: Command, tmp_path: Path
) -> None:
    output = ["-o", str(tmp_path / "a.wacz"), "--settle", "0.3", "--runs", "1"]
    server.pages["/silent"] = silent
    server.pages["/file"] = ("application/octet-stream", b"x")
    for url, more, why in (
        ("http://nowhere.invalid/", [], "net::ERR_NAME_NOT_RESOLVED"),
        ("http://127.0.0.1:9/", [], "http://127.0.0.1:9/: net::ERR_"),
        (f"{server.url}/silent", ["--patience", "2"], "no answer came in time"),
        (f"{server.url}/file", [], "/file: "),
        ("file:///etc/passwd", [], "give one that begins with https://"),
        ("https://", [], "give one that begins with https://"),
        (server.url, ["--chromium", "no-such-browser"], "no-such-browser: there is no such program"),
        (server.url, ["--chromium", "false"], "did not start"),
    ):
        result = loadstone("record", url, *output, *more)
        assert result.code == 2 and why in result.err and result.err.count("\n") == 1, result.err
    assert not [*tmp_path.iterdir()]


def test_without_a_browser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"no Chromium here: install it .*--chromium"):
        local.program()


def test_a_page_is_recorded_on_a_bed(access: None, chromium: str, tmp_path: Path) -> None:
    """Through a link of 100 ms, at the names of the servers."""
    need("certutil")
    (tmp_path / "index.html").write_text("<!doctype html><title>A</title><img src=a.svg>")
    (tmp_path / "a.svg").write_bytes(SVG)
    serve = f"{kernel.LOADSTONE[0]} -m loadstone serve {tmp_path} --listen 0.0.0.0:443"
    server = f'{serve} --cert "$SERVER_CERT" --key "$SERVER_KEY"'
    path = tmp_path / "a.wacz"
    command = [
        *kernel.LOADSTONE,
        "record",
        "https://server/",
        "-o",
        str(path),
        "--runs",
        "1",
        "--settle",
        "0.5",
    ]
    result = kernel.run("bed", "--network", "10mbit,100ms", "--server-command", server, "--", *command)
    assert result.code == 0, result.err
    made = Archive.read(str(path))
    assert {"", "a.svg"} <= {*paths(made)} and made.exchanges[0].protocol == "h2"
    onload = made.loads[0].onload_ms
    # The name, the handshakes of TCP and TLS, the page, the image: five round trips.
    assert onload is not None and onload > 490


def test_hosts_of_one_server_share_a_connection_in_the_browser_and_in_the_model(
    access: None, chromium: str, tmp_path: Path
) -> None:
    """The same page with two addresses and certificates, and with one of each, which HTTP/1.1 knows, too."""
    need("certutil")
    (tmp_path / "page.html").write_text('<!doctype html><title>A</title><img src="https://img.a.test/a.svg">')
    (tmp_path / "a.svg").write_bytes(SVG)
    responses = [
        {"url": "https://www.a.test/", "file": "page.html", "fields": [["content-type", "text/html"]]},
        {"url": "https://img.a.test/a.svg", "file": "a.svg", "fields": [["content-type", "image/svg+xml"]]},
    ]
    together = {"img.a.test": "www.a.test"}
    seen = []
    for served_by, protocol in (({}, "h2"), (together, "h2"), (together, "http/1.1")):
        document = {"start": "https://www.a.test/", "responses": responses, "served_by": served_by}
        (tmp_path / "site.json").write_text(json.dumps(document))
        path = str(tmp_path / "page.wacz")
        record = ["record", "https://www.a.test/", "-o", path, "--runs", "1", "--settle", "0.5"]
        link = ["--network", "10mbit,100ms", "--protocol", protocol]
        bed = kernel.run("bed", str(tmp_path), *link, "--", *kernel.LOADSTONE, *record)
        assert bed.code == 0, bed.err
        hosts = json.loads(graph_of(Archive.read(path)).to_json()).get("hosts", {})
        loaded = kernel.run("load", path, "--network", "10mbit,100ms", "--protocol", "h2", "--json")
        connections = json.loads(loaded.out)["runs"][0]["connections"]
        seen.append(({host: spec["served_by"] for host, spec in hosts.items()}, connections))
    assert seen == [({}, 2), (together, 1), (together, 1)]
