"""A capture at a client as a page with its network: what is known of a simulated load comes back."""

import json
import re
import statistics
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kernel
from conftest import EXAMPLES, ROOT, Command
from loadstone import pages
from loadstone.captures import missing_segments
from loadstone.captures.captured_page import PAGE, SCENARIO
from loadstone.captures.missing_segments import LostSegment
from loadstone.captures.queue_waits import FullQueue
from test_captures import ACK, PSH, SYN, pcap
from test_survey import entry, har

SHARED = ROOT.parent / "shared/data"
SHOP = str(EXAMPLES / "shop.har")
PAGES = "synthetic:B"


def load(loadstone: Command, page: str, network: str, protocol: str, path: Path, *more: str) -> float:
    """Load a page without TLS, and give its load time."""
    given = ["--network", network, "--protocol", protocol, "--tls", "none", "--runs", "1", "--json"]
    result = loadstone("load", page, *given, "--pcap", str(path), *more)
    assert result.code == 0, result.err
    plt: float = result.document["runs"][0]["plt_ms"]
    return plt


def made(loadstone: Command, *given: str) -> Any:
    result = loadstone("capture", *given, "--page", "--json")
    assert result.code == 0, result.err
    return result.document["page"]


# --- the circle: network, load, capture, network ---

NETWORKS = [
    # Network, rate down, round trip; of random loss least and most; the queue's bytes if it overflows.
    ("50/10mbit,20ms,queue=500ms", 50, 20.0, (0, 0), None),
    ("20mbit,30ms,0.5%", 20, 30.0, (0.2, 1.0), None),
    ("10/1mbit,60ms,queue=15p", 10, 60.0, (0, 0), 15 * 1500),
    ("3/0.768mbit,150ms,loss=2%,queue=1000ms", 3, 150.0, (1.2, 2.8), None),
]


@pytest.mark.parametrize("protocol", ["http/1.1", "h2", "spdy/3.1"])
@pytest.mark.parametrize(("network", "mbit", "rtt_ms", "loss", "queue"), NETWORKS)
def test_the_network_of_a_simulated_load_comes_back(
    loadstone: Command,
    tmp_path: Path,
    network: str,
    mbit: float,
    rtt_ms: float,
    loss: tuple[float, float],
    queue: int | None,
    protocol: str,
) -> None:
    path = tmp_path / "load.pcapng"
    load(loadstone, PAGES, network, protocol, path)
    page = made(loadstone, str(path))
    assert page["down_bps"] == pytest.approx(mbit * 1e6, rel=0.01) and page["down_is_full"]
    # A handshake has the time of its own packets on the link.
    [trip] = page["round_trips_ms"].values()
    assert rtt_ms < trip < rtt_ms + 1.0
    text = re.fullmatch(r"[\d./]+mbit,([\d.]+)ms.*", page["network"])
    assert text is not None and float(text[1]) == pytest.approx(rtt_ms, abs=0.5)
    assert loss[0] <= page["random_loss_pct"] <= loss[1]
    if queue is None:
        assert page["queue_bytes"] is None
    else:
        assert page["queue_bytes"] == pytest.approx(queue, rel=0.1)
        assert page["lost_down_pct"] > 0.5


@pytest.mark.parametrize("network", ["10/1mbit,100ms", "5/0.5mbit,40ms"])
def test_a_slow_way_up_is_known_by_what_it_adds_to_acknowledgements(
    loadstone: Command, tmp_path: Path, network: str
) -> None:
    path = tmp_path / "load.pcapng"
    load(loadstone, PAGES, network, "http/1.1", path)
    up = float(network.split("mbit")[0].split("/")[1])
    assert made(loadstone, str(path))["up_bps"] == pytest.approx(up * 1e6, rel=0.12)


