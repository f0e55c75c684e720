"""What DevTools and the trace say of a load, put together; and secrets, which are replaced."""

import json
from dataclasses import replace
from typing import Any

import pytest

from loadstone.recording import Archive, BodyState, tracing
from loadstone.recording.archive import LoadNote
from loadstone.recording.film import Picture, Step, speed_index_ms, steps
from loadstone.recording.har_file import HarLoad, har
from loadstone.recording.masking import Mask
from loadstone.recording.network_log import Hop, NetworkLog, exchange_of
from loadstone.recording.painting import Painting
from loadstone.recording.recorder import Recording
from loadstone.recording.summary import in_words

NOTE = LoadNote(1, "https://a.test/", False, 0.0, 812.5, "quiet")

# --- secrets ---


def test_secrets_of_heads_are_replaced_by_what_is_as_long() -> None:
    mask = Mask(b"key")
    fields = (
        ("Cookie", "sid=Abc123; theme=dark; justone"),
        ("authorization", "Bearer eyJhbG.ciOi-J9"),
        ("set-cookie", "sid=Abc123; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly"),
        ("x-csrf-token", "77aa"),
        ("content-type", "text/html"),
        ("etag", '"abc"'),
    )
    shown = mask.fields(fields)
    assert [(name, len(value)) for name, value in shown] == [(name, len(value)) for name, value in fields]
    cookie, credentials, set_cookie, token, *public = (value for _, value in shown)
    assert cookie.startswith("sid=") and "; theme=" in cookie
    for secret in ("Abc123", "dark", "justone", "eyJhbG", "77aa"):
        assert secret not in f"{cookie} {credentials} {set_cookie} {token}"
    assert set_cookie.endswith("; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly")
    assert credentials.startswith("Bearer ")
    assert public == ["text/html", '"abc"']
    # The same word becomes the same, so that who compares cookies finds them.
    assert cookie.split(";")[0] == set_cookie.split(";")[0]
    assert Mask(b"other").fields(fields) != shown and Mask().value("cookie", "a=bcd") != "a=bcd"


def test_secrets_of_events_are_replaced_at_any_depth() -> None:
    event = {
        "method": "Network.requestWillBeSentExtraInfo",
        "params": {
            "headers": {"Cookie": "s=secret1", "Accept": "*/*"},
            "associatedCookies": [{"cookie": {"name": "s", "value": "secret2"}, "blockedReasons": []}],
            "blockedCookies": [{"cookieLine": "s=secret3; Path=/", "cookie": {"value": "secret4"}}],
            "headersText": "GET / HTTP/1.1\r\nCookie: s=secret5",
            "request": {"postData": "secret6", "url": "https://a.test/?kept=1"},
            "response": {"headers": {"X-Api-Key": "secret7"}},
            "args": {"data": {"headers": [{"name": "set-cookie", "value": "s=secret8; Secure"}]}},
        },
    }  # fmt: skip
    shown = json.dumps(Mask(b"key").event(event))
    assert "secret" not in shown
    assert "*/*" in shown and "?kept=1" in shown and "; Path=/" in shown and "; Secure" in shown


# --- what DevTools says ---


def sent(request: str, url: str, at: float, **more: Any) -> dict[str, Any]:
    asked = {"url": url, "method": "GET", "headers": {"A": "b"}, "initialPriority": "High"}
    params = {
        "requestId": request,
        "timestamp": at,
        "wallTime": 1000 + at,
        "type": "Document",
        "request": asked,
    }
    return {"method": "Network.requestWillBeSent", "params": {**params, "frameId": "F", **more}}


def event(method: str, request: str, **more: Any) -> dict[str, Any]:
    return {"method": f"Network.{method}", "params": {"requestId": request, **more}}


