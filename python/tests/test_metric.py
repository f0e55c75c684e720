"""Loads that are measured until a paint, and not until the load event."""

import json
from pathlib import Path

import pytest

from conftest import EXAMPLES, Command
from loadstone import Page

SHOP = str(EXAMPLES / "shop.har")


def test_what_the_first_paint_needs_is_in_no_later_than_the_largest_and_that_before_the_load_event(
    loadstone: Command,
) -> None:
    times = {
        metric: loadstone("load", SHOP, "--network", "cable", "--metric", metric, "--json").document
        for metric in ("onload", "lcp", "fcp")
    }
    fcp, lcp, onload = (times[metric]["median_plt_ms"] for metric in ("fcp", "lcp", "onload"))
    assert fcp <= lcp < onload
    assert "measured" not in times["onload"]
    assert times["lcp"]["measured"]["metric"] == "lcp"
    assert set(times["fcp"]["measured"]["objects"]) < set(times["lcp"]["measured"]["objects"])


def test_a_paint_is_in_when_the_last_of_what_it_needs_is(loadstone: Command) -> None:
    page = Page.read(SHOP)
    arguments = ("--network", "cable", "--runs", "1", "--exact", "--waterfall", "--json")
    [run] = loadstone("load", SHOP, "--metric", "lcp", *arguments).document["runs"]
    done = dict(zip(run["waterfall"]["name"], run["waterfall"]["last_byte_ms"], strict=True))
    assert run["plt_ms"] == pytest.approx(max(done[name] for name in page.paint("lcp")["objects"]), abs=0.001)
    assert sum(run["account"].values()) == pytest.approx(run["plt_ms"], abs=0.001)


def test_the_comparison_says_what_it_measures_and_how_that_is_known(
    loadstone: Command, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    said = loadstone("compare", SHOP, "--network", "cable", "--metric", "lcp", "--html", report)
    assert "median LCP" in said.out and "median PLT" not in said.out
    assert "Measured until lcp: " in said.out and "by rule" in said.out
    assert "Measured until lcp: " in report.read_text()
    document = loadstone("compare", SHOP, "--network", "cable", "--metric", "lcp", "--json").document
    assert document["pages"][0]["measured"]["source"] == "rule"


def test_a_recorded_paint_stands_beside_the_simulated_one(loadstone: Command, tmp_path: Path) -> None:
    recording = json.loads(Path(SHOP).read_text())
    timings = recording["log"]["pages"][0]["pageTimings"]
    timings["_largestContentfulPaint"] = 1234
    path = tmp_path / "painted.har"
    path.write_text(json.dumps(recording))
    out = loadstone("compare", path, "--network", "cable", "--metric", "lcp").out
    assert "1,234 ms" in out
    assert "in by the recorded moment" in " ".join(out.split())


def test_whatif_and_diff_measure_the_same(loadstone: Command) -> None:
    found = loadstone("whatif", SHOP, "--network", "cable", "--metric", "fcp", "--runs", "3")
    assert found.out.startswith("Measured until fcp: ")
    same = loadstone(
        "diff", SHOP, "example:news", "--network", "cable", "--metric", "lcp", "--runs", "6", "--json"
    )
    assert same.document["measured"]["metric"] == "lcp"


def test_a_scenario_says_itself_what_is_needed(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text("{}")
    refused = loadstone("load", "--scenario", path, "--metric", "lcp")
    assert refused.code == 2 and "--metric stands in the scenario file" in refused.err


def test_page_files_follow_the_rule_of_kinds() -> None:
    page = Page.of(
        {
            "objects": [
                {"url": "https://a.test/", "bytes": 9000},
                {"url": "https://a.test/a.css", "bytes": 900},
                {"url": "https://a.test/small.png", "bytes": 800},
                {"url": "https://a.test/large.png", "bytes": 1000},
            ]
        }
    )
    paint = page.paint("lcp")
    assert [name.rsplit("/", 1)[1] for name in paint["objects"]] == ["", "a.css", "large.png"]
    assert (paint["source"], paint["rivals"], paint["ms"]) == ("rule", 1, None)