def test_a_fast_way_up_is_not_known(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "load.pcapng"
    load(loadstone, PAGES, "20mbit,30ms", "http/1.1", path)
    page = made(loadstone, str(path))
    assert page["up_bps"] is None and page["network"].startswith("20.000mbit,")


@pytest.mark.parametrize("protocol", ["http/1.1", "h2", "spdy/3.1"])
@pytest.mark.parametrize(
    "network", ["50/10mbit,20ms,queue=500ms", "10/1mbit,100ms", "3mbit,150ms,queue=1000ms"]
)
def test_the_page_that_is_made_takes_as_long_on_the_network_that_is_made(
    loadstone: Command, tmp_path: Path, network: str, protocol: str
) -> None:
    path, folder = tmp_path / "load.pcapng", tmp_path / "page"
    plt_ms = load(loadstone, SHOP, network, protocol, path)
    page = made(loadstone, str(path), "-o", str(folder))
    # What the page computes behind its last byte is not in a capture.
    assert 0.95 * plt_ms < page["captured_ms"] < plt_ms + 0.1
    assert page["simulated_ms"] == pytest.approx(plt_ms, rel=0.12)
    # What the files say is what was simulated.
    again = loadstone("load", "--scenario", str(folder / SCENARIO), "--json").document
    assert statistics.median(run["plt_ms"] for run in again["runs"]) == pytest.approx(page["simulated_ms"])


@pytest.mark.parametrize("protocol", ["http/1.1", "h2", "spdy/3.1"])
def test_the_capture_s_waterfall_is_the_load_s(loadstone: Command, tmp_path: Path, protocol: str) -> None:
    path = tmp_path / "load.pcapng"
    given = ["--network", "10/1mbit,60ms,1%", "--protocol", protocol, "--tls", "none", "--runs", "1"]
    told = loadstone("load", SHOP, *given, "--pcap", str(path), "--waterfall", "--json").document["runs"][0]
    captured = made(loadstone, str(path), "--waterfall")["waterfall"]

    def by_name(columns: dict[str, Any]) -> dict[str, dict[str, Any]]:
        names = [name.split("://")[1].partition("?")[0] for name in columns["name"]]
        return {name: {column: of[row] for column, of in columns.items()} for row, name in enumerate(names)}

    simulated, seen = by_name(told["waterfall"]), by_name(captured)
    assert seen.keys() == simulated.keys()
    for name, one in simulated.items():
        again = seen[name]
        # What a browser has sent may wait for its congestion window.
        assert one["sent_ms"] - 0.1 <= again["sent_ms"] < one["arrived_ms"], name
        assert again["last_byte_ms"] == pytest.approx(one["last_byte_ms"], abs=1.0), name
        # A browser has a head when the packet with its end is there: 1.2 ms after that with its first byte.
        assert one["first_byte_ms"] - 1.3 <= again["first_byte_ms"] <= one["first_byte_ms"] + 0.1, name
        assert again["bytes"] == one["bytes"]
    drawn = loadstone("capture", str(path), "--page", "--waterfall").out
    assert "sent, waiting for an answer" in drawn and "shop.example.test/" in drawn
    refused = loadstone("capture", str(path), "--waterfall")
    assert refused.code == 2 and "--waterfall is about the page that --page makes" in refused.err


@pytest.mark.parametrize("protocol", ["http/1.1", "h2", "spdy/3.1"])
def test_the_page_has_the_objects_of_the_load(loadstone: Command, tmp_path: Path, protocol: str) -> None:
    path, folder = tmp_path / "load.pcapng", tmp_path / "page"
    load(loadstone, SHOP, "10mbit,40ms", protocol, path)
    document = made(loadstone, str(path), "-o", str(folder))
    original, page = pages.read(SHOP), pages.read(str(folder / PAGE))
    told = {each["url"].split("://")[1]: each for each in json.loads(original.json)["objects"]}
    objects = {each["url"].split("://")[1]: each for each in json.loads(page.json)["objects"]}
    assert objects.keys() == told.keys()
    assert [objects[url]["bytes"] for url in told] == [each["bytes"] for each in told.values()]
    assert document["protocols"]["shop.example.test"] == ("spdy" if protocol == "spdy/3.1" else protocol)
    # Each host is where it is: those of the recording lie apart.
    hosts = json.loads(page.json)["hosts"]
    far = {host: ms["rtt_ms"] for host, ms in json.loads(original.json).get("hosts", {}).items()}
    assert len({round(host.get("rtt_ms", 0)) for host in hosts.values()}) > 1 or not far


def test_loading_and_comparing_are_shown_as_commands_that_work(loadstone: Command, tmp_path: Path) -> None:
    path, folder = tmp_path / "load.pcapng", tmp_path / "page"
    load(loadstone, SHOP, "10mbit,40ms", "h2", path)
    said = loadstone("capture", str(path), "--page", "-o", str(folder))
    assert said.code == 0 and "so fast came packets that had waited for the link" in said.out
    _, network = said.out.rstrip().rsplit(" ", 1)
    compared = loadstone("compare", str(folder / PAGE), "--network", network, "--json", "--runs", "2")
    assert compared.code == 0, compared.err
    assert not (folder / "packets.parquet").exists(), "the report would draw them as one connection"


# --- a HAR beside it, keys, real kernels ---


def test_under_tls_a_har_beside_the_capture_has_the_page(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "load.pcapng"
    given = ["--network", "10mbit,50ms", "--protocol", "h2", "--runs", "1", "--pcap", str(path), "--json"]
    plt_ms = loadstone("load", SHOP, *given).document["runs"][0]["plt_ms"]
    refused = loadstone("capture", str(path), "--page")
    assert refused.code == 2 and "--keys" in refused.err and "--har" in refused.err
    page = made(loadstone, str(path), "--har", SHOP)
    assert page["objects"] == 42
    assert page["simulated_ms"] == pytest.approx(plt_ms, rel=0.1)
    assert page["captured_ms"] is None, "the HAR is of another load"


def test_hosts_that_the_capture_does_not_know_are_where_the_har_has_them(
    loadstone: Command, tmp_path: Path
) -> None:
    path, folder, beside = tmp_path / "load.pcapng", tmp_path / "page", tmp_path / "one.har"
    given = ["--network", "10mbit,50ms", "--protocol", "h2", "--runs", "1", "--pcap", str(path)]
    assert loadstone("load", SHOP, *given).code == 0
    here = {**entry("https://shop.example.test/", 20), "serverIPAddress": "198.18.0.2"}
    page = made(
        loadstone, str(path), "--har", har(beside, [here, entry("https://b.test/", 140)]), "-o", str(folder)
    )
    hosts = json.loads((folder / PAGE).read_text())["hosts"]
    nearest = page["round_trips_ms"]["198.18.0.2"]
    assert hosts["b.test"]["rtt_ms"] == pytest.approx(140 - nearest)
    assert page["captured_ms"] is None, "the HAR has no load event"


@pytest.mark.usefixtures("access")
def test_real_packets_with_their_keys_are_a_page(loadstone: Command, tmp_path: Path) -> None:
    path, keys = tmp_path / "bed.pcap", tmp_path / "keys"
    bed = ["bed", SHOP, "--network", "10mbit,50ms", "--pcap", str(path), "--"]
    replay = [*kernel.LOADSTONE, "load", SHOP, "--origin", "recorded", "--insecure", "--protocol", "h2"]
    result = kernel.run(*bed, "env", f"SSLKEYLOGFILE={keys}", *replay)
    assert result.code == 0, result.err
    page = made(loadstone, str(path), "--keys", str(keys))
    assert page["objects"] == 42 and set(page["protocols"].values()) == {"h2"}
    # Machines with other work let packets wait, too.
    assert page["down_bps"] == pytest.approx(10e6, rel=0.1)
    assert min(page["round_trips_ms"].values()) == pytest.approx(50, abs=5)
    assert page["simulated_ms"] == pytest.approx(page["captured_ms"], rel=0.25)
    # Without the keys, TLS still says whose servers they are.
    hosts = made(loadstone, str(path), "--har", SHOP)["hosts"]
    assert hosts["shop.example.test"] == ["198.18.0.2"] and len(hosts) == 3


@pytest.mark.skipif(not SHARED.exists(), reason="the public captures are not here")
def test_a_public_capture_of_a_browser_is_a_page_that_loads_as_long(
    loadstone: Command, tmp_path: Path
) -> None:
    path = SHARED / "pcap/chrissanders/http_espn.pcapng.gz"
    page = made(loadstone, str(path), "-o", str(tmp_path))
    assert page["objects"] == 60 and len(page["round_trips_ms"]) == 13
    assert page["simulated_ms"] == pytest.approx(page["captured_ms"], rel=0.1)


@pytest.mark.skipif(not SHARED.exists(), reason="the public captures are not here")
def test_a_phone_with_addresses_of_both_versions_is_one_client(loadstone: Command) -> None:
    name = "15five.5g.20201226-173313"
    har = SHARED / f"har/5g-in-the-wild/{name}.har.gz"
    page = made(loadstone, str(SHARED / f"pcap/5g-in-the-wild/{name}.pcap.gz"), "--har", str(har))
    assert len(page["clients"]) == 2
    assert page["captured_ms"] == pytest.approx(2092, abs=1)
    assert page["simulated_ms"] == pytest.approx(page["captured_ms"], rel=0.1)


# --- which page, and why there is none ---


def request(
    us: int, port: int, path: str, *, fields: str = "", client: int = 1, method: str = "GET"
) -> list[bytes]:
    """Make the packets of a connection with one request, 20 ms from its server."""
    asked = f"{method} {path} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n".encode()
    answered = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + bytes(900)
    told = [
        (us, False, SYN, 0, b"", 0),
        (us + 20_000, True, SYN | ACK, 0, b"", 1),
        (us + 20_100, False, ACK | PSH, 1, asked, 1),
        (us + 45_000, True, ACK | PSH, 1, answered, 1 + len(asked)),
        (us + 45_100, False, ACK, 1 + len(asked), b"", 1 + len(answered)),
    ]
    records = []
    for at, down, flags, seq, data, ack in told:
        plain = pcap([(at, down, flags, seq, len(data), ack)])[24:]
        ports = struct.pack(">HH", *((80, port) if down else (port, 80)))
        addresses = [bytes([10, 0, 0, client]), bytes([192, 0, 2, 1])]
        head, segment = plain[16:36], plain[36:]
        head = head[:12] + b"".join(addresses[::-1] if down else addresses)
        segment = ports + segment[4 : len(segment) - len(data)] + data
        records.append(plain[:16] + head + segment)
    return records


def written(path: Path, *connections: list[bytes]) -> str:
    path.write_bytes(pcap([])[:24] + b"".join(record for each in connections for record in each))
    return str(path)


def urls(folder: Path) -> list[str]:
    return [each["url"] for each in json.loads((folder / PAGE).read_text())["objects"]]


def test_a_page_ends_where_the_browser_navigates_or_is_silent(loadstone: Command, tmp_path: Path) -> None:
    goes = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
    navigated = written(
        tmp_path / "one.pcap",
        request(0, 4001, "/", fields=goes),
        request(100_000, 4002, "/1"),
        request(900_000, 4003, "/second", fields=goes),
    )
    silent = written(
        tmp_path / "two.pcap",
        request(0, 4001, "/"),
        request(9_000_000, 4002, "/1"),
        request(20_000_000, 4003, "/second"),
    )
    for path in (navigated, silent):
        assert made(loadstone, path, "-o", str(tmp_path / "a"))["pages"] == 2
        assert urls(tmp_path / "a") == ["http://a.test/", "http://a.test/1"]
        made(loadstone, path, "-o", str(tmp_path / "b"), "--page-number", "2")
        assert urls(tmp_path / "b") == ["http://a.test/second"]
    refused = loadstone("capture", navigated, "--page", "--page-number", "3")
    assert refused.code == 2 and "2 page loads" in refused.err


def test_a_tunnel_through_a_proxy_is_no_object(loadstone: Command, tmp_path: Path) -> None:
    tunnel = request(50, 4002, "b.test:443", method="CONNECT")
    made(loadstone, written(tmp_path / "one.pcap", request(0, 4001, "/"), tunnel), "-o", str(tmp_path / "a"))
    assert urls(tmp_path / "a") == ["http://a.test/"]


def test_of_few_packets_no_more_is_said_than_they_tell(loadstone: Command, tmp_path: Path) -> None:
    said = loadstone("capture", written(tmp_path / "one.pcap", request(0, 4001, "/")), "--page").out
    assert "too few packets came to tell" in said and "how long packets waited is not known" in said


def test_of_several_clients_one_is_named(loadstone: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "two.pcap", request(0, 4001, "/"), request(50, 4002, "/other", client=7))
    refused = loadstone("capture", path, "--page")
    assert refused.code == 2 and "2 clients" in refused.err and "10.0.0.7" in refused.err
    made(loadstone, path, "--client", "10.0.0.7", "-o", str(tmp_path / "a"))
    assert urls(tmp_path / "a") == ["http://a.test/other"]
    unknown = loadstone("capture", path, "--page", "--client", "10.0.0.9")
    assert unknown.code == 2 and "10.0.0.9" in unknown.err and "10.0.0.1" in unknown.err


@pytest.mark.parametrize(("point", "where"), [("server", "at the server")])
def test_what_was_not_captured_at_the_client_is_refused(
    loadstone: Command, tmp_path: Path, point: str, where: str
) -> None:
    path = tmp_path / "load.pcapng"
    load(loadstone, SHOP, "10mbit,40ms", "h2", path, "--pcap-at", point)
    refused = loadstone("capture", str(path), "--page", "-o", str(tmp_path / "page"))
    assert refused.code == 2 and where in refused.err and "capture at the client" in refused.err
    assert not (tmp_path / "page" / "packets.parquet").exists()


def test_options_about_the_page_need_it(loadstone: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "one.pcap", request(0, 4001, "/"))
    for option in (["--client", "10.0.0.1"], ["--page-number", "1"], ["--har", SHOP], ["--keep-secrets"]):
        refused = loadstone("capture", path, *option)
        assert refused.code == 2 and "--page" in refused.err, option
    refused = loadstone("capture", path, "--page", "--connection", "1")
    assert refused.code == 2 and "leave out --connection" in refused.err


def test_cookies_are_replaced_unless_they_are_to_be_kept(loadstone: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "one.pcap", request(0, 4001, "/", fields="Cookie: id=s3cret0\r\n"))
    made(loadstone, path, "-o", str(tmp_path / "a"))
    made(loadstone, path, "-o", str(tmp_path / "b"), "--keep-secrets")
    files = {name: [each.read_bytes() for each in (tmp_path / name).iterdir()] for name in ("a", "b")}
    assert not any(b"s3cret0" in content for content in files["a"])
    assert sum(b"s3cret0" in content for content in files["b"]) == 2


# --- what was lost, and why ---


def down(rows: list[tuple[float, int, int]]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {
        "connection": [1] * len(rows),
        "at_ms": [at for at, _, _ in rows],
        "seq": [seq for _, seq, _ in rows],
        "bytes": [size for _, _, size in rows],
    }
    return pl.DataFrame(columns)


def test_what_fills_a_gap_a_round_trip_later_was_lost_and_what_comes_sooner_was_overtaken() -> None:
    rows = [(0.0, 1, 1000), (1.0, 2001, 1000), (46.0, 1001, 1000)]
    assert missing_segments.lost_segments(down(rows), {1: 50.0}) == [LostSegment(1, (0, 1))]
    rows[2] = (45.0, 1001, 1000)
    assert missing_segments.lost_segments(down(rows), {1: 50.0}) == []
    assert missing_segments.lost_segments(down(rows), {}) == [], "nothing is known of the round trip"


def test_a_gap_of_several_segments_that_is_filled_in_pieces_is_as_many() -> None:
    rows = [(0.0, 1, 1460), (1.0, 1461 + 3 * 1460, 1460)]
    rows += [(60.0, 1461 + 1460, 2 * 1460), (61.0, 1461, 1460), (62.0, 1461, 1460)]
    found = missing_segments.lost_segments(down(rows), {1: 50.0})
    assert [each.segments for each in found] == [2, 1]


def test_a_full_queue_drops_what_waits_longest_and_chance_anything() -> None:
    waits = {place: float(place % 101) for place in range(1010)}
    top = [LostSegment(1, (place, place)) for place in range(96, 1010, 101)]
    full = FullQueue.of(waits, top, 100.0, 1.2)
    assert full == FullQueue(is_full=True, at_random=0.0)
    anywhere = [LostSegment(1, (place, place)) for place in range(0, 1010, 37)]
    assert FullQueue.of(waits, anywhere, 100.0, 1.2) == FullQueue(is_full=False, at_random=28.0)
    both = FullQueue.of(waits, [*top, *top, *anywhere], 100.0, 1.2)
    assert both.is_full and both.at_random == pytest.approx(28, rel=0.05)
    assert FullQueue.of({}, top, None, 1.2) == FullQueue(is_full=False, at_random=None)
