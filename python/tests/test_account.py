"""The account of a load as Python meets it. What is in it, the Rust tests hold to arithmetic."""

import json
from typing import Any

import pytest

from loadstone import Outcome, Scenario, run_many

PARTS = [
    "handshakes", "waiting_for_connection", "request_round_trips", "transfer",
    "loss_recovery", "server", "page_itself",
]  # fmt: skip


def outcome(network: str, **fields: Any) -> Outcome:
    objects: list[dict[str, Any]] = [{"url": f"https://a.test/{at}", "bytes": 20_000} for at in range(12)]
    objects[3]["needs"] = [{"node": "layout"}]
    page = {"objects": objects, "compute": [{"name": "layout", "ms": 500}]}
    scenario = Scenario(json.dumps({"page": page, "network": network, **fields}))
    (given,) = run_many([(scenario, 1)])
    return given


@pytest.mark.parametrize("network", ["dsl", "dsl-lossy", "3g"])
def test_the_parts_add_up_to_the_page_load_time(network: str) -> None:
    run = outcome(network)
    account = run.account()
    assert account is not None and list(account) == PARTS
    assert sum(account.values()) == pytest.approx(run.plt_ms, rel=1e-12)


def test_the_path_has_no_gaps_and_is_what_the_account_adds_up() -> None:
    run = outcome("dsl-lossy")
    path, account = run.path(), run.account()
    assert list(path) == ["name", "part", "from_ms", "to_ms"]
    assert [0.0, *path["to_ms"]] == [*path["from_ms"], run.plt_ms]
    assert account is not None
    for part in PARTS:
        spans = zip(path["part"], path["from_ms"], path["to_ms"], strict=True)
        total = sum(to - begin for name, begin, to in spans if name == part)
        assert account[part] == pytest.approx(total, abs=1e-6)
    assert "layout" in path["name"] and account["page_itself"] == 500.0


def test_the_waterfall_says_when_requests_arrived_and_were_answered() -> None:
    waterfall = outcome("dsl").waterfall()
    assert list(waterfall)[3:] == [
        "connection", "found_ms", "found_by", "retried_ms", "sent_ms", "arrived_ms", "answered_ms",
        "first_byte_ms", "last_byte_ms",
    ]  # fmt: skip
    marks = ("found_ms", "sent_ms", "arrived_ms", "answered_ms", "first_byte_ms", "last_byte_ms")
    for times in zip(*(waterfall[mark] for mark in marks), strict=True):
        assert list(times) == sorted(times)
    assert waterfall["retried_ms"] == [None] * 12


def test_each_connection_has_its_row() -> None:
    run = outcome("dsl-lossy")
    table = run.connection_table()
    assert list(table) == [
        "host", "opened_ms", "established_ms", "closed_ms", "content_up", "content_down", "retransmissions",
    ]  # fmt: skip
    assert table["host"] == ["a.test"] * run.connections
    assert table["opened_ms"][0] == 0.0
    assert sum(table["retransmissions"]) == run.retransmissions
    # Heads of 400 bytes up, of 250 down; TLS does not count.
    assert (sum(table["content_up"]), sum(table["content_down"])) == (12 * 400, 12 * 20_250)


def test_what_is_sent_again_is_told_apart_by_what_made_it_so() -> None:
    assert [outcome("dsl").fast_retransmissions, outcome("dsl").timeouts] == [0, 0]
    lossy = [outcome("10/1mbit,100ms,8%", seed=seed) for seed in range(1, 21)]
    fast, probes, timeouts, again = (
        sum(getattr(run, name) for run in lossy)
        for name in ("fast_retransmissions", "tail_loss_probes", "timeouts", "retransmissions")
    )
    assert min(fast, probes, timeouts) > 0
    # A probe may be new data; after a timeout more may follow than the one segment.
    assert fast + timeouts <= again
    old = {"mechanisms": {"tail_loss_probes": False}}
    assert outcome("10/1mbit,100ms,8%", variant={"tcp": old}).tail_loss_probes == 1, "the client's"
    assert outcome("10/1mbit,100ms,8%", variant={"tcp": old, "client_tcp": old}).tail_loss_probes == 0


def test_a_load_that_did_not_complete_has_no_account() -> None:
    run = outcome("1mbit,100ms,99.9%")
    assert not run.completed
    assert run.account() is None
    assert run.first_request_ms is None
    assert run.path() == {"name": [], "part": [], "from_ms": [], "to_ms": []}
    assert set(run.connection_table()["established_ms"]) == {None}
