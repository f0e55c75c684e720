"""What goes wrong while a page is recorded: it is marked, and what has come is kept."""

import base64
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import Record
from loadstone.recording import Archive, BodyState, recorder
from loadstone.recording.recorder import Order
from loadstone.recording.sessions import STACK_FRAMES, Sessions
from loadstone.recording.visit import Patience
from sites import QUICK, SVG, Handler, Server, body, events, initiators, paths, silent, trace


def stream(handler: Handler) -> None:
    """Send for ever, a line every so often."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    handler.wfile.write(b"data: first\n\n")
    while not handler.server.ended.wait(0.05):
        handler.wfile.write(b"data: more\n\n")


def test_streams_and_open_requests_end_with_the_load(
    server: Server, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.recording.visit.BUSY_S", 1.5)
    url = server.page("<script>new EventSource('stream'); fetch('silent')</script>")
    server.pages |= {"/stream": stream, "/silent": silent}
    made = record(url)
    assert made.loads[0].ended == "busy"
    content, state = body(made, "/stream")
    assert content.startswith(b"data: first\n\ndata: more\n\n") and state is BodyState.CUT
    assert paths(made) == ["", "stream"], "what was not answered is in the events alone"
    assert "silent" in initiators(made)


def test_websockets_are_in_the_events(server: Server, record: Record) -> None:
    def socket(handler: Handler) -> None:
        key = handler.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        handler.send_response(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header(
            "Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        )
        handler.end_headers()
        handler.wfile.write(b"\x81\x7e" + struct.pack(">H", 9000) + b"x" * 9000)
        handler.server.ended.wait(60)

    url = server.page(f"<script>new WebSocket('{server.url.replace('http', 'ws')}/socket')</script>")
    server.pages["/socket"] = socket
    made = record(url)
    [frame] = [one for one in events(made) if one["method"] == "Network.webSocketFrameReceived"]
    assert len(frame["params"]["response"]["payloadData"]) == 4096
    assert frame["params"]["response"]["payloadLength"] == 9000
    assert made.loads[0].ended == "quiet" and paths(made) == [""]


def test_a_page_whose_load_event_does_not_come_is_kept_as_far_as_it_came(
    server: Server, record: Record
) -> None:
    url = server.page("<img src=a.svg><img src=silent>", a_svg=SVG)
    server.pages["/silent"] = silent
    made = record(url, patience=Patience(load_s=3.0, settle_s=0.3))
    assert (made.loads[0].ended, made.loads[0].onload_ms) == ("late", None)
    assert paths(made) == ["", "a.svg"]


def test_a_renderer_that_crashes_costs_its_load_alone(server: Server, record: Record) -> None:
    crashes = iter([False, True, False])

    def killer(handler: Handler) -> None:
        if next(crashes):
            for child in psutil.Process().children(recursive=True):
                if "--type=renderer" in child.cmdline():
                    os.kill(child.pid, signal.SIGKILL)
        else:
            handler.send_error(404)

    url = server.page("<img src=a.svg><img src=killer>", a_svg=SVG)
    server.pages["/killer"] = killer
    made = record(url, runs=3)
    assert [one.ended for one in made.loads] == ["quiet", "crashed", "quiet"]
    assert "" in paths(made, 2) and paths(made, 3) == ["", "a.svg", "killer"]


def test_a_browser_that_ends_leaves_the_loads_before(server: Server, chromium: str) -> None:
    ends = iter([False, True])

    def killer(handler: Handler) -> None:
        if next(ends):
            for child in psutil.Process().children(recursive=True):
                child.kill()
        else:
            handler.send_error(404)

    url = server.page("<img src=killer>")
    server.pages["/killer"] = killer
    made = recorder.record(chromium, Order([url], runs=3, patience=QUICK))
    assert [one.ended for one in made.archive.loads] == ["quiet"]
    load, trace_of_it = made.failed
    assert load.endswith("the browser has ended") and trace_of_it.startswith("no trace: ")


def test_an_interrupt_leaves_the_loads_before(server: Server, chromium: str, tmp_path: Path) -> None:
    calls = iter([False, False, True])
    running: list[subprocess.Popen[str]] = []

    def interrupt(handler: Handler) -> None:
        if next(calls):
            running[0].send_signal(signal.SIGINT)
            handler.server.ended.wait(60)
        else:
            handler.send_error(404)

    url, path = server.page("<img src=interrupt>"), tmp_path / "a.wacz"
    server.pages["/interrupt"] = interrupt
    command = [
        sys.executable,
        "-m",
        "loadstone",
        "record",
        url,
        "-o",
        str(path),
        "--settle",
        "0.3",
        "--runs",
        "9",
    ]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        running.append(process)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    made = Archive.read(str(path))
    assert [one.ended for one in made.loads] == ["quiet", "quiet"] and out.count("quiet") == 2
    assert trace(made, 2)


def test_dialogs_downloads_and_pages_loaded_ahead_hold_nothing_up(server: Server, record: Record) -> None:
    ahead = {"prerender": [{"source": "list", "urls": ["/other.html"], "eagerness": "immediate"}]}
    url = server.page(
        "<script>alert(1); if (confirm('x')) fetch('confirmed.json')</script><iframe src=file></iframe>"
        f"<script type=speculationrules>{json.dumps(ahead)}</script>",
        confirmed_json="{}",
        other_html="<img src=of_other.svg>",
    )
    server.pages["/file"] = ("application/octet-stream", b"x", ("Content-Disposition", "attachment"))
    made = record(url)
    assert made.loads[0].ended == "quiet"
    assert {"", "confirmed.json"} <= {*paths(made)}
    assert "/of_other.svg" not in server.asked, "another page is no part of it"


class FakeDevtools:
    """Takes what is posted."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, str | None, Any]] = []

    def post(self, method: str, _until: float, session: str | None = None, **given: Any) -> None:
        self.posted.append((method, session, given))


