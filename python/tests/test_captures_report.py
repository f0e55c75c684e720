"""The report of captures: distributions, groups, and one connection in pictures."""

import re
import struct
from pathlib import Path

import polars as pl
import pytest

from conftest import Command
from loadstone.captures import connection_plots, traffic_plots
from loadstone.captures.traffic import Traffic
from test_captures import ACK, PSH, SYN, Packet, pcap

MSS = 1_000
LOST, AGAIN_US = 3, 900_000
CLIENTS = {"one": (10, 0, 0, 1), "two": (10, 0, 0, 2), "three": (10, 0, 9, 1), "four": (10, 0, 9, 2)}


def transfer() -> list[Packet]:
    """Make one, seen at the server: of ten segments one is sent again after a timeout; a second request."""
    packets: list[Packet] = [
        (0, False, SYN, 0, 0, 0),
        (10, True, SYN | ACK, 0, 0, 1),
        (50_000, False, ACK, 1, 0, 1),
    ]
    packets.append((50_100, False, ACK | PSH, 1, 100, 1))
    for n in range(10):
        packets.append((60_000 + n * 100, True, ACK, 1 + n * MSS, MSS, 101))
        packets.append((110_000 + n * 100, False, ACK, 101, 0, 1 + MSS * min(n + 1, LOST)))
    packets.append((AGAIN_US, True, ACK, 1 + LOST * MSS, MSS, 101))
    end = 1 + 10 * MSS
    packets.append((AGAIN_US + 50_000, False, ACK, 101, 0, end))
    packets.append((1_500_000, False, ACK | PSH, 101, 100, end))
    packets.append((1_501_000, True, ACK, end, 500, 201))
    packets.append((1_551_000, False, ACK, 201, 0, end + 500))
    return sorted(packets)


@pytest.fixture
def folder(tmp_path: Path, loadstone: Command) -> str:
    files = []
    for name, client in CLIENTS.items():
        packets = transfer() if name in ("one", "three") else [*transfer()[:6], *transfer()[-3:]]
        files.append(str(tmp_path / f"{name}.pcap"))
        Path(files[-1]).write_bytes(pcap(packets).replace(bytes([10, 0, 0, 1]), bytes(client)))
    assert loadstone("capture", *files, "-o", str(tmp_path / "tables"), "--connection", "1").code == 0
    return str(tmp_path / "tables")


def page(folder: str, tmp_path: Path, loadstone: Command, *more: str) -> str:
    path = tmp_path / "report.html"
    assert loadstone("analyze", folder, "--html", str(path), *more).code == 0
    return path.read_text()


def test_the_report_is_one_page_with_all_figures_and_plots(
    folder: str, tmp_path: Path, loadstone: Command
) -> None:
    made = page(folder, tmp_path, loadstone)
    assert made == page(folder, tmp_path, loadstone), "the same tables give the same page"
    assert "default-src 'none'" in made and "<script" not in made
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", made)
    for title in (
        "How long are round trips?",
        "How much is sent again?",
        "How large are responses, by count and by bytes?",
        "Are gaps longer than an RTO",
        "How far are groups apart, by prefix?",
        "Which byte was sent when?",
        "How much was on its way?",
        "How long were round trips?",
    ):
        assert title in made, title
    found = loadstone("analyze", folder, "--json").document
    assert f"{found['shares']['connections_with_one_request']:,.1f} %" in made
    assert "10.0.9.0/24" in made


def test_a_connection_is_drawn_only_if_its_packets_are_there(tmp_path: Path, loadstone: Command) -> None:
    (tmp_path / "one.pcap").write_bytes(pcap(transfer()))
    assert loadstone("capture", str(tmp_path / "one.pcap"), "-o", str(tmp_path / "tables")).code == 0
    made = page(str(tmp_path / "tables"), tmp_path, loadstone)
    assert "One connection in pictures" not in made and "Which byte" not in made


def test_each_segment_is_a_stroke_and_what_was_sent_again_says_why(folder: str) -> None:
    packets = connection_plots.packets(folder)
    assert packets is not None
    assert packets["cause"].drop_nulls().to_list() == ["timeout"]
    assert packets.filter(cause="timeout")["at"].to_list() == [pytest.approx(AGAIN_US / 1e6)]
    whole = Traffic.read(folder).connections.filter(connection=1).row(0, named=True)
    numbers, on_the_way, round_trips = connection_plots.draw(packets, whole)
    assert "sent again: timeout" in numbers.svg and "sent again: fast" not in numbers.svg
    strokes = len(re.findall(r"<path", numbers.svg))
    fewer = connection_plots.draw(packets.filter(pl.col("seq") < 5 * MSS), whole)[0]
    # Five of the ten, and the second response.
    assert strokes - len(re.findall(r"<path", fewer.svg)) == 6
    assert "receive window" in on_the_way.svg
    assert "the least" in round_trips.svg
    assert packets["rtt_ms"].max() == pytest.approx(50, abs=1)


def test_round_trips_are_those_to_the_far_end(folder: str) -> None:
    packets = connection_plots.packets(folder)
    whole = Traffic.read(folder).connections.filter(connection=1).row(0, named=True)
    assert packets is not None and whole["captured_at"] == "server"
    assert "From a segment to the client" in connection_plots.draw(packets, whole)[2].caption
    at_client = {**whole, "captured_at": "client"}
    assert "From a segment from the client" in connection_plots.draw(packets, at_client)[2].caption


