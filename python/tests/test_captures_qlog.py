"""What ends note of their connections with qlog, as tables: files of any draft in, rows out."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Command
from loadstone.captures import tables
from loadstone.captures.qlog import qlog_rows
from loadstone.captures.qlog.byte_ranges import ByteRanges
from loadstone.files import InputError

BEGUN_MS = 1_795_847_414_296
Event = tuple[float, str, dict[str, Any]]
Rows = list[dict[str, Any]]


def packet(number: int, *frames: dict[str, Any], kind: str = "1RTT") -> dict[str, Any]:
    """Give what an event says of a packet, as the drafts since 0.3 have it."""
    return {
        "header": {"packet_type": kind, "packet_number": number},
        "raw": {"length": 1252},
        "frames": list(frames),
    }


def stream(offset: int, length: int, *, of: int = 0, fin: bool = False) -> dict[str, Any]:
    return {"frame_type": "stream", "stream_id": of, "offset": offset, "length": length, "fin": fin}


def ack(*ranges: Sequence[int]) -> dict[str, Any]:
    return {"frame_type": "ack", "acked_ranges": [list(ends) for ends in ranges]}


def heads(stream_id: int, name: str, value: str) -> dict[str, Any]:
    headers = [{"name": name, "value": value}]
    return {"stream_id": stream_id, "frame": {"frame_type": "headers", "headers": headers}}


ENDS = {"src_ip": "192.0.2.1", "dst_ip": "::ffff:198.51.100.7", "src_port": 443, "dst_port": 51234}
WINDOW = {"initial_congestion_window": 12_000, "max_datagram_size": 1_200}
CRYPTO = {"frame_type": "crypto", "offset": 0, "length": 300}
SERVER: list[Event] = [
    (0, "connectivity:connection_started", ENDS),
    (0, "recovery:parameters_set", WINDOW),
    (1, "transport:packet_received", packet(0, CRYPTO, kind="initial")),
    (2, "transport:packet_sent", packet(0, ack([0]), CRYPTO, kind="initial")),
    (42, "transport:packet_received", packet(1, ack([0]), kind="initial")),
    (42, "transport:packet_received", packet(0, stream(0, 40, fin=True))),
    (42, "http:frame_parsed", heads(0, ":method", "GET")),
    (50, "http:frame_created", heads(0, ":status", "103")),
    (50, "http:frame_created", heads(0, ":status", "200")),
    (50, "transport:packet_sent", packet(0, stream(0, 1_000))),
    (51, "transport:packet_sent", packet(1, stream(1_000, 1_000))),
    (52, "transport:packet_sent", packet(2, stream(2_000, 500))),
    (91, "transport:packet_received", packet(1, ack([0], [2, 2]))),
    (92, "recovery:packet_lost", {**packet(1), "trigger": "time_threshold"}),
    (93, "transport:packet_sent", packet(3, stream(1_000, 1_000))),
    (93, "transport:packet_sent", packet(4, stream(2_500, 500, fin=True))),
    (95, "transport:packet_received", packet(2, ack([0, 2]))),
    (134, "transport:packet_received", packet(3, ack([0, 4]))),
    (334, "transport:packet_received", packet(4, stream(0, 30, of=4, fin=True))),
    (336, "transport:packet_received", packet(5, stream(0, 30, of=8, fin=True))),
    (340, "transport:packet_sent", packet(5, stream(0, 10, of=4, fin=True))),
    (400, "transport:connection_closed", {}),
]
"""A server's connection: it loses a packet that had arrived after all, and answers two of three requests."""


def as_json(events: Sequence[Event]) -> str:
    """Write the main schema 0.3."""
    common = {"protocol_type": ["QUIC"], "time_format": "relative", "reference_time": BEGUN_MS}
    noted = [{"time": at, "name": name, "data": data} for at, name, data in events]
    trace = {"vantage_point": {"type": "server"}, "common_fields": common, "events": noted}
    return json.dumps({"qlog_version": "0.3", "qlog_format": "JSON", "traces": [trace]})


def as_sequence(events: Sequence[Event], separator: str = "\x1e") -> str:
    """Write the drafts since: JSON-SEQ, times since the event before, and other names."""
    clock = {
        "clock_type": "monotonic",
        "epoch": "unknown",
        "wall_clock_time": "2026-11-28T06:30:14.296000000Z",
    }
    common = {"time_format": "relative_to_previous_event", "reference_time": clock}
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "qlog_version": "0.4"}
    trace = {"vantage_point": {"type": "SERVER"}, "common_fields": common}
    records: list[dict[str, Any]] = [{**head, "trace": trace}]
    before = 0.0
    for at, name, data in events:
        category, _, event = name.partition(":")
        prefix = (
            "http3:" if category == "http" else "quic:recovery_" if event == "parameters_set" else "quic:"
        )
        local = {"ip_v4": "192.0.2.1", "port_v4": 443}
        said = (
            {"local": local, "remote": {"ip_v4": "198.51.100.7", "port_v4": 51234}} if data == ENDS else data
        )
        records.append({"time": at - before, "name": prefix + event, "data": said})
        before = at
    return "".join(f"{separator}{json.dumps(record)}\n" for record in records)


