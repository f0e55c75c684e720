"""Loads as qlog: what both ends of each connection see is what the table of packets has."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import Command

NETWORK = "10/1mbit,60ms,2%,queue=12p"


@pytest.fixture
def load(loadstone: Command, tmp_path: Path) -> Any:
    """Load a page, and give its traces and the table of its packets."""

    def load(*options: str) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
        path, table = tmp_path / "load.qlog", tmp_path / "load.csv"
        given = ["load", "synthetic:B", "--network", NETWORK, "--runs", "1"]
        result = loadstone(*given, "--qlog", str(path), "--packets", str(table), *options)
        assert result.code == 0, result.err
        document = json.loads(path.read_text())
        assert (document["qlog_version"], document["qlog_format"]) == ("0.3", "JSON")
        with table.open() as lines:
            return document["traces"], list(csv.DictReader(lines))

    return load


def packets(trace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    events = [event for event in trace["events"] if event["name"] == f"transport:packet_{name}"]
    return [event["data"] for event in events]


def numbers(trace: dict[str, Any], name: str) -> list[int]:
    return [data["header"]["packet_number"] for data in packets(trace, name)]


@pytest.mark.parametrize("protocol", ["http/1.1", "h2", "spdy/3.1"])
def test_both_ends_see_the_packets_of_the_table(load: Any, protocol: str) -> None:
    traces, table = load("--protocol", protocol)
    by_end = {(trace["common_fields"]["group_id"], trace["vantage_point"]["type"]): trace for trace in traces}
    connections = {row["connection"] for row in table}
    assert set(by_end) == {(conn, end) for conn in connections for end in ("client", "server")}
    for conn in connections:
        rows = [row for row in table if row["connection"] == conn]
        for way, sender, receiver in (("up", "client", "server"), ("down", "server", "client")):
            sent, came = by_end[conn, sender], by_end[conn, receiver]
            of_way = [row for row in rows if row["way"] == way]
            assert [data["raw"]["length"] for data in packets(sent, "sent")] == [
                int(row["bytes"]) for row in of_way
            ]
            assert numbers(sent, "sent") == list(range(len(of_way)))
            delivered = [at for at, row in enumerate(of_way) if row["fate"] == "delivered"]
            assert sorted(numbers(came, "received")) == delivered


def test_what_was_sent_is_acknowledged_or_taken_for_lost_or_in_flight(load: Any) -> None:
    traces, _ = load("--protocol", "h2")
    [server] = [trace for trace in traces if trace["vantage_point"]["type"] == "server"][:1]
    takes_numbers = {
        data["header"]["packet_number"]
        for data in packets(server, "sent")
        if data["raw"]["payload_length"] or set(data["tcp_flags"]) & {"S", "F"}
    }
    acked, lost = set(), set()
    for event in server["events"]:
        if event["name"] == "recovery:packet_lost":
            lost.add(event["data"]["header"]["packet_number"])
        for frame in event["data"].get("frames", []):
            for first, last in frame.get("acked_ranges", []):
                assert not acked & set(range(first, last + 1)), "each once"
                acked |= set(range(first, last + 1))
    assert acked | lost <= takes_numbers and len(lost) > 5 and len(acked) > 100 and not acked & lost
    metrics = [event["data"] for event in server["events"] if event["name"] == "recovery:metrics_updated"]
    in_flight = [
        data["raw"]["payload_length"]
        for data in packets(server, "sent")
        if data["header"]["packet_number"] in takes_numbers - acked - lost
    ]
    assert metrics[-1]["bytes_in_flight"] == sum(in_flight)
    windows = [one["congestion_window"] for one in metrics if "congestion_window" in one]
    assert windows[0] == 10 * 1448 and max(windows) > windows[0]
    assert all(59 < one["min_rtt"] <= one["latest_rtt"] for one in metrics if "min_rtt" in one)


def test_retransmissions_and_losses_say_why(load: Any) -> None:
    traces, table = load("--protocol", "h2")
    [server] = [trace for trace in traces if trace["vantage_point"]["type"] == "server"][:1]
    why = Counter(data.get("trigger") for data in packets(server, "sent"))
    by_loss = Counter(
        event["data"].get("trigger") for event in server["events"] if event["name"] == "recovery:packet_lost"
    )
    assert why["retransmit_reordered"] >= by_loss["time_threshold"] + by_loss["reordering_threshold"] - 1 > 3
    lost = sum(row["way"] == "down" and row["fate"] in ("loss", "queue") for row in table)
    assert sum(by_loss.values()) >= 0.9 * lost


def test_it_is_the_same_again_and_of_one_load(loadstone: Command, tmp_path: Path) -> None:
    files = [tmp_path / "one.qlog", tmp_path / "other.qlog"]
    for path in files:
        assert loadstone("load", "synthetic:A", "--runs", "1", "--qlog", str(path)).code == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    result = loadstone("load", "synthetic:A", "--runs", "2", "--qlog", str(files[0]))
    assert result.code == 2 and "--qlog is of one load" in result.err
