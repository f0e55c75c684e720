"""Several pages, or several recorded sessions of one: summed up, compared with others."""

import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

import loadstone as package
from conftest import Command

MANY = [{"url": f"https://{host}.test/{n}.png", "bytes": 9_000} for host in "abc" for n in range(30)]
SIZES = {"one": 40_000, "two": 44_000, "three": 36_000}


def entry(page: str, url: str, size: int, at_ms: int = 0) -> dict[str, Any]:
    return {
        "pageref": page,
        "startedDateTime": f"2026-05-01T10:00:00.{at_ms:03}Z",
        "time": 30,
        "request": {"method": "GET", "url": url},
        "response": {"status": 200, "bodySize": size, "headersSize": 200, "content": {"size": size}},
        "timings": {"wait": 20, "receive": 10},
    }


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write three runs of one page into one HAR, as browsertime does; the tracker is in one of them."""
    entries = []
    for page, size in SIZES.items():
        entries.append(entry(page, "https://a.test/", 10_000))
        entries.append(entry(page, "https://a.test/app.js", size, 40))
    entries.append(entry("two", "https://tracker.test/pixel", 9_000, 50))
    path = tmp_path / "runs.har"
    path.write_text(json.dumps({"log": {"pages": [{"id": page} for page in SIZES], "entries": entries}}))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write three sessions of a page that has grown, with a file that is no page."""
    folder = tmp_path / "after"
    folder.mkdir()
    for name, size in SIZES.items():
        objects = [
            {"url": "https://a.test/", "bytes": 10_000},
            {"url": "https://a.test/app.js", "bytes": 9 * size},
        ]
        (folder / f"{name}.page.json").write_text(json.dumps({"objects": objects}))
    (folder / "notes.txt").write_text("the page of May")
    return folder


def gains(document: dict[str, Any], variant: str) -> list[float]:
    return [
        one["gain"]
        for page in document["pages"]
        for one in page["networks"][0]["variants"]
        if one["name"] == variant
    ]


def test_several_pages_are_summed_up_in_one_table(loadstone: Command, small: str, tmp_path: Path) -> None:
    many = tmp_path / "many.page.json"
    many.write_text(json.dumps({"objects": [{"url": "https://a.test/", "bytes": 9_000}, *MANY]}))
    asked = ("compare", small, many, "synthetic:B", "--network", "slow-4g", "--runs", "7")
    document = loadstone(*asked, "--json").document
    (over,) = document["over_pages"]
    found = gains(document, "h2")
    assert (over["network"], over["variant"], over["pages"]) == ("slow-4g", "h2", 3)
    assert (over["least"], over["most"]) == (min(found), max(found))
    assert over["gain"] == pytest.approx(statistics.geometric_mean(found))
    # Student's t of two degrees.
    half = 4.302653 * statistics.stdev(map(math.log, found)) / math.sqrt(3)
    assert math.log(over["gain_high"] / over["gain"]) == pytest.approx(half, rel=1e-5)
    clear = [
        (variant["gain_low"] > 1, variant["gain_high"] < 1)
        for page in document["pages"]
        for variant in page["networks"][0]["variants"][1:]
    ]
    assert (over["faster"], over["slower"]) == (sum(up for up, _ in clear), sum(down for _, down in clear))
    head, row, *_ = loadstone(*asked).out.split("over 3 pages\n")[1].splitlines()
    assert " ".join(head.split()) == "network variant gain 95 % over pages least most faster on slower on of"
    assert row.split()[:3] == ["slow-4g", "h2", f"{over['gain']:.2f}"]


def test_a_single_page_has_no_table_over_pages(loadstone: Command, small: str) -> None:
    asked = ("compare", small, "--network", "cable", "--runs", "7")
    assert "over_pages" not in loadstone(*asked, "--json").document
    assert "pages" not in loadstone(*asked).out


def test_all_pages_of_a_har_and_of_a_folder_are_taken(loadstone: Command, runs: Path, folder: Path) -> None:
    asked = ("compare", f"{runs}#all", folder, "--network", "cable", "--exact", "--json")
    document = loadstone(*asked).document
    names = [page["page"] for page in document["pages"]]
    assert names == [f"runs.har#{n}" for n in (1, 2, 3)] + [f"{name}.page.json" for name in sorted(SIZES)]
    assert [over["pages"] for over in document["over_pages"]] == [6]
    assert len(package.compare(f"{runs}#all", networks=["cable"], exact=True).results) == 3


def test_what_takes_one_page_takes_not_all(loadstone: Command, runs: Path, tmp_path: Path) -> None:
    for verb in ("load", "page", "whatif"):
        result = loadstone(verb, f"{runs}#all")
        assert (result.code, result.out) == (2, "") and f"write {runs}#1" in result.err
    (tmp_path / "empty").mkdir()
    result = loadstone("compare", tmp_path / "empty")
    assert (result.code, result.out) == (2, "") and "no page in this folder" in result.err


def test_no_file_of_a_folder_that_is_read_is_written(loadstone: Command, folder: Path) -> None:
    inside = folder / "one.page.json"
    result = loadstone("compare", folder, "--network", "cable", "--html", inside)
    assert (result.code, result.out) == (2, "") and "give each its own" in result.err
    assert json.loads(inside.read_text())["objects"]


def test_sessions_of_either_state_are_pooled(loadstone: Command, runs: Path, folder: Path) -> None:
    asked = ("diff", f"{runs}#all", folder, "--network", "cable", "--exact")
    document = loadstone(*asked, "--json").document
    assert document["before"] == {"page": "runs.har#all", "sessions": [f"runs.har#{n}" for n in (1, 2, 3)]}
    assert document["added"] == document["gone"] == [], "one session of three has the tracker"
    (changed,) = document["changed"]
    assert (changed["bytes_before"], changed["bytes"]) == (40_000, 9 * 40_000), "in the median"
    (network,) = document["networks"]
    medians = [variant["median_plt_ms"] for variant in network["variants"]]
    before, after = statistics.geometric_mean(medians[:3]), statistics.geometric_mean(medians[3:])
    assert (network["before_ms"], network["after_ms"]) == pytest.approx((before, after))
    assert network["gain"] == pytest.approx(before / after)
    assert network["gain_low"] < network["gain"] < network["gain_high"] < 1
    words = loadstone(*asked).out
    assert words.startswith("runs.har#all (3 sessions) -> after (3 sessions)\n")
    assert "interval is of sessions like these" in " ".join(words.split())


def test_one_session_says_nothing_of_how_sessions_differ(
    loadstone: Command, runs: Path, folder: Path
) -> None:
    asked = ("diff", f"{runs}#1", folder, "--network", "cable", "--exact")
    (network,) = loadstone(*asked, "--json").document["networks"]
    assert (network["gain_low"], network["gain_high"]) == (None, None) and network["gain"] < 1
    assert "no interval: record two sessions of either state" in " ".join(loadstone(*asked).out.split())
    again = loadstone("diff", f"{runs}#all", f"{runs}#2")
    assert (again.code, again.out) == (2, "") and "runs.har#2: the same page twice" in again.err