def test_a_damaged_table_is_one_line(folder: str, tmp_path: Path, loadstone: Command) -> None:
    (Path(folder) / "packets.parquet").write_bytes(b"PAR1")
    result = loadstone("analyze", folder, "--html", str(tmp_path / "report.html"))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "packets.parquet: missing or damaged: make the tables again" in result.err
    assert not (tmp_path / "report.html").exists()


def test_of_a_long_connection_the_first_packets_are_drawn_which_is_said(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_plots, "MOST_PACKETS", 9)
    packets = connection_plots.packets(folder)
    whole = Traffic.read(folder).connections.filter(connection=1).row(0, named=True)
    assert packets is not None and packets.height == 9
    assert "The first 9 of 29 packets are drawn." in connection_plots.draw(packets, whole)[0].caption


def test_a_connection_that_is_not_there_is_named_and_nothing_is_written(
    folder: str, tmp_path: Path, loadstone: Command
) -> None:
    before = (Path(folder) / "packets.parquet").read_bytes()
    result = loadstone("capture", str(tmp_path / "one.pcap"), "-o", folder, "--connection", "2")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "connection 2: there is none of this number: take one of connections.parquet" in result.err
    assert (Path(folder) / "packets.parquet").read_bytes() == before


def test_tables_that_are_made_again_have_no_packets_of_before(
    folder: str, tmp_path: Path, loadstone: Command
) -> None:
    assert loadstone("capture", str(tmp_path / "two.pcap"), "-o", folder).code == 0
    assert not (Path(folder) / "packets.parquet").exists()


def test_a_curve_has_the_share_of_each_value_by_count_or_by_weight() -> None:
    values = pl.Series([4, 1, 2, 1])
    counted = traffic_plots.curve("all", values)
    weighed = traffic_plots.curve("all", values, values)
    assert counted is not None and weighed is not None
    assert dict(zip(counted.xs, counted.shares, strict=True)) == {1: 0.5, 2: 0.75, 4: 1}
    assert dict(zip(weighed.xs, weighed.shares, strict=True)) == {1: 0.25, 2: 0.5, 4: 1}
    many = traffic_plots.curve("many", pl.Series(range(100_000)))
    assert many is not None and len(many.xs) <= 302
    assert all(
        share == pytest.approx((x + 1) / 100_000) for x, share in zip(many.xs, many.shares, strict=True)
    )
    assert traffic_plots.curve("one", pl.Series([1])) is None


def test_few_groups_have_curves_of_their_own_and_many_have_none(
    folder: str, tmp_path: Path, loadstone: Command
) -> None:
    networks = tmp_path / "networks.csv"
    networks.write_text("network,country\n10.0.0.0/24,<b>ZZ</b>\n10.0.9.0/24,YY\n")
    made = page(folder, tmp_path, loadstone, "--networks", str(networks), "--by", "country")
    assert "A curve for each country." in made
    assert "<b>ZZ" not in made and "&lt;b&gt;ZZ" in made
    found = Traffic.read(folder, [str(networks)])
    alone = found.connections.with_columns(prefix=pl.lit("10.0.0.0/24"))
    assert traffic_plots.curves_by(Traffic(alone, found.exchanges, ()), "prefix") is None
    assert traffic_plots.curves_by(found, "prefix") == "prefix"


def test_each_initial_window_has_a_curve_of_its_own_for_all_responses_and_for_first_ones(folder: str) -> None:
    found = Traffic.read(folder)
    windows = pl.when(pl.col("connection") == 1).then(3).otherwise(10)
    known = found.exchanges.with_columns(initial_window_down=windows)
    plots = {plot.name: plot for plot in traffic_plots.draw(Traffic(found.connections, known, ()), "prefix")}
    assert ">3 segments<" in plots["traffic-window-all"].svg
    assert ">10 segments<" in plots["traffic-window-all"].svg
    # One response is no distribution.
    assert ">3 segments<" not in plots["traffic-window-first"].svg
    assert ">10 segments<" in plots["traffic-window-first"].svg


def test_a_capture_cannot_put_markup_or_lines_into_what_is_said_of_it(
    tmp_path: Path, loadstone: Command
) -> None:
    comment = b"<script>steal()</script>\nloadstone: all is well"
    body = (
        struct.pack("<IHHqHH", 0x1A2B3C4D, 1, 0, -1, 1, len(comment)) + comment + bytes(-len(comment) % 4 + 4)
    )
    head = struct.pack("<II", 0x0A0D0D0A, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))
    interface = struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20)
    (tmp_path / "evil.pcapng").write_bytes(head + interface)
    assert loadstone("capture", str(tmp_path / "evil.pcapng"), "-o", str(tmp_path / "tables")).code == 0
    said = loadstone("capture", str(tmp_path / "evil.pcapng")).out
    assert "steal" in said.split("\n")[0] and "all is well" in said.split("\n")[0]
    made = page(str(tmp_path / "tables"), tmp_path, loadstone)
    assert "<script" not in made and "steal()" in made


def test_the_report_is_of_captures_alone(tmp_path: Path, loadstone: Command) -> None:
    result = loadstone("analyze", str(tmp_path), "--html", str(tmp_path / "report.html"))
    assert result.code == 2 and "--html is of captures" in result.err
