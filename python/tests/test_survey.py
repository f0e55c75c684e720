"""Surveys of pages: the statistics of tables 2 and 3 of the study cablelabs over any set of HARs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import matrices
from conftest import EXAMPLES, ROOT, Command
from loadstone import survey

HARS = ROOT.parent / "shared" / "data" / "har"


def entry(url: str, connect: float = -1, ssl: float = -1) -> dict[str, Any]:
    return {
        "pageref": "p",
        "request": {"method": "GET", "url": url, "headers": []},
        "response": {"status": 200, "headers": [], "content": {"size": 1000}, "bodySize": 1000},
        "timings": {"send": 0, "wait": 5, "receive": 1, "connect": connect, "ssl": ssl},
        "startedDateTime": "2012-01-01T00:00:00Z",
        "time": 6,
    }


def of_page(page: str | None, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give these entries to a page; `None` to none."""
    if page is None:
        return [{name: value for name, value in each.items() if name != "pageref"} for each in entries]
    return [{**each, "pageref": page} for each in entries]


def view(page: str, load_ms: object) -> dict[str, Any]:
    started = "2012-01-01T00:00:00Z"
    return {"id": page, "title": "", "startedDateTime": started, "pageTimings": {"onLoad": load_ms}}


def har(path: Path, entries: list[dict[str, Any]], pages: object = ()) -> str:
    path.write_text(json.dumps({"log": {"version": "1.2", "pages": pages, "entries": entries}}))
    return str(path)


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    """A page of four requests to two servers, of which one has two handshakes."""
    entries = [
        entry("https://a.test/", 90, 60),
        entry("https://a.test/1", 75, 55),
        entry("https://a.test/2"),
        entry("http://b.test/", 12),
    ]
    return har(tmp_path / "one.har", entries, [view("p", 2500)])


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


@pytest.mark.parametrize("first", ["p", None])
def test_each_page_of_a_har_has_its_own_times(tmp_path: Path, first: str | None) -> None:
    entries = [
        *of_page("q", [entry("https://a.test/", 20), entry("https://a.test/1", 30)]),
        *of_page(first, [entry("https://a.test/", 40), entry("https://a.test/1", 50)]),
        *of_page("not listed", [entry("https://a.test/", 60)]),
    ]
    name = har(tmp_path / "three.har", entries, [view("p", 1000), view("q", 2000)])
    pages = survey.survey([name, f"{name}#1", f"{name}#2", f"{name}#3"])
    assert [page.load_ms for page in pages] == [1000, 1000, 2000, None]
    assert [page.rtts_ms for page in pages] == [[40], [40], [20], [60]]


def test_the_page_that_is_taken_is_the_first_that_has_entries(tmp_path: Path) -> None:
    entries = of_page("7", [entry("https://a.test/", 40)]) + of_page("r", [entry("https://a.test/", 30)])
    views = [view("p", 1000), None, {**view("", 2000), "id": 7.0}, view("r", 3000)]
    [page] = survey.survey([har(tmp_path / "late.har", entries, views)])
    assert (page.load_ms, page.rtts_ms) == (2000, [40])


@pytest.mark.parametrize(
    ("name", "loads_ms"),
    [
        ("perfcascade/browsertime_h2_filamentgroup.com.har.gz", [3152, 1903, 1859]),
        ("compare/browsertime-chrome-wikipedia.har.gz", [2381, 2802, 2387, 2384, 2933]),
    ],
)
def test_runs_that_were_recorded_in_one_file_are_told_apart(name: str, loads_ms: list[int]) -> None:
    if not HARS.is_dir():
        pytest.skip(f"no HARs of real pages at {HARS.relative_to(ROOT.parent)} next to the repository")
    pages = survey.survey([f"{HARS / name}#{run}" for run in range(1, len(loads_ms) + 1)])
    assert [round(page.load_ms or 0) for page in pages] == loads_ms
    assert len({tuple(page.rtts_ms) for page in pages}) == len(pages)


@pytest.mark.parametrize(
    "quic",
    [
        {"response": {"status": 200, "httpVersion": "h3-Q050"}},
        {"response": {"status": 200, "httpVersion": "HTTP/3"}},
        {"request": {"method": "GET", "url": "https://a.test/1", "httpVersion": "http/2+quic/46"}},
        {"_protocol": "h3"},
    ],
)
def test_quic_shakes_no_hands_of_tcp(tmp_path: Path, quic: dict[str, Any]) -> None:
    entries = [entry("https://a.test/", 40), {**entry("https://a.test/1", 5, 0), **quic}]
    [page] = survey.survey([har(tmp_path / "quic.har", entries)])
    assert page.rtts_ms == [40]


def test_what_takes_no_time_or_got_no_answer_is_no_round_trip(tmp_path: Path) -> None:
    refused = {**entry("https://a.test/2", 12), "response": {"status": 0}}
    entries = [entry("https://a.test/", 40), entry("https://a.test/1", 30.3, 30), refused]
    [page] = survey.survey([har(tmp_path / "none.har", entries)])
    assert page.rtts_ms == [40]


