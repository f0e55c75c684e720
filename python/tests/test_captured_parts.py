"""The parts of a page with its network that is made of a capture, each by itself."""

from typing import Any

import polars as pl
import pytest

from loadstone.captures import captured_har, client_capture, inferred_network, queue_waits
from loadstone.captures.client_capture import CapturedRequest

NAVIGATES = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]


def request(
    sent_ms: float,
    path: str = "/",
    *,
    fields: list[tuple[str, str]] | None = None,
    connection: dict[str, Any] | None = None,
    **exchange: Any,
) -> CapturedRequest:
    """Make a request 100 ms after the handshake of 20 ms, with a response of 50 bytes behind a head of 40."""
    usual = {
        "connection": 1,
        "exchange": 1,
        "kind": "http/1.1",
        "encrypted": False,
        "method": "GET",
        "status": 200,
    }
    sizes = {"request_bytes": 30, "response_bytes": 90, "body_bytes": None}
    times = {
        "request_ms": sent_ms,
        "request_time_ms": 0.0,
        "response_wait_ms": 30.0,
        "response_time_ms": 10.0,
    }
    opened = {"connection": 1, "server": "192.0.2.1", "server_port": 80, "start_ms": sent_ms - 120}
    return CapturedRequest(
        usual | sizes | times | exchange,
        opened | {"server_handshake_ms": 20.0} | (connection or {}),
        [(":method", "GET"), (":path", path), ("host", "a.test"), *(fields or [])],
        [("content-type", "text/css")],
        30,
        40,
    )


def entry(one: CapturedRequest) -> Any:
    [made] = captured_har.har([one])["log"]["entries"]
    return made


# --- page loads ---


def test_a_response_that_takes_long_is_no_silence() -> None:
    first = request(0, response_time_ms=15_000.0)
    assert len(client_capture.page_loads([first, request(24_900)])) == 1
    assert len(client_capture.page_loads([first, request(25_100)])) == 2


def test_redirects_of_a_navigation_are_of_its_page() -> None:
    goes = [request(0, fields=NAVIGATES, status=302), request(100, fields=NAVIGATES), request(200)]
    assert [len(page) for page in client_capture.page_loads(goes)] == [3]
    again = [*goes, request(60_000, fields=NAVIGATES)]
    assert [len(page) for page in client_capture.page_loads(again)] == [3, 1]


def test_a_frame_is_no_page() -> None:
    frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")]
    assert len(client_capture.page_loads([request(0, fields=NAVIGATES), request(20_000, fields=frame)])) == 1


@pytest.mark.parametrize(
    ("addresses", "is_one"),
    [
        (["10.0.0.1"], True),
        (["10.0.0.1", "10.0.0.2"], False),
        (["10.0.0.1", "2001:db8::1", "2001:db8::2"], True),
        (["2001:db8::1", "2001:db8:0:1::1"], False),
    ],
)
def test_addresses_of_one_network_of_ipv6_are_one_client(addresses: list[str], is_one: bool) -> None:
    assert client_capture.are_one(addresses) is is_one


# --- the HAR ---


def test_a_first_request_waited_for_handshakes_unless_the_connection_was_there_before() -> None:
    timings = {"send": 0.0, "wait": 30.0, "receive": 10.0}
    soon = entry(request(5_000))
    assert soon["timings"] == timings | {"connect": 20.0, "ssl": 0.0} and "_created" not in soon
    late = entry(request(5_000, connection={"start_ms": 4_000}))
    assert late["timings"] == timings | {"connect": 20.0, "ssl": 0.0}
    assert late["_created"] == late["_load_start"], "it was found when it was sent"
    assert entry(request(5_000, connection={"server_handshake_ms": None}))["timings"] == timings


def test_under_tls_the_rest_until_the_first_request_is_its_handshake() -> None:
    made = entry(request(5_000, encrypted=True, connection={"server_port": 443}))
    assert (made["timings"]["connect"], made["timings"]["ssl"]) == (120.0, 100.0)
    assert made["request"]["url"] == "https://a.test/"


def test_only_streams_share_a_connection_and_what_waits_for_one_is_known_by_its_socket() -> None:
    assert entry(request(0))["_socket"] == 1 and "_http2_stream_id" not in entry(request(0))
    assert entry(request(0, kind="h2", exchange=7))["_http2_stream_id"] == 7


def test_bodies_have_the_bytes_that_came_without_heads() -> None:
    assert entry(request(0))["response"]["bodySize"] == 50
    assert entry(request(0, body_bytes=47))["response"]["bodySize"] == 47
    assert entry(request(0, request_bytes=130))["request"]["bodySize"] == 100
    assert entry(request(0, request_bytes=130, kind="h2"))["request"]["bodySize"] == 0, "frames"
    stated = request(0, request_bytes=130, kind="h2", fields=[("content-length", "77")])
    assert entry(stated)["request"]["bodySize"] == 77


