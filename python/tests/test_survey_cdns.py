"""Surveys of captures, and whose servers the busiest ones are."""

from pathlib import Path

import pytest

from conftest import EXAMPLES, Command
from loadstone import survey
from loadstone.cdns import Cdns
from loadstone.files import InputError
from loadstone.har_servers import addresses_of
from test_captured_page import load
from test_survey import entry, har

SHOP = str(EXAMPLES / "shop.har")
TABLE = """# Mine.
Near,*.near.test 192.0.2.0/24
Far,cdn.near.test *.far.test 192.0.2.128/25 2001:db8::/32
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "cdns.csv"
    path.write_text(TABLE)
    return str(path)


def test_a_cdn_is_known_by_the_nearest_domain_else_by_the_longest_prefix(table: str) -> None:
    cdns = Cdns.read(table)
    hosts = [
        "a.near.test",
        "near.test",
        "cdn.near.test:8443",
        "b.cdn.near.test",
        "farther.test",
        "A.FAR.test",
    ]
    assert [cdns.of(host) for host in hosts] == ["Near", "Near", "Far", "Near", None, "Far"]
    addresses = ["192.0.2.127", "192.0.2.128", "192.0.3.1", "2001:db8::1", "no address"]
    assert [cdns.of("x.test", [each]) for each in addresses] == ["Near", "Far", None, "Far", None]
    assert cdns.of("a.near.test", ["2001:db8::1"]) == "Near", "a name says more than an address"


def test_the_example_knows_the_hosts_of_well_known_cdns() -> None:
    cdns = Cdns.read(None)
    assert cdns.of("d1447tq2m68ekg.cloudfront.net") == "Amazon CloudFront"
    assert cdns.of("www.example.org", ["151.101.1.57"]) == "Fastly"
    assert cdns.of("www.example.org", ["192.0.2.1"]) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Near", "line 1"),
        ("# one\nNear,192.0.2.0/33", "192.0.2.0/33"),
        ("Near,192.0.2.1/24", "line 1"),
        (",a.test", "line 1"),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"bad\.csv: line") as refused:
        Cdns.read(str(path))
    assert said in str(refused.value)


def test_busiest_servers_of_a_har_have_the_cdn_of_their_name_or_address(tmp_path: Path, table: str) -> None:
    entries = [
        entry("https://a.near.test/", 20),
        entry("https://a.near.test/1"),
        entry("https://b.test/", 30),
    ]
    entries[2]["serverIPAddress"] = "[2001:db8::7]"
    entries.append({**entry("https://c.test/", 40), "serverIPAddress": "198.51.100.1"})
    entries[2]["response"]["bodySize"] = 50_000
    name = har(tmp_path / "one.har", entries)
    [page] = survey.survey([name], table)
    assert page.busiest == ["a.near.test", "b.test", "c.test"]
    assert page.cdns == ["Near", "Far", None]
    assert page.shares_pct == [50, 75, 100]
    assert survey.averages([page])["cdns"] == {"Near": 1, "Far": 1}
    [page] = survey.survey([name], table, "bytes")
    assert (page.busiest[0], page.rtts_ms[0]) == ("b.test", 30)
    assert page.shares_pct[0] == pytest.approx(100 * 50_000 / 53_000)


def test_round_trips_to_servers_of_cdns_have_a_star(loadstone: Command, tmp_path: Path, table: str) -> None:
    name = har(tmp_path / "one.har", [entry("https://a.near.test/", 20), entry("https://b.test/", 30)])
    words = loadstone("page", "--survey", name, "--cdns", table).out
    assert ["one.har", "20*", "30", "-", "-", "-", "20", "25.0", "30"] in map(str.split, words.splitlines())
    assert ["one.har", "a.near.test", "20", "Near"] in map(str.split, words.splitlines())
    for option in (["--cdns", table], ["--busiest-by", "bytes"]):
        refused = loadstone("page", name, *option)
        assert refused.code == 2 and "--survey" in refused.err


def test_hosts_of_a_har_are_as_the_import_has_them(tmp_path: Path) -> None:
    urls = [
        "http://a.test/",
        "https://A.test:443/1",
        "https://me@a.test/2",
        "https://a.test:8443/",
        "https://[::1]/",
        "x",
        "http://a.test:x/",
    ]
    entries = [{**entry(url), "serverIPAddress": f"192.0.2.{at}"} for at, url in enumerate(urls)]
    found = addresses_of(har(tmp_path / "hosts.har", entries))
    assert found["a.test"] == {"192.0.2.0", "192.0.2.1", "192.0.2.2"}
    assert found["a.test:8443"] == {"192.0.2.3"} and set(found) == {"a.test", "a.test:8443", "[::1]"}
    assert addresses_of(SHOP) == {}, "it does not say"


# --- captures ---


def test_a_capture_is_surveyed_as_the_har_of_its_load(loadstone: Command, tmp_path: Path) -> None:
    path, folder = tmp_path / "load.pcapng", tmp_path / "shop"
    plt_ms = load(loadstone, SHOP, "10mbit,50ms", "http/1.1", path)
    assert loadstone("capture", str(path), "--page", "-o", str(folder)).code == 0
    captured, recorded = survey.survey([str(folder), SHOP])
    assert (captured.servers, captured.requests) == (recorded.servers, recorded.requests) == (3, 42)
    assert captured.busiest == recorded.busiest
    assert captured.shares_pct == pytest.approx(recorded.shares_pct)
    assert captured.rtts_ms[1] == pytest.approx(50, abs=1), "the root's server is the nearest"
    assert captured.load_ms == pytest.approx(plt_ms, rel=0.05)
    words = loadstone("page", "--survey", str(folder), SHOP)
    assert words.code == 0 and ["shop", "3", "42"] in [line.split()[:3] for line in words.out.splitlines()]


def test_without_names_servers_of_a_capture_are_their_addresses(loadstone: Command, tmp_path: Path) -> None:
    path, folder, cdns = tmp_path / "load.pcapng", tmp_path / "shop", tmp_path / "cdns.csv"
    load(loadstone, SHOP, "10mbit,50ms", "http/1.1", path)
    assert loadstone("capture", str(path), "-o", str(folder)).code == 0
    cdns.write_text("Bed,198.18.0.3/32\n")
    document = loadstone("page", "--survey", str(folder), "--cdns", str(cdns), "--json").document
    [page] = document["pages"]
    assert sorted(page["busiest"]) == ["198.18.0.2", "198.18.0.3", "198.18.0.4"]
    assert page["cdns"][page["busiest"].index("198.18.0.3")] == "Bed"
    assert document["averages"]["cdns"] == {"Bed": 1}


def test_what_was_captured_at_a_server_is_not_surveyed(loadstone: Command, tmp_path: Path) -> None:
    path, folder = tmp_path / "load.pcapng", tmp_path / "shop"
    load(loadstone, SHOP, "10mbit,50ms", "h2", path, "--pcap-at", "server")
    assert loadstone("capture", str(path), "-o", str(folder)).code == 0
    refused = loadstone("page", "--survey", str(folder))
    assert refused.code == 2 and "at the server" in refused.err and "--survey" in refused.err