def test_a_server_is_what_the_import_takes_for_one(tmp_path: Path) -> None:
    urls = ["http://a.test/", "https://A.test/1", "https://a.test:443/2", "http://me@a.test:80/3"]
    others = ["https://a.test:8443/", "https://b\u00fc.test/", "https://c.test?x"]
    entries = [entry(url, ms) for ms, url in enumerate([*urls, *others], 10)]
    [page] = survey.survey([har(tmp_path / "hosts.har", entries)])
    assert page.servers == 4
    assert page.rtts_ms == [10, 14, 15, 16]


def test_urls_that_the_import_rewrites_keep_their_handshakes(tmp_path: Path) -> None:
    urls = ["https://a.test/#top", "https://b.test/x y", "HTTPS://c.test/", "https://d.test/" + "x" * 9000]
    entries = [entry(url, ms) for ms, url in enumerate(urls, 10)]
    [page] = survey.survey([har(tmp_path / "rewritten.har", entries)])
    assert page.rtts_ms == [10, 11, 12, 13]


@pytest.mark.parametrize(
    "timings",
    [
        None,
        [],
        {"connect": "x"},
        {"connect": True},
        {"connect": -1, "ssl": 3},
        {"connect": 1e308},
        {"connect": 50, "ssl": 1e308},
        {"connect": "nan"},
        {"connect": 3_600_001},
    ],
)
def test_timings_that_say_nothing_are_no_round_trip(tmp_path: Path, timings: object) -> None:
    broken = {**entry("https://a.test/"), "timings": timings}
    [page] = survey.survey([har(tmp_path / "broken.har", [broken], {})])
    assert (page.load_ms, page.rtts_ms) == (None, [None])


@pytest.mark.parametrize(("stated", "load_ms"), [("2500", 2500), (-1, None), (1e308, None), ([], None)])
def test_the_load_event_is_a_time_or_not_known(tmp_path: Path, stated: object, load_ms: float | None) -> None:
    [page] = survey.survey([har(tmp_path / "load.har", [entry("https://a.test/")], [view("p", stated)])])
    assert page.load_ms == load_ms


def test_numbers_may_be_texts_and_bytes_no_utf_8_as_in_the_import(tmp_path: Path) -> None:
    texts = {**entry("https://a.test/"), "timings": {"connect": "50", "ssl": " 20 "}, "comment": "COMMENT"}
    path = tmp_path / "texts.har"
    har(path, [texts])
    path.write_bytes(path.read_bytes().replace(b"COMMENT", b"\xff"))
    [page] = survey.survey([str(path)])
    assert page.rtts_ms == [30]


def test_what_is_nested_deeply_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep.har"
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(json.dumps({"log": {"entries": [entry("https://a.test/", 9)], "deep": 0}})[:-2])
    path.write_text(path.read_text()[:-1] + deep + "}}")
    [page] = survey.survey([str(path)])
    assert (page.requests, page.rtts_ms) == (1, [9])


def test_rows_are_files_with_as_much_of_the_folder_as_tells_them_apart(
    loadstone: Command, recorded: str, tmp_path: Path
) -> None:
    names = [recorded, f"{recorded}#1"]
    for name in ("2012/a long name of a site that tells nothing.har", "x/shop.har.gz", "y/shop.har.gz"):
        (path := tmp_path / name).parent.mkdir(exist_ok=True)
        data = Path(recorded).read_bytes()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        names.append(str(path))
    lines = loadstone("page", "--survey", *names).out.splitlines()
    labels = ["one.har", "one.har#1", "a long name of a site that tells nothing.har"]
    labels += ["x/shop.har.gz", "y/shop.har.gz"]
    assert [line.split("  ")[0] for line in lines if ".har" in line] == labels * 2


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


def test_each_page_has_its_least_mean_and_greatest_round_trip(loadstone: Command, recorded: str) -> None:
    words = loadstone("page", "--survey", recorded, "synthetic:A").out
    assert ["one.har", "20", "12", "-", "-", "-", "12", "16.0", "20"] in map(str.split, words.splitlines())
    assert ["synthetic:A", *["-"] * 8] in map(str.split, words.splitlines())
    document = loadstone("page", "--survey", recorded, "synthetic:A", "--json").document
    assert [page["rtt_ms"] for page in document["pages"]] == [{"min": 12, "mean": 16, "max": 20}, None]


def test_the_round_trips_of_table_3_are_what_its_samples_give() -> None:
    rows = matrices.published("cablelabs-rtt-survey")
    samples = [[row[f"server{n}_rtt_ms"] for n in range(1, 6)] for row in rows]
    pages = [
        survey.Surveyed(row["site"], 5, 5, 1, None, [100], [float(rtt) if rtt else None for rtt in rtts])
        for row, rtts in zip(rows, samples, strict=True)
    ]
    for page, row in zip(pages, rows, strict=True):
        printed = {name: float(row[f"{name}_ms"]) for name in ("min", "mean", "max")}
        # They are printed with one decimal.
        assert page.document()["rtt_ms"] == pytest.approx(printed, abs=0.05), page.name
    mean = survey.averages(pages)
    assert mean["rtts"] == 74
    assert mean["rtt_ms"] == pytest.approx({"min": 16, "mean": 53.86, "max": 134}, abs=0.005)
