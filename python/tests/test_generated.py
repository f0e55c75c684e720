"""The verb `generate`: packets at the edge of a CDN that does not exist, and the laws of its users."""

import csv
import math
import random
import re
import statistics
import struct
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from conftest import Command
from loadstone.captures.tables import read
from loadstone.generated import cdn_users, edge_capture
from loadstone.generated.cdn_model import YAHOO, CdnModel
from loadstone.generated.laws import Geometric, LogNormal, Mostly

USERS = 30
SITES = ["chicago", "germany", "singapore", "india"]


@pytest.fixture(scope="module")
def model() -> CdnModel:
    return CdnModel.read(str(YAHOO))


@pytest.fixture(scope="module")
def edge(model: CdnModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edge")
    edge_capture.write(model, str(folder), USERS, 1, lambda done, total: None)
    return folder


@pytest.fixture(scope="module")
def tables(edge: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    read([str(edge / "edge.pcapng")], str(folder), lambda done, total: None)
    return folder


def blocks(edge: Path) -> list[bytes]:
    data, found, at = (edge / "edge.pcapng").read_bytes(), [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 4)
        found.append(data[at : at + length])
        at += length
    return found


def packets(edge: Path) -> list[tuple[int, bytes, int]]:
    """Give time in ns, headers and length of each packet."""
    found = []
    for block in blocks(edge)[2:]:
        kind, _, _, high, low, captured, length = struct.unpack_from("<7I", block)
        assert kind == 6
        found.append((high << 32 | low, block[28 : 28 + captured], length))
    return found


def test_a_generated_capture_says_so_wherever_it_is_looked_at(
    edge: Path, tables: Path, loadstone: Command
) -> None:
    said = "Generated, no real traffic: a CDN after section 3 of yahoo"
    shown = loadstone("capture", str(edge / "edge.pcapng"))
    assert shown.out.startswith(said)
    assert "captured at the server" in shown.out
    assert loadstone("analyze", str(tables)).out.startswith(said)
    assert loadstone("analyze", str(tables), "--json").document["comments"][0].startswith(said)


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    model: CdnModel, edge: Path, tmp_path: Path, loadstone: Command
) -> None:
    made = loadstone("generate", "-o", str(tmp_path / "a"), "--users", f"{USERS}", "--threads", "1", "--json")
    assert made.document["users"] == 4 * USERS
    for name in ("edge.pcapng", "networks.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (edge / name).read_bytes()
    edge_capture.write(model, str(tmp_path / "b"), USERS, 2, lambda done, total: None)
    assert (tmp_path / "b/edge.pcapng").read_bytes() != (edge / "edge.pcapng").read_bytes()


def test_packets_come_in_the_order_of_time_with_sums_that_are_right(
    model: CdnModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whole packets: a sum over data that are cut off cannot be checked.
    monkeypatch.setattr(edge_capture, "_SNAP_LENGTH", 262_144)
    edge_capture.write(model, str(tmp_path), 10, 1, lambda done, total: None)
    found = packets(tmp_path)
    assert len(found) > 1_000
    assert all(one[0] <= other[0] for one, other in pairwise(found))
    for _, packet, length in found:
        assert len(packet) == length and _sum(packet[:20]) == 0xFFFF
        pseudo = packet[12:20] + struct.pack(">HH", 6, length - 20)
        assert _sum(pseudo + packet[20:] + bytes(length % 2)) == 0xFFFF


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_each_user_has_an_address_of_a_known_network_and_no_two_connections_one_port(edge: Path) -> None:
    known = {row["network"]: row for row in csv.DictReader((edge / "networks.csv").read_text().splitlines())}
    assert Counter(row["site"] for row in known.values()) == dict.fromkeys(SITES, 100)
    opened = Counter()
    for _, header, _ in packets(edge):
        is_syn = header[33] & 0x12 == 2
        if is_syn:
            opened[header[12:16], header[16:20], header[20:22], header[4:6]] += 1
            site = known[f"10.{header[13]}.{header[14]}.0/24"]["site"]
            assert header[16:20] == bytes([192, 0, 2, 1 + SITES.index(site)])
    assert max(opened.values()) == 1


def test_the_tables_have_every_connection_whole(edge: Path, tables: Path) -> None:
    connections = pl.read_parquet(tables / "connections.parquet")
    assert connections["opened"].all()
    assert (connections["unseen_bytes_down"] == 0).all()
    assert connections["bytes_down"].min() > 0
    exchanges = pl.read_parquet(tables / "exchanges.parquet")
    assert exchanges["answered"].all()
    assert exchanges.height > connections.height
    # The end is there as well: the client's last acknowledgement.
    from_client, from_server = {}, {}
    for _, header, length in packets(edge):
        is_up = header[12] == 10
        end = header[12:16] + header[20:22] if is_up else header[16:20] + header[22:24]
        if is_up:
            from_client[end] = int.from_bytes(header[28:32])
        else:
            from_server[end] = int.from_bytes(header[24:28]) + length - 20 - 4 * (header[32] >> 4)
    lossless = connections.filter(retransmitted_packets_down=0)
    assert lossless.height > 100
    for client, port in lossless.select("client", "client_port").iter_rows():
        end = bytes(map(int, client.split("."))) + port.to_bytes(2)
        assert from_client[end] == from_server[end]


def test_who_the_users_are_does_not_depend_on_the_window(model: CdnModel) -> None:
    among = cdn_users.prefixes(model, 2, 1)
    arrival = cdn_users.arrivals(model, 5, 1)[3]
    small, large = (cdn_users.user(model, arrival, among, 1, {"iw": iw}) for iw in (3, 16))
    assert (small.client, small.seed) == (large.client, large.seed)
    assert small.scenario.to_json() == large.scenario.to_json().replace('"iw":16', '"iw":3')
    assert small.scenario.to_json() != large.scenario.to_json()


def test_a_law_of_large_objects_is_cut_which_is_said(
    loadstone: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_capture, "_MOST_PACKETS", 50)
    made = loadstone("generate", "-o", str(tmp_path), "--users", "3")
    assert re.search(r"\n\d+ users: only the first 50 packets are there\n", made.out)
    assert len(packets(tmp_path)) <= 50 * 12


# --- laws ---


def drawn(law: LogNormal | Mostly | Geometric, count: int = 50_000) -> list[float]:
    chance = random.Random("1")
    return sorted(law.at(chance.gauss(0, 1)) for _ in range(count))


def test_a_law_has_the_quantiles_that_it_is_given() -> None:
    values = drawn(LogNormal.by_quantiles((0.5, 100), (0.8, 1000)))
    assert values[25_000] == pytest.approx(100, rel=0.05)
    assert values[40_000] == pytest.approx(1000, rel=0.05)


def test_half_of_the_sum_lies_above_what_is_given() -> None:
    values = drawn(LogNormal.by_half_of_sum((0.9, 25_000), 60_000), 400_000)
    assert values[360_000] == pytest.approx(25_000, rel=0.03)
    large = sum(value for value in values if value >= 60_000)
    assert large / sum(values) == pytest.approx(0.5, abs=0.04)


def test_one_value_may_have_a_share_of_its_own() -> None:
    values = drawn(Mostly(0.7, 0, LogNormal.by_quantiles((0.5, 10), (0.9, 30))))
    assert values.count(0) / len(values) == pytest.approx(0.7, abs=0.01)
    assert statistics.median(values[35_000:]) == pytest.approx(10, rel=0.05)


def test_whole_numbers_have_their_mean() -> None:
    values = drawn(Mostly(0.55, 1, Geometric(2, (2.4 - 0.55) / 0.45)))
    assert statistics.mean(values) == pytest.approx(2.4, abs=0.05)
    assert values.count(1) / len(values) == pytest.approx(0.55, abs=0.01)
    assert all(value == math.floor(value) for value in values)
    assert set(drawn(Geometric(2, 2), 100)) == {2}


# --- the file ---


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seconds = 3600", "seconds = 0", "seconds: give a number from 1 to 86400"),
        ("seconds = 3600", "second = 3600", "seconds: give a number"),
        ("share = 0.55", "share = 0.5", "access: the shares are not 1 together"),
        ("half_of_sum = 60_000", "half_of_sum = 20_000", "requests.bytes.half_of_sum: give a value above"),
        ("p50 = 35, p90 = 200", "p50 = 35", "site 1: rtt_ms.: no law: give two of"),
        ("p50 = 35, p90 = 200", "p50 = 200, p90 = 35", "site 1: rtt_ms.: no law"),
        ('source = "assumed"', 'from = "assumed"', "access 1: down_mbit.source: give a text"),
        ("iw = 3", 'iw = 3\nprofil = "linux-6"', "profil"),
        ("most_connections = 6", "most_connections = 6\nmean = 3", "requests.mean: there is no such key"),
        ("[[client]]", "[[clients]]", "client: give [[client]] once"),
    ],
)
def test_a_bad_file_is_one_line_that_names_the_place(
    loadstone: Command, tmp_path: Path, before: str, after: str, said: str
) -> None:
    text = YAHOO.read_text()
    assert before in text
    path = tmp_path / "cdn.toml"
    path.write_text(text.replace(before, after))
    result = loadstone("generate", str(path), "-o", str(tmp_path / "edge"), "--users", "1")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert said in result.err
    assert not (tmp_path / "edge/edge.pcapng").exists()
