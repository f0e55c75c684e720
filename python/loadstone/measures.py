"""Measures of a load that follow from its outcome: round trips, requests, packets; connections in use."""

from collections.abc import Sequence

from loadstone._native import Outcome
from loadstone.typed import Connections

Span = tuple[float, float]
"""From when to when, in ms."""
Step = tuple[float, int]
"""From when on, in ms, there are so many."""


def of_load(outcome: Outcome, rtt_ms: float | None) -> dict[str, float | None]:
    """Give the measures of a load (docs/load.md); `rtt_ms` is the round trip of its network, if any."""
    seconds = outcome.plt_ms / 1000
    requests = sum(sent is not None for sent in outcome.waterfall()["sent_ms"])
    return {
        "round_trips": _ratio(outcome.plt_ms, rtt_ms),
        "idle_share": idle_share(outcome, rtt_ms),
        "connections_at_once": connections_at_once(outcome),
        "requests_per_connection": _ratio(requests, outcome.connections),
        "packet_bytes_down": _ratio(outcome.bytes_down, outcome.packets_down),
        "packet_bytes_up": _ratio(outcome.bytes_up, outcome.packets_up),
        "packets_per_second_down": _ratio(outcome.packets_down, seconds),
        "packets_per_second_up": _ratio(outcome.packets_up, seconds),
    }


def _ratio(over: float, under: float | None) -> float | None:
    return over / under if under else None


def idle_share(outcome: Outcome, rtt_ms: float | None) -> float | None:
    """Give the share of the connections' round trips in which no part of a response came.

    Each connection's are counted from when the browser could use it to the end of the load, the last one
    whole.
    """
    if not rtt_ms:
        return None
    table = outcome.connection_table()
    responses = _responses(outcome, len(table["established_ms"]))
    rounds = idle = 0
    for established, own in zip(table["established_ms"], responses, strict=True):
        begin = outcome.plt_ms if established is None else established
        while begin < outcome.plt_ms:
            rounds += 1
            idle += not any(first < begin + rtt_ms and last >= begin for first, last in own)
            begin += rtt_ms
    return _ratio(idle, rounds)


def _responses(outcome: Outcome, connections: int) -> Sequence[Sequence[Span]]:
    """Give for each connection when responses were arriving over it."""
    seen = outcome.waterfall()
    spans: list[list[Span]] = [[] for _ in range(connections)]
    marks = zip(seen["connection"], seen["first_byte_ms"], seen["last_byte_ms"], strict=True)
    for connection, first, last in marks:
        if connection is not None and first is not None and last is not None:
            spans[connection].append((first, last))
    return spans


def connections_at_once(outcome: Outcome) -> int:
    """Give the most connections that are open at a time; the next one takes the place of one that ends."""
    return max((count for _, count in nat_entries(outcome.connection_table(), 0)), default=0)


def nat_entries(connections: Connections, timeout_ms: float) -> list[Step]:
    """Give how many entries a load has in a NAT that keeps one for a while after its connection has closed.

    An entry begins with the connection. One of a connection that is open to the end of the load has no end
    here.
    """
    changes = [(opened, 1) for opened in connections["opened_ms"]]
    changes += [(closed + timeout_ms, -1) for closed in connections["closed_ms"] if closed is not None]
    steps: dict[float, int] = {}
    count = 0
    for at, change in sorted(changes):
        count += change
        # What ends and what begins at the same time is one step.
        steps[at] = count
    return list(steps.items())