def test_a_host_without_a_name_is_its_address() -> None:
    of = {"server": "2001:db8::1", "server_port": 8080}
    nameless = CapturedRequest(request(0).exchange, request(0).connection | of, [(":path", "/x")], [], 30, 40)
    assert captured_har.url(nameless) == "http://[2001:db8::1]:8080/x"
    absolute = CapturedRequest(
        request(0).exchange, request(0).connection, [(":path", "http://b.test/y")], [], 30, 40
    )
    assert captured_har.url(absolute) == "http://b.test/y"


# --- the network ---


def packets(rows: list[tuple[float, float | None]]) -> pl.DataFrame:
    """Make packets of 1,000 bytes that came at a time, each with how long ago what it echoes was seen."""
    count = len(rows)
    columns: dict[str, list[Any]] = {
        "connection": [1] * count,
        "at_ms": [at for at, _ in rows],
        "bytes": [1000] * count,
        "echo_ms": [echo for _, echo in rows],
    }
    return pl.DataFrame(columns, schema_overrides={"echo_ms": pl.Float64})


def test_a_packet_waited_as_long_as_its_echo_took_longer_than_a_round_trip() -> None:
    burst = [(0.0, None), (10.0, 60.0), (11.0, 62.0), (12.0, 61.0)]
    # The link brought nothing for all the time that the first one seems to have waited.
    assert queue_waits.waits(packets(burst), {1: 50.0}) == {1: 0.0, 2: 12.0, 3: 11.0}
    assert queue_waits.waits(packets(burst), {}) == {}


def test_what_comes_after_a_pause_has_not_waited_for_the_link() -> None:
    # After 30 ms without anything a burst of two, which answer one acknowledgement.
    paused = [(0.0, None), (30.0, 80.0), (31.0, 81.0), (32.0, 70.0)]
    assert queue_waits.waits(packets(paused), {1: 50.0}) == {3: 20.0}


def test_packets_that_waited_tell_the_rate_of_the_link() -> None:
    came = packets([(float(at), 150.0) for at in range(30)])
    sizes = came["bytes"]
    waiting = dict.fromkeys(range(30), 100.0)
    assert queue_waits.rate_of_waiting(came, sizes, waiting, 4_000_000) == 8_000_000
    few = dict.fromkeys(range(9), 100.0)
    assert queue_waits.rate_of_waiting(came, sizes, few, 4_000_000) is None


def up(took_ms: list[float]) -> int | None:
    """Give the rate up where requests of 1,000 bytes were acknowledged so long after they were sent."""
    rows: list[dict[str, Any]] = []
    for number, took in enumerate(took_ms):
        sent = {"connection": 1, "seq": 1 + 1000 * number, "rtt_ms": None, "ack": None}
        rows.append({**sent, "way": "up", "bytes": 1000})
        rows.append({**sent, "way": "down", "bytes": 8, "ack": 1001 + 1000 * number, "rtt_ms": took})
    schema = {"rtt_ms": pl.Float64, "ack": pl.Int64}
    return inferred_network.rate_up(pl.DataFrame(rows, schema_overrides=schema), {1: 50.0}, {1: 52}, 10**9)


def test_the_rate_up_is_what_the_quickest_acknowledgements_agree_on() -> None:
    # 992 bytes more than a handshake's packet in 8 ms are 0.992 Mbit/s.
    assert up([58.0, 58.0, 58.0, 70.0, 90.0]) == pytest.approx(992_000, rel=1e-3)
    assert up([58.0, 58.0, 70.0, 90.0]) is None, "two are too few"
    assert up([50.5, 50.5, 50.5]) is None, "so quick that clocks and machines matter"
    assert up([58.0, 58.0, 58.0, 50.5]) is None, "one was so quick that the way up is no slow one"


def test_what_had_arrived_was_not_lost_on_the_way_up() -> None:
    columns = {"retransmitted_packets_up": [5, 1], "spurious_up": [2, 0], "syn_retransmissions_up": [0, 1]}
    assert inferred_network.again_up(pl.DataFrame(columns)) == 5


def network(lost_at_random: float | None) -> inferred_network.InferredNetwork:
    return inferred_network.InferredNetwork(
        down_bps=10_000_000,
        down_is_full=True,
        up_bps=1_000_000,
        round_trips_ms={"192.0.2.1": 50.0, "192.0.2.2": 70.0},
        segments=900,
        lost=18,
        segments_up=100,
        again_up=2,
        waited_ms=80.0,
        queue_is_full=False,
        lost_at_random=lost_at_random,
    )


def test_without_timestamps_chance_lost_what_the_simulators_queue_does_not_drop() -> None:
    assert network(None).random_loss_pct(8.0) == pytest.approx(1.2)
    assert network(None).random_loss_pct(30.0) == 0
    assert network(9.0).random_loss_pct(8.0) == pytest.approx(1.0)


def test_a_network_is_written_without_what_handshakes_took_on_the_link() -> None:
    # 60 bytes take 0.048 ms down and 0.48 ms up; a queue that was never full has twice what was seen.
    assert network(None).in_words(50.0, 1.26) == "10.000/1.000mbit,49.47ms,loss=1.3%,queue=160ms"