def test_redirects_get_what_was_sent_and_came_of_each() -> None:
    """The further information of a hop comes before or after it, but in the order of the hops."""
    hop = {"url": "https://a.test/", "status": 302, "headers": {}, "encodedDataLength": 90}
    last = {"url": "https://b.test/", "status": 200, "headers": {"x": "y"}, "encodedDataLength": 80}
    log = NetworkLog()
    for one in (
        event("requestWillBeSentExtraInfo", "1", headers={"Cookie": "first"}),
        sent("1", "https://a.test/", 1.0),
        event("responseReceivedExtraInfo", "1", statusCode=302, headers={"Set-Cookie": "a=1\nb=2"}),
        sent("1", "https://b.test/", 1.5, redirectResponse=hop, redirectHasExtraInfo=True),
        event("responseReceived", "1", timestamp=2.0, response=last, hasExtraInfo=True),
        event("dataReceived", "1", timestamp=2.1, dataLength=30, encodedDataLength=0),
        event("requestWillBeSentExtraInfo", "1", headers={"Cookie": "second"}),
        event("loadingFinished", "1", timestamp=2.2, encodedDataLength=100),
        event("responseReceivedExtraInfo", "1", statusCode=200, headers={"x": "z"}),
    ):
        log.take(one)
    first, second = log.hops()
    assert (first.url, first.status, first.is_redirected) == ("https://a.test/", 302, True)
    assert first.response_fields == (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))
    assert first.request_fields == (("Cookie", "first"),)
    assert (second.status, second.request_fields) == (200, (("Cookie", "second"),))
    made = exchange_of(second, 1, 1000, (b"x" * 30, BodyState.WHOLE), b"")
    assert (made.wire_bytes, made.started, made.response_fields) == (20, 1001.5, (("x", "z"),))
    assert not log.open


def test_a_cache_s_answer_is_not_the_network_s() -> None:
    answers = {
        "disk": {"fromDiskCache": True}, "worker": {"fromServiceWorker": True},
        "ahead": {"fromPrefetchCache": True}, "net": {}, "memory": {},
    }  # fmt: skip
    log = NetworkLog()
    for name, said in answers.items():
        log.take(sent(name, f"https://a.test/{name}", 1.0))
        if name == "memory":
            log.take(event("requestServedFromCache", name))
        response = {"url": "", "status": 200, "headers": {}, **said}
        log.take(event("responseReceived", name, timestamp=2.0, response=response, hasExtraInfo=False))
    log.take(sent("data", "data:text/plain,x", 1.0))
    log.take(
        event("responseReceived", "data", timestamp=2.0, response={"url": "", "status": 200, "headers": {}})
    )
    assert [hop.request for hop in log.hops() if hop.is_of_network] == ["net"]


def test_a_response_without_a_request_is_told() -> None:
    log = NetworkLog()
    response = {"url": "https://a.test/x", "status": 200, "headers": {}}
    log.take(event("responseReceived", "1", timestamp=2.0, response=response, type="Image"))
    [hop] = log.hops()
    assert hop.is_lost and hop.url == "https://a.test/x"


def test_a_har_has_the_phases_of_a_request() -> None:
    timing = {
        "requestTime": 10.1, "dnsStart": 1, "dnsEnd": 3, "connectStart": 3, "connectEnd": 9, "sslStart": 5,
        "sslEnd": 9, "sendStart": 10, "sendEnd": 11, "receiveHeadersEnd": 40,
    }  # fmt: skip
    log = NetworkLog()
    log.take(sent("1", "https://a.test/?k=v", 10.0, initiator={"type": "parser", "lineNumber": 3}))
    response = {"url": "", "status": 200, "headers": {"a": "b"}, "encodedDataLength": 50, "timing": timing}
    log.take(event("responseReceived", "1", timestamp=10.2, response={**response, "protocol": "h2"}))
    log.take(event("loadingFinished", "1", timestamp=10.3, encodedDataLength=150))
    load = HarLoad(1, "A", log.hops(), 10.0, 1000.0, 10.5, 10.9, 10.4)
    document = json.loads(har([load], "1", "Chrome/156", None))["log"]
    [entry] = document["entries"]
    assert entry["timings"] == {
        "blocked": 101.0, "dns": 2, "connect": 6, "ssl": 4, "send": 1, "wait": 29, "receive": 160.0
    }  # fmt: skip
    # `connect` has the TLS handshake in it; what is not known between the phases is 1 ms before sending.
    assert entry["time"] == pytest.approx(299)
    assert (entry["response"]["_transferSize"], entry["response"]["bodySize"]) == (150, 100)
    assert entry["_initiator"] == {"type": "parser", "lineNumber": 3} and entry["_priority"] == "High"
    assert entry["startedDateTime"] == "1970-01-01T00:16:50.000000Z"
    assert document["pages"][0]["pageTimings"] == {
        "onContentLoad": 500.0, "onLoad": 900.0, "_firstContentfulPaint": 400.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "is_from_disk"),
    [
        ({"response": {"fromDiskCache": True, "encodedDataLength": 0}}, True),
        ({"response": {"encodedDataLength": 0}}, True),
        ({"response": {"encodedDataLength": 0}, "extra_sent": {"headers": {}}}, False),
        ({"response": {"encodedDataLength": 0}, "is_redirected": True}, False),
        ({"response": {"encodedDataLength": 62}}, False),
        ({"response": {}}, False),
        ({}, False),
    ],
)
def test_what_came_from_the_cache_is_known_although_workers_do_not_say(
    more: dict[str, Any], is_from_disk: bool
) -> None:
    assert Hop("1", {}, **more).from_disk is is_from_disk


