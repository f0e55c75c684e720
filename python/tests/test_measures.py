"""What follows from a load's outcome, against arithmetic on paper."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone.measures import nat_entries

FAST = "1000gbit,100ms"
"""Only its round trip takes time."""
Objects = list[dict[str, Any]]


@pytest.fixture
def loaded(loadstone: Command, tmp_path: Path) -> Any:
    """Load a page of these objects once, over a network where nothing is lost."""

    def load(objects: Objects, *options: str, network: str = FAST) -> dict[str, Any]:
        path = tmp_path / "own.page.json"
        path.write_text(json.dumps({"objects": objects}))
        asked = ("--exact", "--runs", "1", "--tls", "none", "--network", network, *options)
        (run,) = loadstone("load", str(path), "--json", *asked).document["runs"]
        return run

    return load


def of_size(number: int, size: int = 1_000) -> Objects:
    return [{"url": f"http://a.test/{at}", "bytes": size} for at in range(number)]


def test_a_load_takes_so_many_round_trips_and_most_of_them_may_be_idle(loaded: Any) -> None:
    # TCP's handshake takes one, the server thinks for ten, the request and its response take one.
    run = loaded([{"url": "http://a.test/", "bytes": 1_000, "think_ms": 1_000}])
    assert run["round_trips"] == pytest.approx(12, abs=0.01)
    # Since the handshake eleven have passed, and in the twelfth the response came.
    assert run["idle_share"] == 11 / 12


def test_a_connection_that_brings_something_in_each_round_trip_is_never_idle(loaded: Any) -> None:
    # Half a second's worth of bytes: only in the first round trip, that of the request, nothing comes.
    run = loaded(of_size(1, 625_000), network="10mbit,100ms,queue=10000p")
    rounds = run["round_trips"] - 1
    assert run["idle_share"] == pytest.approx(1 / -(-rounds // 1))


def test_requests_are_spread_over_connections_or_share_one(loaded: Any) -> None:
    assert loaded(of_size(12), "--protocol", "http/1.1")["requests_per_connection"] == 2
    assert loaded(of_size(12), "--protocol", "h2")["requests_per_connection"] == 12


def test_connections_take_turns_and_leave_entries_in_a_nat(loaded: Any) -> None:
    # The root comes alone, then six of the others, whose places the last five take: servers close each
    # connection after a response.
    run = loaded(of_size(12), "--requests-per-connection", "1", "--waterfall")
    table = run["connection_table"]
    assert (run["connections"], run["connections_at_once"]) == (12, 6)
    opened, closed = table["opened_ms"], table["closed_ms"]
    assert [opened[1:7], opened[7:]] == [[closed[0]] * 6, closed[1:6]]
    assert nat_entries(table, 0)[:2] == [(0, 1), (opened[1], 6)]
    # A NAT that keeps entries for a minute has all of them at once, and then drops those that were closed.
    kept = nat_entries(table, 60_000)
    assert kept[:2] == [(0, 1), (opened[1], 7)] and max(count for _, count in kept) == 12
    ended = [end for end in closed if end is not None]
    assert kept[-1] == (max(ended) + 60_000, 12 - len(ended))


def test_connections_that_stay_open_are_all_there_at_once(loaded: Any) -> None:
    run = loaded(of_size(12), "--waterfall")
    assert (run["connections"], run["connections_at_once"]) == (6, 6)
    assert run["connection_table"]["closed_ms"] == [None] * 6
    assert loaded(of_size(12), "--protocol", "h2")["connections_at_once"] == 1


def test_packets_have_a_mean_size_and_a_rate(loaded: Any) -> None:
    run = loaded(of_size(3, 100_000))
    for way in ("down", "up"):
        packets = run[f"packets_{way}"]
        assert run[f"packet_bytes_{way}"] * packets == pytest.approx(run[f"bytes_{way}"])
        assert run[f"packets_per_second_{way}"] * run["plt_ms"] == pytest.approx(1_000 * packets)
    # Segments of 1,448 bytes in packets of 1,500, and acknowledgements of 52 with a few requests.
    assert 1_300 < run["packet_bytes_down"] < 1_500 and 52 < run["packet_bytes_up"] < 80


def test_what_is_pushed_counts_and_so_does_what_the_load_had_no_need_of(loaded: Any) -> None:
    objects = [*of_size(3, 10_000), {"url": "http://a.test/late", "bytes": 7_000, "needed": False}]
    pushed = loaded(objects, "--protocol", "h2", "--push", "all")
    assert (pushed["bytes_pushed"], pushed["bytes_wasted"]) == (27_000, 7_000)
    assert pushed["requests_per_connection"] == 1
    asked = loaded(objects, "--protocol", "h2")
    assert (asked["bytes_pushed"], asked["bytes_wasted"]) == (0, 0)


def test_where_links_have_round_trips_of_their_own_there_is_none_to_count_in(loadstone: Command) -> None:
    (run,) = loadstone("load", "--scenario", "scenarios/relay.json", "--runs", "1", "--json").document["runs"]
    assert run["round_trips"] is None and run["idle_share"] is None
    assert run["requests_per_connection"] > 0
