"""Surveys of pages: the statistics of tables 2 and 3 of the study cablelabs over any set of HARs."""

import json
from pathlib import Path
from typing import Any

import pytest

import matrices
from conftest import EXAMPLES, Command
from loadstone import survey


def entry(url: str, connect: float = -1, ssl: float = -1) -> dict[str, Any]:
    return {
        "pageref": "p",
        "request": {"method": "GET", "url": url, "headers": []},
        "response": {"status": 200, "headers": [], "content": {"size": 1000}, "bodySize": 1000},
        "timings": {"send": 0, "wait": 5, "receive": 1, "connect": connect, "ssl": ssl},
        "startedDateTime": "2012-01-01T00:00:00Z",
        "time": 6,
    }


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    """A page of four requests to two servers, of which one has two handshakes."""
    entries = [
        entry("https://a.test/", 90, 60),
        entry("https://a.test/1", 75, 55),
        entry("https://a.test/2"),
        entry("http://b.test/", 12),
    ]
    page = {
        "id": "p",
        "title": "",
        "startedDateTime": "2012-01-01T00:00:00Z",
        "pageTimings": {"onLoad": 2500},
    }
    path = tmp_path / "one.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "pages": [page], "entries": entries}}))
    return str(path)


def test_a_page_has_servers_requests_load_time_shares_and_round_trips(recorded: str) -> None:
    [page] = survey.survey([recorded])
    assert (page.servers, page.requests, page.load_ms) == (2, 4, 2500)
    assert page.shares_pct == [75, 100]
    # The shortest handshake, less TLS's part of it.
    assert page.rtts_ms == [20, 12]


def test_pages_that_were_not_recorded_have_no_times(recorded: str) -> None:
    pages = survey.survey([recorded, "synthetic:A"])
    assert (pages[1].load_ms, pages[1].rtts_ms) == (None, [None])
    mean = survey.averages(pages)
    assert (mean["servers"], mean["requests"], mean["load_ms"]) == (1.5, 53, 2500)
    assert mean["shares_pct"] == [87.5, 100, 100, 100, 100]
    assert mean["rtt_ms"] == {"min": 12, "mean": 16, "max": 20}


def test_the_command_shows_pages_side_by_side(loadstone: Command, recorded: str) -> None:
    shop = str(EXAMPLES / "shop.har")
    words = loadstone("page", "--survey", recorded, shop).out
    assert "top 5, %" in words and "round trip, ms" in words and "mean" in words
    document = loadstone("page", "--survey", recorded, shop, "--json").document
    assert document["pages"][0]["requests"] == 4
    assert document["averages"]["requests"] > 4


def test_without_survey_there_is_one_page_at_a_time(loadstone: Command) -> None:
    result = loadstone("page", "synthetic:A", "synthetic:B")
    assert (result.code, result.out) == (2, "")
    assert "--survey" in result.err


@pytest.mark.parametrize(
    "timings", [None, [], {"connect": "x"}, {"connect": True}, {"connect": -1, "ssl": 3}]
)
def test_timings_that_say_nothing_are_no_round_trip(tmp_path: Path, timings: object) -> None:
    broken = {**entry("https://a.test/"), "timings": timings}
    path = tmp_path / "broken.har"
    path.write_text(json.dumps({"log": {"entries": [broken], "pages": {}}}))
    [page] = survey.survey([str(path)])
    assert (page.load_ms, page.rtts_ms) == (None, [None])


def test_the_averages_of_table_2_are_the_means_of_its_rows() -> None:
    *rows, printed = matrices.published("cablelabs-website-survey")
    shares = [f"top{n}_pct" for n in range(1, 6)]
    pages = [
        survey.Surveyed(
            row["site"],
            int(row["servers"]),
            int(row["gets"]),
            float(row["page_kb"]),
            1000 * float(row["load_time_s"]),
            [float(row[share]) for share in shares],
            [],
        )
        for row in rows
    ]
    mean = survey.averages(pages)
    ours = [mean["servers"], mean["requests"], mean["kilobytes"], mean["load_ms"] / 1000, *mean["shares_pct"]]
    theirs = [float(printed[name]) for name in ("servers", "gets", "page_kb", "load_time_s", *shares)]
    assert ours == pytest.approx(theirs, rel=0.02)