@pytest.mark.parametrize("answer", [{}, {"result": {"value": None}}, {"result": {"value": {"view": "x"}}}])
def test_a_page_that_does_not_say_what_it_painted_has_painted_nothing(answer: dict[str, Any]) -> None:
    assert Painting.of(answer) == Painting()


# --- the film ---


def _picture(at: float, complete: float, **changed: int) -> Picture:
    return Picture(at, complete, changed)


def test_the_speed_index_is_the_mean_moment_of_completeness() -> None:
    shown = [_picture(10.1, 0.0), _picture(10.2, 0.5), _picture(10.6, 1.0)]
    assert speed_index_ms(shown, 10) == pytest.approx(0.5 * 200 + 0.5 * 600)
    assert speed_index_ms([], 10) is None


def test_steps_are_what_is_there_for_good_by_the_places_that_changed() -> None:
    shown = [
        _picture(10.1, 0.25, here=3, there=1),
        _picture(10.2, 0.75, here=1),
        _picture(10.3, 0.5, there=9),
        _picture(10.4, 1.0, there=5),
    ]
    assert steps(shown, 10) == [
        Step(100, 0.0625, "there"),
        Step(100, 0.1875, "here"),
        Step(200, 0.25, "here"),
        Step(400, 0.5, "there"),
    ]
    assert steps([], 10) == []


# --- the trace ---


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_trace_is_read_in_pieces_of_any_size(size: int) -> None:
    events = [{"name": "a]}[{", "ts": 1}, {"name": '"\\', "args": {"b": [1, {"c": "]"}]}}, {"name": "ü"}]
    text = (
        '{"metadata_first": 1, "traceEvents": ' + json.dumps(events, indent=1) + ',\n"metadata": {"x": [{}]}}'
    )
    pieces = iter([text[at : at + size] for at in range(0, len(text), size)])
    assert [*tracing.events(lambda: next(pieces, None))] == events
    assert [*tracing.events(iter([None]).__next__)] == []


def test_a_trace_is_cut_by_time_and_by_the_processes_of_a_load_s_frames() -> None:
    def of(pid: int, ts: float, frame: str | None = None) -> dict[str, Any]:
        return {"pid": pid, "ts": ts, "ph": "X", "args": {"data": {"frame": frame}} if frame else {}}

    committed = {"pid": 1, "ts": 11, "ph": "I", "name": "FrameCommittedInBrowser"}
    committed["args"] = {"data": {"frame": "F1", "processId": 8}}
    named = {"pid": 7, "ts": 0, "ph": "M", "name": "process_name", "args": {"name": "Renderer"}}
    events = [
        of(7, 10),
        of(9, 12),
        of(7, 13, "F1"),
        committed,
        of(8, 14),
        of(7, 25, "F2"),
        of(8, 26),
        of(1, 15),
        named,
    ]
    one, two = tracing.Span({"F1"}, 10, 20), tracing.Span({"F2"}, 21, 30)
    tracing.cut(events, [one, two])
    assert one.events == [named, of(7, 10), of(7, 13, "F1"), of(8, 14)]
    assert two.events == [named, of(7, 25, "F2")]


def test_a_busy_machine_shows_in_the_tasks_of_the_page_s_thread() -> None:
    def task(thread: int, at: float, took: int, **worked: int) -> dict[str, Any]:
        return {"pid": 7, "tid": thread, "name": "RunTask", "ts": at, "ph": "X", "dur": took, **worked}

    named = {"pid": 7, "tid": 1, "ph": "M", "name": "thread_name", "args": {"name": "CrRendererMain"}}
    events = [
        named,
        task(1, 10, 300, tdur=100),
        task(1, 400, 100, tdur=100),
        task(1, 600, 9000),
        task(2, 10, 9000, tdur=1),
        task(1, 1000, 9000, tdur=1),
    ]
    assert tracing.wall_per_cpu(events, 1e-3) == 2
    assert tracing.wall_per_cpu(events, 1e-5) is None

    def said(*ratios: float) -> str:
        loads = [replace(NOTE, wall_per_cpu=ratio) for ratio in ratios]
        return in_words(Recording(Archive("", loads, [], "", False), []), "a.wacz")

    assert "took 2.0 times as long" in said(2.04)
    assert "times" not in said(1.4, 2.04, 1.4)
