"""Initial windows: what follows from flights, and servers of this machine seen through a device."""

import shlex
import subprocess
from pathlib import Path

import pytest

import kernel
from conftest import Command, leave_out, need
from loadstone import initial_windows
from loadstone.initial_windows import Flight, FlightEnd, Probed, ProbedServer, Window

URL = "http://a.test/"


def flight(mss: int, segments: int, end: FlightEnd = "congestion_window", last: int | None = None) -> Flight:
    size = (segments - 1) * mss + (mss if last is None else last)
    return Flight(mss, segments, size, mss, 0, 50.0, 1.0, end)


def window(*flights: Flight) -> Window | None:
    return ProbedServer(URL, "192.0.2.1:80", list(flights), None).window


def test_a_window_is_so_many_segments_whatever_the_mss() -> None:
    assert window(flight(64, 10), flight(128, 10)) == Window(10, None, is_exact=True)


def test_the_end_of_a_flight_can_be_lost_so_the_largest_counts() -> None:
    assert window(flight(64, 7), flight(64, 10), flight(64, 9), flight(128, 10)) == Window(
        10, None, is_exact=True
    )


def test_a_window_is_so_many_bytes_if_it_is_with_both_mss() -> None:
    assert window(flight(64, 64), flight(128, 32)) == Window(None, 4096, is_exact=True)
    # RFC 5681 allows no part of a segment: 4,380 bytes are 68 segments of 64, and 34 of 128.
    assert window(flight(64, 68), flight(128, 34)) == Window(None, 4352, is_exact=True)


def test_a_response_that_ends_says_only_how_large_it_is_at_least() -> None:
    assert window(flight(64, 12, "response"), flight(128, 6, "response")) == Window(12, None, is_exact=False)
    # With the smaller MSS there was enough to send.
    assert window(flight(64, 10), flight(128, 8, "response", 5)) == Window(10, None, is_exact=True)
    assert window() is None


def test_what_is_neither_is_another_rule() -> None:
    assert window(flight(64, 10), flight(128, 20)) is None
    assert window(flight(64, 10), flight(128, 12, "response")) is None


def test_the_table_says_where_it_may_be_more_and_why_there_is_nothing() -> None:
    servers = [
        ProbedServer(URL, "192.0.2.1:80", [flight(64, 10), flight(128, 3, "response")], None),
        ProbedServer("http://b.test/\x1b", None, [], "nobody knows the name 'b.test'"),
    ]
    said = initial_windows.in_words(Probed("198.19.0.2", servers, interrupted=False))
    assert "10 segments" in said and ">=3" in said and "50.0 ms" in said
    assert "failed: http://b.test/" in said and "nobody knows" in said and "\x1b" not in said


def test_other_options_have_no_meaning_with_it(loadstone: Command) -> None:
    result = loadstone("fetch", "--probe-window", URL, "--push")
    assert result.code == 2 and "--push is not for --probe-window" in result.err


# --- a server of this machine ---


def alone(*commands: str) -> kernel.Result:
    """Run commands of the shell in a network of their own."""
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "\n".join(commands)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * kernel.PATIENCE)
    except FileNotFoundError:
        leave_out("no unshare: install util-linux")
    return kernel.result_of(done)


@pytest.mark.usefixtures("access")
def test_windows_of_servers_on_this_machine_are_seen_in_plain_and_under_tls(tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(100_000))
    loadstone = shlex.join(kernel.LOADSTONE)
    ip = need("ip")
    serve = f"{loadstone} serve {tmp_path}"
    result = alone(
        f"{ip} link set lo up",
        f"{serve} --listen 127.0.0.1:8080 --plaintext > {tmp_path}/plain & plain=$!",
        f"{serve} --listen 0.0.0.0:443 --save-ca {tmp_path}/ca.pem > {tmp_path}/tls & tls=$!",
        "trap 'kill $plain $tls' EXIT",
        "turns=0",
        f"while ! (grep -q 8080 {tmp_path}/plain && grep -q 443 {tmp_path}/tls) && [ $turns -lt 200 ]",
        "do sleep 0.1; turns=$((turns + 1)); done",
        f"{loadstone} fetch --probe-window --json http://127.0.0.1:8080/large.bin https://a.test/ "
        "http://127.0.0.1:9/ --resolve a.test:443:127.0.0.1",
    )
    assert result.code == 1, result.err
    plain, secure, closed = result.document["servers"]
    # Linux's own, RFC 6928: the route to the probe says nothing else.
    for server in (plain, secure):
        assert server["window"] == {"segments": 10, "bytes": None, "is_exact": True}, server
        assert server["failure"] is None and len(server["flights"]) == 6
    assert {one["mss"]: (one["bytes"], one["lost"]) for one in plain["flights"]} == {
        64: (640, 0),
        128: (1280, 0),
    }
    assert closed["window"] is None and "refused" in closed["failure"]


def test_without_privileges_it_says_what_to_do() -> None:
    kernel.need_nobody()
    result = kernel.as_nobody("0600", [*kernel.LOADSTONE, "fetch", "--probe-window", "http://127.0.0.1/"])
    assert result.code == 2 and "run as root" in result.err and result.err.count("\n") == 1