def as_table(events: Sequence[Event]) -> str:
    """Write draft 00: a table with numbers as texts, in us."""

    def old(data: dict[str, Any]) -> dict[str, Any]:
        if "header" not in data:
            return data
        header = {"packet_number": str(data["header"]["packet_number"]), "packet_size": 1252}
        frames = [frame | {"frame_type": frame["frame_type"].upper()} for frame in data["frames"]]
        kind = data["header"]["packet_type"]
        return {**data, "raw": None, "packet_type": kind, "header": header, "frames": frames}

    rows = [
        [str(at * 1000), *(word.upper() for word in name.split(":")), old(data)] for at, name, data in events
    ]
    trace = {
        "vantage_point": {"type": "SERVER"},
        "configuration": {"time_units": "us"},
        "common_fields": {"protocol_type": "QUIC_HTTP3", "reference_time": str(BEGUN_MS)},
        "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"],
        "events": [*rows, []],
    }
    return json.dumps({"qlog_version": "draft-00", "traces": [trace]})


@pytest.fixture
def read(loadstone: Command, tmp_path: Path) -> Callable[[str], tuple[Rows, Rows]]:
    """Read a file, and give the rows of its connections and of its exchanges."""

    def rows(content: str) -> tuple[Rows, Rows]:
        (tmp_path / "one.qlog").write_text(content)
        result = loadstone("capture", str(tmp_path / "one.qlog"), "-o", str(tmp_path / "tables"))
        assert (result.code, result.err) == (0, "")
        assert "1 file of qlog; 1 connection, noted 1 at the server" in result.out
        folder = tmp_path / "tables"
        connections = pl.read_parquet(folder / "connections.parquet").rows(named=True)
        return connections, pl.read_parquet(folder / "exchanges.parquet").rows(named=True)

    return rows


@pytest.mark.parametrize("written", [as_json, as_sequence, lambda events: as_sequence(events, ""), as_table])
def test_what_a_server_noted_is_the_row_of_its_connection_in_every_draft(read: Any, written: Any) -> None:
    connections, exchanges = read(written(SERVER))
    (one,) = connections
    ends = one["client"], one["client_port"], one["server"], one["server_port"], one["captured_at"]
    assert ends == ("198.51.100.7", 51234, "192.0.2.1", 443, "server")
    assert (one["start_ms"], one["duration_ms"], one["opened"], one["closed"]) == (
        BEGUN_MS + 1,
        339,
        True,
        True,
    )
    assert (one["packets_down"], one["packets_up"], one["data_packets_down"]) == (7, 8, 6)
    assert (one["data_bytes_down"], one["bytes_down"], one["bytes_up"]) == (4_010, 3_010, 100)
    assert (one["retransmitted_packets_down"], one["retransmitted_bytes_down"]) == (1, 1_000)
    assert (one["fast_down"], one["timeouts_down"], one["spurious_down"]) == (1, 0, 1)
    # Of the first Initial, of packet 2, and of packet 4; what acknowledges nothing new measures nothing.
    samples = (
        one["rtt_samples_down"],
        one["rtt_min_ms_down"],
        one["rtt_median_ms_down"],
        one["rtt_max_ms_down"],
    )
    assert samples == (3, 39, 40, 41)
    assert (one["first_flight_packets_down"], one["first_flight_bytes_down"]) == (3, 2_500)
    assert (one["most_in_flight_down"], one["flights_down"], one["initial_window_down"]) == (2_500, 3, 10)
    # From 50 to 92, when all was acknowledged or lost, and from 93 to 134; the last one is still on its way.
    assert one["busy_ms_down"] == 42 + 41
    assert one["rtt_samples_up"] is None and one["timeouts_up"] is None

    first, second, third = exchanges
    assert (first["kind"], first["method"], first["status"], first["encrypted"]) == ("h3", "GET", 200, True)
    assert (first["request_ms"], first["request_bytes"], first["response_bytes"]) == (
        BEGUN_MS + 42,
        40,
        3_000,
    )
    times = first["response_wait_ms"], first["response_time_ms"], first["retransmitted_packets"]
    assert times == (8, 43, 1)
    assert (second["gap_ms"], second["answered"], second["response_bytes"]) == (334 - 93, True, 10)
    assert (third["gap_ms"], third["pipelined"], third["answered"]) == (None, True, False)


def test_what_is_cut_is_read_up_to_there(loadstone: Command, tmp_path: Path) -> None:
    whole = as_sequence(SERVER)
    (tmp_path / "cut.sqlog").write_text(whole[:-30])
    result = loadstone("capture", str(tmp_path / "cut.sqlog"), "-o", str(tmp_path / "tables"))
    assert result.code == 0 and "cut.sqlog: line 23: it is cut or damaged" in result.err
    (one,) = pl.read_parquet(tmp_path / "tables" / "connections.parquet").rows(named=True)
    assert (one["packets_down"], one["closed"]) == (7, False)


