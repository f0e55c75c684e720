"""A recording as a page: how its loads are put together, what its graph has, and how it is loaded."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import test_recording as recorded
from conftest import Command
from loadstone import experiment, pages
from loadstone.files import InputError
from loadstone.recording import Archive, archive
from loadstone.recording.graph import graph_of
from loadstone.stability import Stability

URL = "https://a.test/"
TEXT = b"<script src=a.js></script><p>text"
TAG = len(b"<script src=a.js>")


def _slice(name: str, at: int, dur: int, **data: Any) -> dict[str, Any]:
    said = {"data": data, "beginData": data}
    return {
        "name": name,
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "ts": at,
        "dur": dur,
        "args": said,
    }


def _trace(script_us: int) -> bytes:
    """A document with a script that the parser stops for, which takes so many microseconds."""
    initiator = {"type": "parser", "url": URL, "lineNumber": 0, "columnNumber": TAG}
    sent = _slice(
        "ResourceSendRequest",
        3_000,
        0,
        requestId="2",
        url=URL + "a.js",
        frame="F",
        resourceType="Script",
        renderBlocking="blocking",
        initiator=initiator,
    )
    events = [
        _slice("RunTask", 1_000, 5_000),
        _slice("CommitLoad", 2_000, 1, frame="F", url=URL, isOutermostMainFrame=True),
        _slice("HTMLDocumentParser::MaybeFetchQueuedPreloads", 2_900, 500),
        sent | {"ph": "I"},
        _slice("RunTask", 10_000, script_us),
        _slice("EvaluateScript", 10_000, script_us, url=URL + "a.js", lineNumber=1, columnNumber=1),
    ]
    return json.dumps({"traceEvents": events}).encode()


def _entry(load: int, number: str, url: str, kind: str) -> dict[str, Any]:
    return {
        "pageref": f"page_{load}",
        "startedDateTime": f"2026-01-01T00:00:00.00{number}Z",
        "time": 10,
        "_requestId": number,
        "_resourceType": kind,
        "request": {"method": "GET", "url": url, "headers": []},
        "response": {"status": 200, "headers": [], "bodySize": len(TEXT), "content": {"size": len(TEXT)}},
        "timings": {"wait": 1, "receive": 1},
    }


def _recording(onloads: dict[int, float | None], *, beacons: bool = False) -> Archive:
    """Loads by their numbers, with the times of their load events; load N has a script of N times 10 ms.

    A beacon has a time in its URL.
    """
    notes = [replace(recorded.NOTE, number=number, onload_ms=ms) for number, ms in onloads.items()]
    har = {
        "log": {
            "pages": [{"id": f"page_{number}"} for number in onloads],
            "entries": [
                entry
                for number in onloads
                for entry in (
                    _entry(number, "1", URL, "document"),
                    _entry(number, "2", URL + "a.js", "script"),
                    *([_entry(number, "3", f"{URL}seen?t={number * 1111}", "image")] if beacons else []),
                )
            ],
        }
    }
    document = replace(recorded.DOCUMENT, url=URL, body=TEXT, request="1")
    packed = {archive.HAR: archive.packed(json.dumps(har).encode())}
    packed |= {archive.trace_of(number): archive.packed(_trace(number * 10_000)) for number in onloads}
    exchanges = [replace(document, load=number) for number in onloads]
    return Archive("page.wacz", notes, exchanges, "Chrome/156", False, packed)


def _written(folder: Path, onloads: dict[int, float | None], *, beacons: bool = False) -> str:
    path = folder / "page.wacz"
    with path.open("wb") as out:
        _recording(onloads, beacons=beacons).write(out)
    return str(path)


def _script_ms(page: pages.Page) -> float:
    [node] = [node for node in json.loads(page.json)["compute"] if node["name"].startswith("run ")]
    ms: float = node["ms"]
    return ms


def test_the_load_that_was_filmed_is_the_base(tmp_path: Path) -> None:
    made = _recording({1: 900.0, 2: 700.0, 3: 800.0})
    made = replace(made, loads=[replace(one, filmed=one.number == 1) for one in made.loads])
    har = json.loads(made.extra(archive.HAR))
    har["log"]["pages"][0] |= {"_viewSteps": [{"ms": 20.0, "share": 1.0, "of": ""}]}
    made = made.with_extra(archive.HAR, json.dumps(har).encode())
    path = tmp_path / "page.wacz"
    with path.open("wb") as out:
        made.write(out)
    again = Archive.read(str(path))
    assert [one.filmed for one in again.loads] == [True, False, False]
    page = json.loads(graph_of(again).to_json())
    assert [node["name"] for node in page["compute"] if node.get("view_share") == 1] == ["view 1"]
    other = json.loads(graph_of(again, 2).to_json())
    assert not [node for node in other["compute"] if "view_share" in node]


def test_complete_loads_are_put_together_unless_one_is_named(tmp_path: Path) -> None:
    path = _written(tmp_path, {1: 900.0, 2: 700.0, 3: 800.0, 4: None})
    assert _script_ms(pages.read(path)) == 20
    assert [_script_ms(pages.read(f"{path}#{number}")) for number in (1, 2, 3, 4)] == [10, 20, 30, 40]
    assert Stability.of(pages.read(f"{path}#3")) is None
    stability = Stability.of(pages.read(path))
    assert stability is not None
    assert (stability.count, stability.unstable_edges, stability.changing_urls) == (3, 0, [])
    # 10, 20 and 30 ms deviate by half; everything else takes the same time in all loads.
    nodes = {node["name"]: node for node in json.loads(pages.read(path).json)["compute"]}
    assert nodes[f"run {URL}a.js"]["deviation_percent"] == 50
    assert nodes[f"commit {URL}"].get("deviation_percent", 0) == stability.computing_percent == 0
    with pytest.raises(InputError, match="there is no load 5: choose one from 1 to 4"):
        pages.read(f"{path}#5")


def test_one_load_is_no_page_of_several(tmp_path: Path) -> None:
    path = _written(tmp_path, {1: 900.0, 2: None})
    assert pages.read(path).json == pages.read(f"{path}#1").json


def test_warm_loads_and_loads_of_other_pages_are_not_put_together(tmp_path: Path) -> None:
    whole = _recording({1: 900.0, 2: 700.0, 3: 800.0})
    for change in ({"url": "https://a.test/other"}, {"warm": True}):
        loads = [replace(whole.loads[0], **change), *whole.loads[1:]]
        page = pages.Page("page", graph_of(replace(whole, loads=loads)))
        # 20 and 30 ms: those of the second and the third load.
        assert _script_ms(page) == 25
        stability = Stability.of(page)
        assert stability is not None
        assert stability.count == 2


def test_a_load_whose_beacon_has_the_time_in_its_url(loadstone: Command, tmp_path: Path) -> None:
    path = _written(tmp_path, {1: 900.0, 2: 700.0, 3: 800.0}, beacons=True)
    loads = loadstone("page", path, "--json").document["loads"]
    [url] = loads["changing_urls"]
    assert url.startswith(f"{URL}seen?t=")
    assert (loads["count"], loads["unstable_objects"], loads["left_out_objects"]) == (3, [], 0)
    shown = loadstone("page", path).out
    assert re.search(r"loads put together +3\n", shown)
    assert re.search(r"edges that not all have +0 of ", shown)
    assert re.search(r"objects whose URL changes +1\n", shown)
    assert url in shown
    assert loadstone("page", f"{path}#1", "--json").document["loads"] is None


def test_runs_vary_as_the_recorded_loads_did(loadstone: Command, tmp_path: Path) -> None:
    path = _written(tmp_path, {1: 900.0, 2: 700.0, 3: 800.0})

    def plts(name: str) -> list[float]:
        cell = experiment.cell(pages.read(name), {"spread.times": 10})
        return [outcome.plt_ms for outcome in experiment.execute(cell.jobs(100, 1), 1)]

    said = "servers' times by 10 %, computing as between the page's 3 loads"
    assert said in " ".join(loadstone("load", path).out.split())
    assert "loads" not in loadstone("load", path, "--exact").out
    assert "servers' and page's times by 10 %" in " ".join(loadstone("load", f"{path}#2").out.split())

    # A standard deviation of 50 % of 20 ms is 17.3 ms more or less, all equally likely.
    measured, usual = plts(path), plts(f"{path}#2")
    assert 30 < max(measured) - min(measured) < 35
    assert max(usual) - min(usual) < 6


def test_a_script_is_found_by_the_byte_after_its_tag(tmp_path: Path) -> None:
    page = json.loads(pages.read(_written(tmp_path, {1: 900.0})).json)
    [script] = [one for one in page["objects"] if one["url"].endswith("a.js")]
    [need] = [need for need in script["needs"] if need.get("on") == "bytes"]
    assert (need["node"], need["bytes"], need["why"]) == (URL, TAG, "markup")
    assert page["scheduling"] == "chromium"


def test_recordings_are_loaded_as_browsers_of_today_do_that_know_nothing(tmp_path: Path) -> None:
    page = pages.read(_written(tmp_path, {1: 900.0}))
    usual = experiment.cell(page, {}).variant
    assert (usual["names"], usual["tls_flights"]) == ("looked-up", "2026")
    asked = experiment.cell(page, {"variant.names": "cached", "variant.tls_flights": "2013"}).variant
    assert (asked.get("names", "cached"), asked.get("tls_flights", "2013")) == ("cached", "2013")


def test_computing_is_scaled(tmp_path: Path) -> None:
    page = pages.read(_written(tmp_path, {1: 900.0}))

    def plt_ms(compute: str) -> float:
        cell = experiment.cell(page, {**experiment.EXACT, "variant.compute": compute})
        [outcome] = experiment.execute(cell.jobs(1, 1), 1)
        return outcome.plt_ms

    # The script of 10 ms, and 2 ms until it is asked for, while the document comes into its frame.
    assert plt_ms("phone") - plt_ms("1") == pytest.approx(3 * (10 + 2), abs=0.5)


def test_what_cannot_be_a_page_is_refused_in_one_line(loadstone: Command, tmp_path: Path) -> None:
    path = _written(tmp_path, {1: None})
    result = loadstone("load", path)
    assert result.code == 2
    assert result.err.strip().endswith("no load came to its end: record it again, with more --patience")
    assert loadstone("load", path + "#1", "--exact").code == 0
