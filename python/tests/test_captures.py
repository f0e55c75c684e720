"""The verb `capture`: captures as tables, and beside tcptrace's figures."""

import gzip
import importlib.util
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import polars as pl
import pyarrow.parquet as pq
import pytest

from conftest import ROOT, Command, need
from loadstone.captures import tables

SHARED = ROOT.parent / "shared/data/pcap"
SYN, ACK, PSH = 2, 16, 8
Packet = tuple[int, bool, int, int, int, int]
"""Time in us, whether it goes down, flags, number, bytes of data, acknowledged number."""

STORY: list[Packet] = [
    (0, False, SYN, 0, 0, 0),
    (50_000, True, SYN | ACK, 0, 0, 1),
    (50_100, False, ACK, 1, 0, 1),
    (50_200, False, ACK | PSH, 1, 300, 1),
    (110_000, True, ACK, 1, 1_000, 301),
    (110_100, False, ACK, 301, 0, 1_001),
    (400_000, True, ACK, 1, 1_000, 301),
    (400_100, False, ACK, 301, 0, 1_001),
]
"""A request and its response, seen at the client; the response comes twice."""


def pcap(packets: Iterable[Packet]) -> bytes:
    made = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for number, (us, down, flags, seq, size, ack) in enumerate(packets):
        ports, hosts = [40_000, 443], [bytes([10, 0, 0, 1]), bytes([192, 0, 2, 1])]
        if down:
            ports, hosts = ports[::-1], hosts[::-1]
        segment = struct.pack(">HHIIBBHI", *ports, 1000 + seq, 1000 + ack, 5 << 4, flags, 9000, 0) + bytes(
            size
        )
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), number + 1, 0, 64, 6, 0)
        packet = header + hosts[0] + hosts[1] + segment
        made.append(struct.pack("<IIII", us // 10**6, us % 10**6, len(packet), len(packet)) + packet)
    return b"".join(made)


def many(connections: int) -> bytes:
    """Make a capture at a server of many connections that are open at a time, each with one request."""
    told = [(0, False, SYN, 0, 0, 0), (100, True, SYN | ACK, 0, 0, 1), (50_100, False, ACK, 1, 0, 1)]
    told.append((50_200, False, ACK | PSH, 1, 500, 1))
    for n in range(8):
        told.append((60_000 + n, True, ACK, 1 + n * 1_000, 1_000, 501))
        told.append((110_000 + n, False, ACK, 501, 0, 1_001 + n * 1_000))
    headers = pcap(told)[:24]
    told_packets = [pcap([packet])[24:] for packet in told]
    made = [headers]
    for packet in told_packets:
        for connection in range(connections):
            # The client's address tells connections apart.
            at = 16 + (12 if packet[16 + 12 : 16 + 16] == bytes([10, 0, 0, 1]) else 16)
            made.append(packet[:at] + (0x0A000001 + connection).to_bytes(4) + packet[at + 4 :])
    return b"".join(made)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.pcap"
    path.write_bytes(pcap(STORY))
    return path


def test_a_capture_is_told_in_words_and_as_json(story: Path, loadstone: Command) -> None:
    said = loadstone("capture", str(story))
    assert said.code == 0
    assert "1 connection of TCP with 8 packets" in said.out
    assert "captured at the client" in said.out
    assert "sent again: 1 of 3 packets with data (33.33 %)" in said.out
    document = loadstone("capture", str(story), "--json").document
    assert (document["packets"], document["connections"], document["retransmitted_bytes"]) == (8, 1, 1000)
    assert document["quantiles"]["server_rtt_ms"]["p50"] == pytest.approx(50, abs=6)


def test_a_capture_loads_only_what_writes_its_tables(story: Path) -> None:
    code = (
        "import sys\n"
        "from loadstone import cli\n"
        f"try: cli.main(['capture', {str(story)!r}])\n"
        "except SystemExit: pass\n"
        "print(sorted({'pandas', 'polars', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == "[]\n"


def test_tables_are_parquet_whose_columns_say_what_they_are(
    story: Path, tmp_path: Path, loadstone: Command
) -> None:
    assert loadstone("capture", str(story), "-o", str(tmp_path / "out")).code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "capture.json",
        "connections.parquet",
        "exchanges.parquet",
        "quic.parquet",
        "retransmissions.parquet",
    ]
    connection = pl.read_parquet(tmp_path / "out/connections.parquet").row(0, named=True)
    assert (connection["client"], connection["server_port"]) == ("10.0.0.1", 443)
    assert connection["server_handshake_ms"] == 50
    assert connection["mss_up"] is None
    again = pl.read_parquet(tmp_path / "out/retransmissions.parquet").row(0, named=True)
    assert (again["way"], again["bytes"], again["spurious"]) == ("down", 1000, True)
    help_of = {
        field.name: field.metadata[b"help"] for field in pq.read_schema(tmp_path / "out/connections.parquet")
    }
    assert b"SYN-ACK" in help_of["server_handshake_ms"]


def test_periods_are_told_if_they_are_asked_for(story: Path, tmp_path: Path, loadstone: Command) -> None:
    assert loadstone("capture", str(story), "-o", str(tmp_path / "plain")).code == 0
    assert not (tmp_path / "plain/periods.parquet").exists()
    assert loadstone("capture", str(story), "-o", str(tmp_path / "told"), "--periods").code == 0
    told = pl.read_parquet(tmp_path / "told/periods.parquet").filter(way="down")
    # A response of 1,000 bytes at 110 ms, and once more at 400 ms.
    assert told["period"].to_list() == [1, 2, 3]
    assert told["bytes"].to_list() == [0, 1_000, 0]
    assert told["retransmitted_packets"].to_list() == [0, 0, 1]


def test_files_of_a_ring_are_one_capture_compressed_or_not(tmp_path: Path, loadstone: Command) -> None:
    (tmp_path / "one.pcap").write_bytes(pcap(STORY[:5]))
    (tmp_path / "two.pcap.gz").write_bytes(gzip.compress(pcap(STORY[5:])))
    both = [str(tmp_path / "one.pcap"), str(tmp_path / "two.pcap.gz")]
    document = loadstone("capture", *both, "--json").document
    assert (document["packets"], document["connections"], document["retransmitted_packets"]) == (8, 1, 1)


def test_standard_input_is_read() -> None:
    command = [sys.executable, "-m", "loadstone", "capture", "-", "--json"]
    said = subprocess.run(command, input=pcap(STORY), capture_output=True, check=True)
    assert json.loads(said.stdout)["packets"] == 8


def test_a_cut_file_gives_what_came_before_and_one_line(tmp_path: Path, loadstone: Command) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(STORY)[:-7])
    said = loadstone("capture", str(path), "--json")
    assert said.code == 0
    assert said.err.count("\n") == 1
    assert f"{path}: it ends in the middle of a packet, at byte" in said.err
    assert said.document["packets"] == 7
    assert said.document["unread"][0]["file"] == str(path)


def test_what_is_no_capture_is_refused_before_anything_is_read(
    story: Path, tmp_path: Path, loadstone: Command
) -> None:
    (tmp_path / "page.html").write_text("<!doctype html>")
    said = loadstone("capture", str(story), str(tmp_path / "page.html"), "-o", str(tmp_path / "out"))
    assert said.code == 2
    assert "page.html: this is neither a pcap nor a pcapng file" in said.err
    assert not (tmp_path / "out").exists()
    missing = loadstone("capture", str(tmp_path / "nothing.pcap"))
    assert missing.code == 2
    assert "nothing.pcap" in missing.err


def test_ctrl_c_keeps_what_was_read(story: Path, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tables.read([str(story)], str(tmp_path / "out"), interrupt)
    assert tables.document(tmp_path / "out")["interrupted"] is True
    assert pl.read_parquet(tmp_path / "out/connections.parquet").height == 1


def test_rows_of_all_batches_are_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS", 10)
    monkeypatch.setattr(tables, "_PACKETS", 100)
    day = 86_400_000_000
    packets = [(n * day + us, *rest) for n in range(100) for us, *rest in STORY]
    (tmp_path / "days.pcap").write_bytes(pcap((us % 2**52, *rest) for us, *rest in packets))
    tables.read([str(tmp_path / "days.pcap")], str(tmp_path / "out"), lambda done, total: None)
    connections = pl.read_parquet(tmp_path / "out/connections.parquet")
    assert sorted(connections["connection"]) == list(range(1, 801, 8))
    assert set(connections["bytes_down"]) == {1000}
    assert pl.read_parquet(tmp_path / "out/retransmissions.parquet").height == 100


def test_an_open_connection_takes_less_than_2_kilobytes(tmp_path: Path) -> None:
    connections = 20_000
    (tmp_path / "many.pcap").write_bytes(many(connections))
    (tmp_path / "one.pcap").write_bytes(pcap((n, True, ACK, n * 1_000, 1_000, 1) for n in range(5_000)))
    script = """
import os, sys
from loadstone._native import PacketTables

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def read(path):
    tables.open(path)
    while tables.read(1_000):
        pass

tables = PacketTables(900, 1_000_000, 1)
# Buffers for packets are the same for few and many connections.
read(sys.argv[1])
before = resident()
read(sys.argv[2])
print(resident() - before, tables.finish(1))
"""
    said = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "one.pcap", tmp_path / "many.pcap"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    grown, more = said.split()
    assert more == "True"
    assert int(grown) < 2_000 * connections


def test_the_number_of_threads_changes_no_byte(tmp_path: Path, loadstone: Command) -> None:
    made = pcap(STORY)
    clients = [made.replace(bytes([10, 0, 0, 1]), bytes([10, 0, number, 1])) for number in range(40)]
    paths = []
    for number, content in enumerate(clients):
        paths.append(str(tmp_path / f"{number}.pcap"))
        Path(paths[-1]).write_bytes(content)
    for threads in ("1", "2"):
        assert loadstone("capture", *paths, "-o", str(tmp_path / threads), "--threads", threads).code == 0
    for table in tables.TABLES:
        one, two = (Path(tmp_path, threads, f"{table}.parquet").read_bytes() for threads in ("1", "2"))
        assert one == two
    assert pl.read_parquet(tmp_path / "1/connections.parquet")["client"].n_unique() == 40


@pytest.fixture(scope="module")
def study() -> ModuleType:
    need("tcptrace")
    path = ROOT / "studies/captures/against_tcptrace.py"
    spec = importlib.util.spec_from_file_location("against_tcptrace", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_made_capture_is_counted_as_tcptrace_does(study: ModuleType, story: Path) -> None:
    compared, different = study.compare(story)
    assert compared == 46
    assert different == []


def test_public_captures_are_counted_as_tcptrace_does(study: ModuleType) -> None:
    if not SHARED.is_dir():
        pytest.skip("no public captures here")
    of_fins = {"http-206_example_a.pcap.gz", "tls-tls-1.2-stream-keylog.pcap.gz"}
    of_fins |= {"tls-tls-13draft19-early-data.pcap"}
    compare: Callable = study.compare
    for capture in sorted(path for path in SHARED.glob("*/*") if "quic" not in path.name):
        _, different = compare(capture)
        for one in different:
            # studies/captures/README.md says why.
            if one.figure.startswith("retransmitted"):
                assert one.capture in of_fins
                assert one.theirs == one.ours + 1
            else:
                assert one.figure.startswith("first_flight")
                assert one.ours == 0
