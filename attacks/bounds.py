"""What `loadstone serve` and `loadstone edge` may cost under an attack, against other servers."""

from collections.abc import Mapping

from attacks.attack import Aim, Attack
from attacks.measurement import Measured

MEMORY = 3.0
"""Of what is held by that one of the peers which holds more."""
PROCESSOR = 2.0
"""Of nghttpd's or nghttpx's time per byte; of nginx's where there is neither."""
NOTICEABLE = 0.005
"""Seconds per MB below which nothing is exceeded: a sixteenth of a processor for an attacker with 100 Mbit/s.
What so little costs differs from run to run by more than twice."""
HELD_PER_CONNECTION = 256 * 1024
"""Bytes, in tests, which run without the peers; nghttpd holds as much of ordinary requests."""
HELD_BY_EDGE = 1024 * 1024
"""The same of a relay, which keeps so much of requests that it may have to make again (docs/edge.md)."""
HUGE_PAGES = 2 * 2**21
"""Bytes, in tests: a heap grows by so much, whatever it is for."""


def share(measured: Mapping[str, Measured]) -> float | None:
    """Give what of its bound ours has used up: more than 1 exceeds it. Without a peer there is none."""
    ours, peers = measured["loadstone"], [one for name, one in measured.items() if name != "loadstone"]
    if not peers:
        return None
    if ours.attack.aim is Aim.MEMORY:
        return _ratio(ours.held, MEMORY * max(peer.held for peer in peers))
    peer = next((one for one in peers if one.server.startswith("nghttp")), peers[0])
    return _ratio(ours.seconds_per_mb, max(PROCESSOR * peer.seconds_per_mb, NOTICEABLE))


def held(attack: Attack, per_connection: int = HELD_PER_CONNECTION) -> int:
    """Give the bytes that a test allows to be held."""
    return HUGE_PAGES + attack.connections * per_connection


def _ratio(value: float, bound: float) -> float:
    if value <= 0:
        return 0.0
    return value / bound if bound > 0 else float("inf")
