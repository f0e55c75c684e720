"""A recorded load beside the same load simulated."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone.pages import read
from loadstone.recorded import Recorded, Recording


def entry(host: str, path: str, at: int, connect: float, wait: float, receive: float, size: int) -> Any:
    return {
        "startedDateTime": f"2026-01-01T00:00:{at // 1000:02}.{at % 1000:03}Z",
        "time": connect + wait + receive,
        "request": {
            "method": "GET",
            "url": f"http://{host}{path}",
            "httpVersion": "http/1.1",
            "headers": [],
            "headersSize": 200,
        },
        "response": {
            "status": 200,
            "httpVersion": "http/1.1",
            "headers": [],
            "headersSize": 300,
            "bodySize": size,
            "content": {"size": size, "mimeType": "text/html"},
        },
        "timings": {"connect": connect, "send": 0, "wait": wait, "receive": receive},
    }


def har(folder: Path, entries: list[Any], load_ms: float | None) -> str:
    page = {
        "id": "p",
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "title": "",
        "pageTimings": {"onLoad": load_ms},
    }
    for one in entries:
        one["pageref"] = "p"
    path = folder / "recorded.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "pages": [page], "entries": entries}}))
    return str(path)


def recorded(path: str) -> Recorded:
    recording = Recording.of(read(path))
    assert recording is not None
    return recording.simulated(None)


def test_rate_and_distances_are_taken_from_the_recording(tmp_path: Path) -> None:
    # 500 KB in 400 ms are 10 Mbit/s; the second host is 60 ms farther away.
    entries = [
        entry("a.test", "/", 0, 40, 40, 400, 499_700),
        entry("b.test", "/x", 480, 100, 300, 10, 1000),
    ]
    path = har(tmp_path, entries, 900)
    notes = read(path).notes
    assert notes["handshakes_ms"] == {"a.test": 40, "b.test": 100}
    assert notes["down_kbit"] == pytest.approx(10_000, rel=0.01)
    beside = recorded(path)
    assert beside.recording.cell is not None
    assert beside.recording.cell.network == "10mbit,40ms,queue=500ms"
    # 40 + 40 + 400 ms; then 100 + 100 ms, 200 ms of the server's, and the last packets: with slow start more.
    assert beside.simulated_ms is not None and 880 < beside.simulated_ms < 960
    assert beside.error == pytest.approx(beside.simulated_ms / 900 - 1)
    assert beside.own_ms == {"b.test": pytest.approx(200, rel=0.1)}
    assert beside.own_share == pytest.approx(200 / beside.simulated_ms, rel=0.1)


def test_what_a_recording_does_not_tell_is_not_simulated(tmp_path: Path) -> None:
    without_handshake = [entry("a.test", "/", 0, -1, 40, 400, 499_700)]
    beside = recorded(har(tmp_path, without_handshake, 900))
    assert (beside.recording.cell, beside.simulated_ms, beside.error, beside.own_share) == (None,) * 4
    assert beside.lines("page") == ["page, as recorded: 1 host http/1.1; 900 ms."]
    no_load = recorded(har(tmp_path, [entry("a.test", "/", 0, 40, 40, 400, 499_700)], None))
    assert no_load.lines("page") == ["page, as recorded: 1 host http/1.1."]


def test_of_several_pages_it_says_which_was_taken(tmp_path: Path) -> None:
    path = har(tmp_path, [entry("a.test", "/", 0, -1, 40, 400, 1000)], 900)
    whole = json.loads(Path(path).read_text())
    (page,), (one,) = whole["log"]["pages"], whole["log"]["entries"]
    whole["log"]["pages"].append({**page, "id": "q"})
    whole["log"]["entries"].append({**one, "pageref": "q"})
    Path(path).write_text(json.dumps(whole))
    said = recorded(path).lines("page")[0]
    assert said == "page (page 1 of 2 in the file), as recorded: 1 host http/1.1; 900 ms."


def test_page_and_compare_say_how_it_compares(loadstone: Command) -> None:
    document = loadstone("page", "example:shop", "--json").document["recorded"]
    assert document["spoken"] == "3 hosts h2"
    assert document["error"] == document["simulated_ms"] / document["load_ms"] - 1
    assert document["own_share"] == sum(document["own_ms"].values()) / document["simulated_ms"]
    compared = loadstone("compare", "example:shop", "--network", "cable", "--json").document
    assert compared["pages"][0]["recorded"] == document
    words = loadstone("page", "example:shop").out
    assert "example:shop, as recorded: 3 hosts h2; 679 ms; simulated on the network as inferred" in words
    assert "no protocol can save more than" in words.replace("\n", " ")
    assert loadstone("page", "synthetic:A", "--json").document["recorded"] is None


def test_a_queue_that_overflows_is_warned_of(loadstone: Command) -> None:
    networks = ("--network", "5mbit,100ms,queue=8p", "--network", "5mbit,100ms,queue=1000p")
    shallow, deep = loadstone("compare", "example:shop", *networks, "--json").document["pages"][0]["networks"]
    assert all(share > 0.02 for share in shallow["overflows"].values()) and shallow["overflows"]
    assert deep["overflows"] == {}
    words = loadstone("compare", "example:shop", *networks).out
    assert words.count("The queue overflows: packets sent again, though none is lost at random: ") == 1
    for dropping in ("5mbit,100ms,5%,queue=1000p", "1mbit,300ms,queue=1000p,aqm=codel"):
        assert "overflows:" not in loadstone("compare", "example:shop", "--network", dropping).out
