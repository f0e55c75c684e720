"""Two states of a page."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command

BEFORE = [
    {"url": "https://a.test/", "bytes": 20_000},
    {"url": "https://a.test/app.js?v=1", "bytes": 50_000},
    {"url": "https://a.test/logo.png", "bytes": 9_000},
    {"url": "https://old.test/tag.js", "bytes": 30_000},
]
AFTER = [
    {"url": "https://a.test/", "bytes": 20_050},
    {"url": "https://a.test/app.js?v=2", "bytes": 250_000},
    {"url": "https://a.test/logo.png", "bytes": 9_000},
    {"url": "https://new.test/tag.js", "bytes": 40_000},
    {"url": "https://new.test/more.js", "bytes": 1_000},
]


@pytest.fixture
def states(tmp_path: Path) -> tuple[str, str]:
    paths = []
    for name, objects in (("before", BEFORE), ("after", AFTER)):
        path = tmp_path / f"{name}.page.json"
        path.write_text(json.dumps({"objects": objects}))
        paths.append(str(path))
    return paths[0], paths[1]


def names(listed: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in listed]


def test_objects_are_found_again_by_host_and_path(loadstone: Command, states: tuple[str, str]) -> None:
    document = loadstone("diff", *states, "--network", "cable", "--json").document
    assert names(document["added"]) == ["https://new.test/tag.js", "https://new.test/more.js"]
    assert names(document["gone"]) == ["https://old.test/tag.js"]
    (changed,) = document["changed"]
    assert (changed["name_before"], changed["name"]) == (BEFORE[1]["url"], AFTER[1]["url"])
    assert (changed["bytes_before"], changed["bytes"]) == (50_000, 250_000)
    assert document["same"] == 2, "50 bytes more are as many"


def test_the_state_after_is_held_against_the_one_before(loadstone: Command, states: tuple[str, str]) -> None:
    document = loadstone("diff", *states, "--network", "cable", "--network", "4g", "--json").document
    assert [network["name"] for network in document["networks"]] == ["cable", "4g"]
    for network in document["networks"]:
        before, after = network["variants"]
        assert after["median_plt_ms"] > before["median_plt_ms"]
        assert after["gain_low"] <= after["gain"] <= after["gain_high"] < 1
        assert " ms more in transfer" in network["reason"]
    words = loadstone("diff", *states, "--network", "cable").out
    assert words.startswith("before.page.json -> after.page.json\n2 objects added: +41.0 KB\n")
    assert "1 object gone: -30.0 KB" in words and "1 object changed: +200.0 KB" in words
    assert "2 objects as before" in words


def test_a_page_does_not_differ_from_itself(
    loadstone: Command, states: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / "again.page.json"
    copy.write_text(Path(states[0]).read_text())
    document = loadstone("diff", states[0], copy, "--network", "cable", "--json").document
    assert document["added"] == document["gone"] == document["changed"] == []
    before, after = document["networks"][0]["variants"]
    assert before["runs"] == after["runs"] and after["gain"] == 1
    twice = loadstone("diff", states[0], states[0])
    assert (twice.code, twice.out) == (2, "") and "the same page twice" in twice.err