def attached(
    session: str, kind: str, target: str, parent: str | None = None, context: str = "C"
) -> dict[str, Any]:
    told = {"type": kind, "targetId": target, "url": "", "browserContextId": context}
    params = {"sessionId": session, "targetInfo": told, "waitingForDebugger": True}
    return {
        "method": "Target.attachedToTarget",
        "params": params,
        **({"sessionId": parent} if parent else {}),
    }


def test_sessions_are_those_of_the_page_each_once() -> None:
    devtools = FakeDevtools()
    sessions = Sessions(devtools, "C", ["script"])  # type: ignore[arg-type]
    for event in (
        attached("other", "page", "T0", context="D"),
        attached("main", "page", "T1"),
        attached("window", "page", "T2"),
        attached("service", "service_worker", "T3"),
        attached("service again", "service_worker", "T3", "main"),
        attached("frame", "iframe", "T4", "main"),
        attached("worker", "worker", "T5", "frame"),
    ):
        sessions.take(event)
    assert [*sessions.known] == ["main", "service", "frame", "worker"]
    assert ("Target.closeTarget", None, {"targetId": "T2"}) in devtools.posted
    assert ("Target.detachFromTarget", None, {"sessionId": "service again"}) in devtools.posted
    for session in sessions.known:
        of_session = [method for method, name, _ in devtools.posted if name == session]
        assert of_session[0] == "Network.enable" and of_session[-1] == "Runtime.runIfWaitingForDebugger"
        assert of_session.count("Target.setAutoAttach") == 1
        # Else it notes 200 calls for each error that a script makes.
        few = ("Runtime.setMaxCallStackSizeToCapture", session, {"size": STACK_FRAMES})
        assert devtools.posted.index(few) > devtools.posted.index(("Runtime.enable", session, {}))
    sessions.take({"method": "Target.detachedFromTarget", "params": {"sessionId": "worker"}})
    assert "worker" not in sessions.known


def test_a_page_that_goes_on_to_another_is_recorded_to_the_end(server: Server, record: Record) -> None:
    """Also if the other one takes longer to answer than the network has to be quiet."""

    def slow(handler: Handler) -> None:
        handler.server.ended.wait(3 * QUICK.settle_s)
        content = b"<title>Next</title><img src=a.svg>"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    url = server.page(
        "<img src=b.svg><script>onload = () => { location = '/next.html' }</script>", a_svg=SVG, b_svg=SVG
    )
    server.pages["/next.html"] = slow
    made = record(url)
    assert paths(made) == ["", "a.svg", "b.svg", "next.html"]
    assert {one.body_state for one in made.exchanges} == {BodyState.WHOLE, BodyState.AGAIN}
    assert {one.body for one in made.exchanges if one.url.endswith(".svg")} == {SVG}
    assert made.loads[0].title == "Next"
    loaded = [one for one in events(made) if one["method"] == "Page.loadEventFired"]
    assert len(loaded) == 2


def test_a_frame_that_goes_away_leaves_its_bodies(server: Server, record: Record) -> None:
    frame = f"<iframe src='{server.other}/frame.html' onload='this.remove()'></iframe>"
    made = record(server.page(frame, frame_html="<img src=of_frame.svg>", of_frame_svg=SVG))
    states = {one.url.rpartition("/")[2]: one.body_state for one in made.exchanges}
    assert {states["frame.html"], states["of_frame.svg"]} <= {BodyState.WHOLE, BodyState.AGAIN}


def test_a_page_that_starts_a_download_stays_where_it_is(server: Server, record: Record) -> None:
    url = server.page("<script>onload = () => { location = '/file' }</script>")
    server.pages["/file"] = ("application/octet-stream", b"x", ("Content-Disposition", "attachment"))
    made = record(url)
    assert made.loads[0].ended == "quiet" and made.loads[0].title == "A page"


def test_many_objects(server: Server, record: Record) -> None:
    images = "".join(f"<img src='a.svg?{number}'>" for number in range(1000))
    made = record(server.page(images, a_svg=SVG))
    assert len(paths(made)) == 1001
    assert {one.body_state for one in made.exchanges} == {BodyState.WHOLE}