def test_what_is_no_trace_of_an_end_is_one_clear_line(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "one.qlog"

    def said(content: str, *options: str) -> tuple[int, str]:
        path.write_text(content)
        result = loadstone("capture", str(path), "-o", str(tmp_path / "tables"), *options)
        return result.code, result.err

    none = f"loadstone: {path}: it has no traces as qlog's drafts have them\n"
    assert said('{"qlog_version": "0.3"}') == (2, none)
    code, err = said(as_json(SERVER).replace('"server"', '"network"'))
    assert code == 0 and "trace 1 was noted by 'network'" in err
    code, err = said(as_json([(0, "transport:packet_sent", packet(0, {"frame_type": "stream"}))]))
    assert code == 0 and "event 1: packet_sent is not as in qlog's drafts" in err
    assert "there are no packets in it" in said(as_json(SERVER), "--periods")[1]
    (tmp_path / "other.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    both = loadstone("capture", str(path), str(tmp_path / "other.pcap"))
    assert both.code == 2 and "this is qlog, and other files are captures" in both.err


def test_traces_of_our_own_loads_have_what_their_packets_have(loadstone: Command, tmp_path: Path) -> None:
    options = ("--network", "10/1mbit,60ms,2%", "--runs", "1", "--protocol", "h2")
    qlog, pcap = str(tmp_path / "load.qlog"), str(tmp_path / "load.pcapng")
    written = ("--qlog", qlog, "--pcap", pcap, "--pcap-at", "server")
    assert loadstone("load", "synthetic:B", *options, *written).code == 0
    for name in ("load.qlog", "load.pcapng"):
        assert loadstone("capture", str(tmp_path / name), "-o", str(tmp_path / name[-4:])).code == 0
    noted, captured = (
        pl.read_parquet(tmp_path / name / "connections.parquet").filter(pl.col("captured_at") == "server")
        for name in ("qlog", "apng")
    )
    for column in ("data_packets_down", "bytes_down", "retransmitted_packets_down", "bytes_up"):
        assert noted[column].to_list() == captured[column].to_list(), column
    # A handshake has no data: its round trip, which no queue made longer, is in the capture alone.
    assert noted["rtt_min_ms_down"].to_list() == pytest.approx(captured["rtt_min_ms_down"].to_list(), abs=1)
    assert noted["retransmitted_packets_down"].sum() > 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30))
def test_ranges_of_bytes_are_sets_of_bytes(pieces: list[tuple[int, int]]) -> None:
    ranges, seen = ByteRanges(), set[int]()
    for start, length in pieces:
        piece = set(range(start, start + length))
        assert ranges.add(start, start + length) == len(piece & seen)
        seen |= piece
        assert ranges.count == len(seen)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["header", "frames", "packet_number", "offset", "stream_id"]), inner
        )
    ),
    max_leaves=8,
)
FRAME = st.fixed_dictionaries(
    {"frame_type": st.sampled_from(["stream", "ack", "reset_stream"]), "stream_id": JSON},
    optional={"offset": JSON, "length": JSON, "acked_ranges": JSON, "raw": JSON},
)
SAID = JSON | st.fixed_dictionaries({"header": JSON, "frames": st.lists(FRAME, max_size=3)})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted({name for _, name, _ in SERVER})), SAID, JSON, JSON)
def test_whatever_a_trace_says_nothing_breaks(
    tmp_path: Path, name: str, data: Any, time: Any, columns: Any
) -> None:
    events: Any = [{"time": 1, "name": name, "data": data}, {"time": time, "name": name}, data]
    vantage = {"type": "server"}
    written = [
        {"vantage_point": vantage, "events": events},
        {"vantage_point": vantage, "events": data},
        {"vantage_point": vantage, "event_fields": columns, "events": [data]},
    ]
    path = tmp_path / "any.qlog"
    for trace in written:
        path.write_text(json.dumps({"qlog_version": "0.3", "traces": [trace]}))
        with suppress(InputError):
            tables.read([str(path)], str(tmp_path / "tables"), lambda done, total: None)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("transport:packet_sent", packet(0, stream(0, 10**30))),
        ("transport:packet_sent", packet(0, stream(2**62, 5))),
        ("connectivity:connection_started", {"local": {"address_v4": {"ip": "192.0.2.1", "port": "x"}}}),
        ("recovery:parameters_set", {"initial_congestion_window": 10**40, "max_datagram_size": 1}),
    ],
)
def test_what_no_packet_can_have_is_one_clear_line(
    loadstone: Command, tmp_path: Path, name: str, data: dict[str, Any]
) -> None:
    path = tmp_path / "one.qlog"
    path.write_text(as_json([*SERVER[:4], (3, name, data)]))
    result = loadstone("capture", str(path), "-o", str(tmp_path / "tables"))
    assert result.code == 0 and "event 5: " in result.err and "not as in qlog's drafts" in result.err
    assert pl.read_parquet(tmp_path / "tables" / "connections.parquet")["packets_down"].to_list() == [1]


def test_a_file_that_is_no_qlog_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.qlog"
    path.write_text('["qlog_version"]')
    with pytest.raises(InputError, match="it has no traces"):
        qlog_rows.rows([str(path)])
