"""What `loadstone page --depths` says of pages whose answers can be computed by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone import depths
from loadstone.pages import Page, read
from test_recorded import entry, har

NETWORK = "1gbit,100ms"
"""Packets take next to nothing, so an object takes a round trip and what its server thinks."""
NEARLY = 1.0
"""What the browser's and the server's processing, 0.2 ms each, and packets add up to at most, in ms."""


def url(name: str) -> str:
    return f"https://a.test/{name}"


def need(name: str, **more: Any) -> dict[str, Any]:
    return {"node": url(name), **more}


def page(path: Path) -> str:
    """A style sheet and an image in the root; then what the sheet, and what the image's timer asks for."""
    objects: list[dict[str, Any]] = [
        {"url": url(""), "bytes": 5000},
        {"url": url("a.css"), "bytes": 1000, "think_ms": 300, "needs": [need("", why="markup")]},
        {"url": url("b.png"), "bytes": 2000, "think_ms": 100, "needs": [need("", why="markup")]},
        {"url": url("c.png"), "bytes": 3000, "needs": [{"node": "work", "timer_ms": 20, "why": "style"}]},
        {"url": url("e.png"), "bytes": 4000, "needs": [need("b.png", timer_ms=40)]},
        {"url": url("d.js"), "bytes": 1448, "needed": False},
    ]
    compute = [{"name": "work", "ms": 50, "needs": [need("a.css", why="fetched")]}]
    file = path / "made.page.json"
    file.write_text(json.dumps({"objects": objects, "compute": compute}))
    return str(file)


def test_levels_depths_times_and_slack_are_what_arithmetic_says(loadstone: Command, tmp_path: Path) -> None:
    found = loadstone("page", page(tmp_path), "--depths", "--network", NETWORK, "--json").document
    objects = {each["name"].removeprefix(url("")): each for each in found["objects"]}
    assert list(objects) == ["", "a.css", "b.png", "c.png", "e.png", "d.js"]
    assert [each["level"] for each in objects.values()] == [0, 1, 1, 2, 2, 1]
    assert [each["depth"] for each in objects.values()] == [3, 2, 2, 1, 1, 1]
    assert [each["on_critical_path"] for each in objects.values()] == [True, True, False, True, False, False]
    # After the root the page takes 400 for the sheet, 50 and 20, and 100 for its image: 570. The image is
    # there after 200, and what its timer asks for after 340.
    assert [objects[name]["slack_ms"] for name in ("", "a.css", "c.png")] == [0, 0, 0]
    assert objects["e.png"]["slack_ms"] == pytest.approx(570 - 340, abs=NEARLY)
    assert objects["b.png"]["slack_ms"] == objects["e.png"]["slack_ms"]
    assert objects["d.js"]["slack_ms"] is None
    assert objects[""]["to_finish_ms"] == found["plt_ms"]
    assert objects["a.css"]["to_finish_ms"] == pytest.approx(570, abs=NEARLY)
    assert objects["c.png"]["to_finish_ms"] == pytest.approx(100, abs=NEARLY)


def test_the_critical_path_is_network_computing_and_waiting(loadstone: Command, tmp_path: Path) -> None:
    found = loadstone("page", page(tmp_path), "--depths", "--network", NETWORK, "--json").document
    path = found["critical_path"]
    assert [leg["name"] for leg in path] == [url(""), url("a.css"), "work", url("c.png")]
    assert [leg["computing_ms"] for leg in path] == [0, 0, 50, 0]
    assert [leg["waiting_ms"] for leg in path] == [0, 0, 0, 20]
    # TCP, TLS 1.3, the root; the sheet, which takes 300 more; its image.
    assert found["critical_path_ms"] == {
        "network": pytest.approx(300 + 400 + 100, abs=2 * NEARLY),
        "computing": 50,
        "waiting": 20,
    }
    assert sum(found["critical_path_ms"].values()) == pytest.approx(found["plt_ms"], rel=1e-12)


def test_sizes_are_spread_and_small_ones_counted(loadstone: Command, tmp_path: Path) -> None:
    found = loadstone("page", page(tmp_path), "--depths", "--json").document
    # 1000, 1448, 2000, 3000, 4000, 5000: a quarter of the way is between the second and the third.
    assert found["sizes"] == {
        "min": 1000, "p25": 1448 + 0.25 * 552, "median": 2500, "p75": 3750, "p90": 4500, "max": 5000,
    }  # fmt: skip
    assert found["small_objects"] == {
        "4000": {"objects": 4, "share": 4 / 6}, "1448": {"objects": 1, "share": 1 / 6},
    }  # fmt: skip
    assert (found["network"], found["variant"]["protocol"]) == ("10/1mbit,100ms", "h2")


def test_the_table_has_the_least_slack_first(loadstone: Command, tmp_path: Path) -> None:
    said = loadstone("page", page(tmp_path), "--depths", "--network", NETWORK, "--protocol", "http/1.1").out
    rows = [line.split()[0].removeprefix(url("")) for line in said.splitlines() if line.startswith(url(""))]
    assert rows[:6] == ["", "a.css", "c.png", "b.png", "e.png", "d.js"]
    assert "over http/1.1 on 1gbit,100ms" in said
    assert "4 (67 %) are below 4 KB, 1 (17 %) are below one segment of 1,448 B" in said


def test_a_recording_is_loaded_on_the_network_that_it_tells_of(loadstone: Command, tmp_path: Path) -> None:
    # A handshake of 40 ms; 500,000 bytes in half a second are 8 Mbit/s.
    entries = [entry("a.test", "/", 0, 40, 100, 500, 500_000)]
    found = depths.depths(read(har(tmp_path, entries, 700)), {})
    assert found.cell.network.startswith("8")
    assert ",40ms," in found.cell.network
    assert found.cell.variant["protocol"] == "http/1.1"
    asked = depths.depths(found.page, {"network": "20/2mbit,20ms", "protocol": "h2"})
    assert (asked.cell.network, asked.cell.variant["protocol"]) == ("20/2mbit,20ms", "h2")


@pytest.mark.parametrize("name", ["synthetic:A", "example:shop"])
def test_laws_hold_for_every_kind_of_page(name: str) -> None:
    found = depths.depths(Page.read(name), {})
    last = found.critical_path[-1]["name"]
    for each in found.objects:
        assert each["depth"] >= 1
        assert each["slack_ms"] is None or each["slack_ms"] >= 0
        # Nothing of these pages is computed on a thread for which it waits.
        assert not each["on_critical_path"] or each["slack_ms"] == 0
        assert each["slack_ms"] is None or each["slack_ms"] <= each["to_finish_ms"]
        assert each["name"] != last or each["depth"] == 1
    assert found.objects[0]["level"] == 0
    assert sum(found.path_ms().values()) == pytest.approx(found.plt_ms, rel=1e-12)


def test_options_of_the_load_want_depths_and_a_survey_none(loadstone: Command) -> None:
    for options, why in ((["--network", "cable"], "add it"), (["--survey", "--depths"], "give either")):
        refused = loadstone("page", "synthetic:A", *options)
        assert refused.code == 2
        assert why in refused.err
