"""What becomes of the claims of single files, which can be calculated and simulated.

One rule for all: what section 3.1 says is about its model, and is judged by the calculation, whose counts
come out exactly or do not; what section 5.4.2 says is about loads, and is judged by the simulation. The other
of both is beside it.
"""

from loadstone.reproduce.cablelabs import slow_start
from loadstone.reproduce.cablelabs.slow_start import Point
from loadstone.reproduce.claims import NEAR, Claims

_IMAGE = 302_000
"""Bytes of an image of page C, on average."""
_IMAGE_SAVED = 1
"""Round trips that a window of ten saves of it, as the study says beside their number."""
_MSS = 1448
_MOST = 400
"""Packets of the largest file that is calculated."""
_FILE, _FILE_KB = 9, 12
"""Packets of the file of which the study speaks, and a size that makes so many with its head."""


def judge(claims: Claims, curve: list[Point]) -> None:
    """Judge them."""
    _model(claims, curve)
    _that_file(claims, curve)
    _image(claims, curve)


def _calculated(segments: int) -> tuple[int, int]:
    """Give the round trips of a file with both windows."""
    small, large = slow_start.WINDOWS
    return slow_start.round_trips(segments, small), slow_start.round_trips(segments, large)


def _share(trips: tuple[int, int]) -> float:
    small, large = trips
    return 1 - large / small


def _model(claims: Claims, curve: list[Point]) -> None:
    trips = {segments: _calculated(segments) for segments in range(1, _MOST)}
    most = max(curve, key=lambda point: point.saved)
    claims.number(
        "CL14",
        max(small - large for small, large in trips.values()),
        f"calculated; simulated up to {most.saved:.1f} ({most.kilobytes} KB)",
        digits=0,
        near=0,
    )
    best = max(curve, key=lambda point: point.reductions[1])
    claims.number(
        "CL15",
        max(trips, key=lambda segments: _share(trips[segments])),
        f"calculated: nine are 3 + 6 and need no fourth round trip; simulated {best.kilobytes} KB, as said",
        digits=0,
        near=0,
    )
    least = next(segments for segments, both in trips.items() if len({*both}) > 1) - 1
    same = max(point.kilobytes for point in curve if point.saved < 0.5 and point.kilobytes < 10)
    more = min(point.kilobytes for point in curve if point.kilobytes > same)
    claims.number(
        "CL19",
        least * slow_start.SEGMENT / 1000,
        f"calculated: {least} packets of {slow_start.SEGMENT} bytes; simulated between {same} and {more} KB",
        digits=1,
    )


def _that_file(claims: Claims, curve: list[Point]) -> None:
    calculated, simulated = _calculated(_FILE), slow_start.at(curve, _FILE_KB)
    for id, ours, other in zip(("CL16", "CL17"), calculated, simulated.trips, strict=True):
        claims.number(
            id, ours, f"calculated, of a file of {_FILE} packets; simulated {other:.1f}", digits=0, near=0
        )
    claims.number(
        "CL18",
        100 * _share(calculated),
        f"calculated, of the round trips of a file of {_FILE} packets; simulated "
        f"{simulated.reductions[1]:.0f} % of its time",
        digits=0,
    )


def _image(claims: Claims, curve: list[Point]) -> None:
    claims.number(
        "CL51", -(-_IMAGE // _MSS), "302 KB of 1000 bytes; of 1024 they would be 214 packets", digits=0
    )
    image, calculated = slow_start.at(curve, _IMAGE // 1000), _calculated(-(-_IMAGE // slow_start.SEGMENT))
    small, large = image.trips
    claims.finding(
        "CL52",
        claims.holds("CL52", small) and abs(image.saved - _IMAGE_SAVED) <= NEAR * _IMAGE_SAVED,
        f"{small:.1f} RTT with 3, {large:.1f} with 10: {image.saved:.1f} saved",
        "simulated: round trips besides the time of the bytes, handshake included; calculated "
        f"{calculated[0]} and {calculated[1]}; that one is saved comes out of neither",
    )
