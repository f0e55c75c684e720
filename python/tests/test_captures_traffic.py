"""`analyze` of captures: what a server's packets tell of its users."""

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import Command
from loadstone.captures import traffic
from loadstone.captures.places import Places
from loadstone.files import InputError
from test_captures import ACK, PSH, SYN, Packet, pcap

FIN = 1
CLIENTS = ("10.0.0.1", "10.0.0.2", "10.0.7.1")


def visit(begin_us: int, rtt_us: int, sizes: list[int], *, again: bool = False) -> list[Packet]:
    """Make a connection, seen at the server: requests a second apart; the last response may come twice."""
    packets: list[Packet] = [
        (begin_us, False, SYN, 0, 0, 0),
        (begin_us + 10, True, SYN | ACK, 0, 0, 1),
        (begin_us + rtt_us, False, ACK, 1, 0, 1),
    ]
    asked, sent, now = 1, 1, begin_us + rtt_us
    for size in sizes:
        packets.append((now, False, ACK | PSH, asked, 100, sent))
        asked += 100
        for _ in range(2 if again and size == sizes[-1] else 1):
            packets.append((now + 1000, True, ACK, sent, size, asked))
            now += 300_000 if again and size == sizes[-1] else 0
        sent += size
        packets.append((now + 1000 + rtt_us, False, ACK, asked, 0, sent))
        now += 1_000_000
    return packets


@pytest.fixture
def folder(tmp_path: Path, loadstone: Command) -> str:
    """Make tables of three clients, of which two are of one prefix and one is far away."""
    files = []
    for number, client in enumerate(CLIENTS):
        far = client == CLIENTS[2]
        packets = visit(0, 500_000 if far else 40_000, [1000, 1000] if far else [500], again=far)
        made = pcap(packets).replace(bytes([10, 0, 0, 1]), bytes(map(int, client.split("."))))
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(made)
        files.append(str(path))
    assert loadstone("capture", *files, "-o", str(tmp_path / "tables")).code == 0
    return str(tmp_path / "tables")


def test_users_are_told_of_as_distributions_and_shares(folder: str, loadstone: Command) -> None:
    found = loadstone("analyze", folder, "--json").document
    assert (found["connections"], found["exchanges"]) == (3, 4)
    assert found["distributions"]["rtt_ms"]["p50"] == pytest.approx(40, abs=0.1)
    assert found["distributions"]["requests"]["mean"] == pytest.approx(4 / 3)
    shares = found["shares"]
    assert shares["connections_rtt_400_ms_or_more"] == pytest.approx(100 / 3)
    assert shares["connections_with_one_request"] == pytest.approx(200 / 3)
    # One of three packets was sent again.
    assert shares["connections_over_10_pct_sent_again"] == pytest.approx(100 / 3)
    assert shares["gaps_above_rto"] == 100
    words = loadstone("analyze", folder).out
    assert "connections with a round trip of 400 ms or more" in words
    assert "By prefix" in words


def test_clients_are_grouped_by_prefix_and_by_what_the_user_knows(
    folder: str, tmp_path: Path, loadstone: Command
) -> None:
    groups = loadstone("analyze", folder, "--json").document["groups"]
    assert [(group["group"], group["connections"]) for group in groups] == [
        ("10.0.0.0/24", 2),
        ("10.0.7.0/24", 1),
    ]
    assert groups[1]["rtt_ms_p50"] == pytest.approx(500, abs=1)
    (tmp_path / "countries.csv").write_text(
        "network,country\n10.0.0.0/8,DE\n10.0.0.0/21,CH\n10.0.7.0/24,\n10.0.0.2/32,AT\n"
    )
    (tmp_path / "ases.txt").write_text("10.0.0.0\t16\t64500\n")
    known = ["--networks", str(tmp_path / "countries.csv"), "--networks", str(tmp_path / "ases.txt")]
    by_country = loadstone("analyze", folder, *known, "--by", "country", "--json").document["groups"]
    # The longest prefix that says something: the third one of 10.0.7.0 does not.
    assert {group["group"]: group["connections"] for group in by_country} == {"CH": 2, "AT": 1}
    by_as = loadstone("analyze", folder, *known, "--by", "asn", "--json").document["groups"]
    assert [(group["group"], group["connections"]) for group in by_as] == [("64500", 3)]


def test_tables_are_written_as_csv(folder: str, tmp_path: Path, loadstone: Command) -> None:
    assert loadstone("analyze", folder, "-o", str(tmp_path / "out")).code == 0
    groups = pl.read_csv(tmp_path / "out/groups.csv")
    assert groups["connections"].to_list() == [2, 1]
    shares = pl.read_csv(tmp_path / "out/shares.csv")
    assert shares.filter(pl.col("name") == "gaps_above_rto")["pct"].item() == 100


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--by", "country"], "--by country: not known of these connections: prefix, server"),
        (["--where", "loss > 0"], "--where is of a sweep's runs"),
        (["--networks", "NOWHERE"], "no column network"),
        (["--networks", "ODD"], "line 2: 10.0.0.300 is no network"),
    ],
)
def test_what_cannot_be_asked_is_said(
    arguments: list[str], why: str, folder: str, tmp_path: Path, loadstone: Command
) -> None:
    (tmp_path / "nowhere.csv").write_text("place,country\nhere,DE\n")
    (tmp_path / "odd.csv").write_text("network,country\n10.0.0.300,DE\n")
    names = {"NOWHERE": str(tmp_path / "nowhere.csv"), "ODD": str(tmp_path / "odd.csv")}
    said = loadstone("analyze", folder, *(names.get(argument, argument) for argument in arguments))
    assert said.code == 2
    assert why in said.err


def test_tables_of_another_version_are_refused(folder: str, loadstone: Command) -> None:
    path = Path(folder, "connections.parquet")
    pl.read_parquet(path).drop("mss_up").write_parquet(path)
    said = loadstone("analyze", folder)
    assert said.code == 2
    assert "of another version, without mss_up" in said.err


def test_durations_that_stand_out_are_time_outs() -> None:
    usual = [float(100 * 1.01**step) for step in range(800)]
    found = traffic.knees(pl.Series([*usual, *[15_010.0] * 40, *[60_200.0] * 90]))
    assert [round(knee["duration_ms"], -3) for knee in found] == [15_000, 60_000]
    assert [round(knee["pct"]) for knee in found] == [5, 10]
    assert traffic.knees(pl.Series(usual)) == []


def test_an_address_of_ipv6_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "networks.csv"
    path.write_text("network,access,city\n2001:db8::/32,cable,\n2001:db8:1::/48,,Bern\n")
    places = Places.read([str(path)])
    assert places.of("2001:db8:1::5") == {"access": "cable", "city": "Bern"}
    assert places.of("2001:db9::1") == {}
    with pytest.raises(InputError, match="line 2: not an address"):
        (tmp_path / "prefixes.txt").write_text("10.0.0.0\t8\t64500\nand so on\n")
        Places.read([str(tmp_path / "prefixes.txt")])


def test_quantiles_leave_out_what_is_not_known() -> None:
    known = traffic.quantiles(pl.Series([None, 1.0, 3.0]))
    assert (known["count"], known["mean"], known["p50"]) == (2, 2.0, 2.0)
    assert json.dumps(traffic.quantiles(pl.Series([], dtype=pl.Float64))).count("null") == 7
