"""What an end noted of the packets that it sent: round trips, what was lost, how much was on its way.

Packets of QUIC have numbers of their own, so it is known which one is acknowledged (RFC 9002): no round trip
is ambiguous, and what was taken for lost and had arrived is acknowledged late.
"""

import math
import statistics
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.captures.qlog.noted_packet import NotedPacket

_BY_ACKS = frozenset({"reordering_threshold", "time_threshold"})
"""Why packets are taken for lost if acknowledgements of later ones show it (RFC 9002, section 6.1)."""
_BY_TIMER = "pto_expired"
_PROBE = "pto_probe"
_COUNTED = (
    *("flights", "busy_ms", "most_in_flight", "first_flight_packets", "first_flight_bytes"),
    *("spurious", "tail_loss_probes"),
)


@dataclass(frozen=True)
class _OnItsWay:
    at_ms: float
    is_eliciting: bool
    data_bytes: int


class SentPackets:
    """The packets that an end sent, until they are acknowledged or lost."""

    def __init__(self) -> None:
        self._spaces: dict[str, tuple[_Numbers, _Numbers]] = {}
        """By packet number space those that are on their way, and those that were lost."""
        self._sent: dict[tuple[str, int], _OnItsWay] = {}
        self._in_flight = 0
        self._busy_since: float | None = None
        self._rtt_ms: list[float] = []
        self._has_acked_data = False
        self._lost_by = {"acks": 0, "timer": 0, "unsaid": 0}
        self.counts: dict[str, float] = dict.fromkeys(_COUNTED, 0)
        """Columns of connections, without the way."""

    def _space(self, name: str) -> "tuple[_Numbers, _Numbers]":
        return self._spaces.setdefault(name, (_Numbers(), _Numbers()))

    def handle_sent(self, packet: NotedPacket, trigger: str) -> None:
        """Take note of a packet that was sent, and of why, if the trace says it."""
        # After a Retry or a Version Negotiation some begin with number 0 again.
        if packet.number is None or (packet.space, packet.number) in self._sent:
            return
        data_bytes = packet.data_bytes
        self._space(packet.space)[0].add(packet.number)
        self._sent[packet.space, packet.number] = _OnItsWay(packet.at_ms, packet.is_eliciting, data_bytes)
        self.counts["tail_loss_probes"] += trigger == _PROBE
        if not data_bytes:
            return
        if not self._in_flight:
            self._busy_since = packet.at_ms
            self.counts["flights"] += 1
        self._in_flight += data_bytes
        self.counts["most_in_flight"] = max(self.counts["most_in_flight"], self._in_flight)
        if not self._has_acked_data:
            self.counts["first_flight_packets"] += 1
            self.counts["first_flight_bytes"] += data_bytes

    def handle_acks(self, packet: NotedPacket) -> None:
        """Take note of what a packet that was received acknowledges (RFC 9002, section 5.1)."""
        if not packet.acked:
            return
        flying, lost = self._space(packet.space)
        self.counts["spurious"] += len(lost.take(packet.acked))
        acked = {number: self._sent.pop((packet.space, number)) for number in flying.take(packet.acked)}
        newest = acked.get(max(last for _, last in packet.acked))
        if newest is not None and any(one.is_eliciting for one in acked.values()):
            self._rtt_ms.append(packet.at_ms - newest.at_ms)
        self._land(packet.at_ms, sum(one.data_bytes for one in acked.values()))
        self._has_acked_data |= any(one.data_bytes for one in acked.values())

    def handle_lost(self, at_ms: float, space: str, number: int | None, trigger: str) -> None:
        """Take note of a packet that was taken for lost."""
        if number is None or (space, number) not in self._sent:
            return
        flying, lost = self._space(space)
        flying.take([(number, number)])
        lost.add(number)
        one = self._sent.pop((space, number))
        self._land(at_ms, one.data_bytes)
        why = "acks" if trigger in _BY_ACKS else "timer" if trigger == _BY_TIMER else "unsaid"
        self._lost_by[why] += 1

    def _land(self, at_ms: float, data_bytes: int) -> None:
        """So much is no longer on its way."""
        self._in_flight -= data_bytes
        if not self._in_flight and self._busy_since is not None:
            self.counts["busy_ms"] += at_ms - self._busy_since
            self._busy_since = None

    def columns(self) -> dict[str, Any]:
        """Give its columns of connections, without the way."""
        is_said = not self._lost_by["unsaid"]
        return {
            **self.counts,
            "fast": self._lost_by["acks"] if is_said else None,
            "timeouts": self._lost_by["timer"] if is_said else None,
            **_distribution(sorted(self._rtt_ms)),
        }


def _distribution(rtt_ms: Sequence[float]) -> dict[str, Any]:
    found: dict[str, Any] = {"rtt_samples": len(rtt_ms)}
    if rtt_ms:
        found |= {"rtt_min_ms": rtt_ms[0], "rtt_max_ms": rtt_ms[-1], "rtt_mean_ms": statistics.fmean(rtt_ms)}
        for name, share in (("median", 0.5), ("p90", 0.9)):
            # The smallest one that so many do not exceed, as captures have it.
            found[f"rtt_{name}_ms"] = rtt_ms[max(math.ceil(share * len(rtt_ms)) - 1, 0)]
    if len(rtt_ms) > 1:
        found["rtt_deviation_ms"] = statistics.stdev(rtt_ms)
    return found


class _Numbers:
    """Numbers of packets in order."""

    def __init__(self) -> None:
        self._sorted: list[int] = []

    def add(self, number: int) -> None:
        insort(self._sorted, number)

    def take(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Take out those in some ranges."""
        taken: list[int] = []
        for first, last in ranges:
            begin, end = bisect_left(self._sorted, first), bisect_right(self._sorted, last)
            taken += self._sorted[begin:end]
            del self._sorted[begin:end]
        return taken
