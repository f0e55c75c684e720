"""What slow start makes of one file: calculated, simulated, and what becomes of the claims about it."""

import re
from dataclasses import dataclass

from loadstone.reproduce.claims import NEAR, Claims
from loadstone.reproduce.study import Runner, Table

from .laboratory import FOLDER

SEGMENT = 1460
"""Bytes of a file in a packet, as the study counts."""
WINDOWS = (3, 10)
RTT_MS, RATE = 100, 10_000
"""Of figure 3; the rate in bits a millisecond."""
_SIZE = re.compile(r"size=(\d+)KB")


@dataclass(frozen=True)
class Point:
    """A file: its size, and how long it takes with both windows."""

    kilobytes: int
    calculated: tuple[float, float]
    simulated: tuple[float, float]

    @property
    def reductions(self) -> tuple[float, float]:
        """Give what the larger window saves, in %: calculated, and simulated."""
        return _reduction(self.calculated), _reduction(self.simulated)

    @property
    def trips(self) -> tuple[float, float]:
        """Give the simulated times in round trips, without the time of the bytes, with both windows."""
        bytes_ms = 1000 * self.kilobytes * 8 / RATE
        small, large = ((each - bytes_ms) / RTT_MS for each in self.simulated)
        return small, large

    @property
    def saved(self) -> float:
        """Give the round trips that the larger window saves, simulated."""
        small, large = self.trips
        return small - large


def _reduction(times: tuple[float, float]) -> float:
    small, large = times
    return 100 * (1 - large / small)


def data_rounds(segments: int, window: int) -> int:
    """Give the round trips that carry data, where the window doubles in each (table 1)."""
    rounds = 0
    while segments > 0:
        segments -= window << rounds
        rounds += 1
    return rounds


def round_trips(segments: int, window: int) -> int:
    """Give all of them, with that of the handshake."""
    return 1 + data_rounds(segments, window)


def calculated_ms(size: int, window: int) -> float:
    """Give the time of a file of this many bytes, without loss and with a receive window that never binds."""
    return RTT_MS * round_trips(-(-size // SEGMENT), window) + size * 8 / RATE


def measure(runner: Runner) -> list[Point]:
    """Simulate figure 3."""
    runs = runner.runs(runner.matrix(FOLDER / "files.toml"))
    times = {(page, iw): plt_ms for page, iw, plt_ms in runs.select("page", "iw", "plt_ms").iter_rows()}
    points = []
    for page in dict.fromkeys(page for page, _ in times):
        found = _SIZE.search(page)
        assert found is not None
        size = int(found[1])
        small, large = WINDOWS
        calculated = calculated_ms(1000 * size, small), calculated_ms(1000 * size, large)
        points.append(Point(size, calculated, (times[page, small], times[page, large])))
    return points


def at(points: list[Point], kilobytes: int) -> Point:
    """Give the point of a size that was run."""
    return next(point for point in points if point.kilobytes == kilobytes)


def table() -> Table:
    """Give table 1."""
    said = [("SYN", "SYN and ACK"), ("ACK and GET", "data"), ("ACKs", "data"), ("ACKs", "data")]
    rows, total = [], 0
    for at, (client, server) in enumerate(said):
        sent = 1 << (at - 1) if at else 0
        total += sent
        rows.append([f"{at + 1}", client, server, f"{sent}", f"{total}"])
    head = ["round trip", "client", "server", "data, in initial windows", "in all"]
    return Table("table-1", "Table 1: what does slow start send when?", head, rows, 3)


def figure(points: list[Point]) -> Table:
    """Give figure 3, whose curve the study prints as a drawing alone."""
    rows = [
        [f"{point.kilobytes}", *(f"{each:.0f}" for each in (*point.calculated, *point.simulated))]
        + [f"{each:.0f}" for each in point.reductions]
        for point in points
    ]
    names = [f"{how}, window {window}" for how in ("calculated", "simulated") for window in WINDOWS]
    head = ["KB", *(f"{name}, ms" for name in names), "saved, calculated, %", "saved, simulated, %"]
    note = (
        "10 Mbit/s, 100 ms, no loss, a receive window of 512 KB, one file over a new connection without "
        "TLS. Calculated: the window doubles every round trip. Simulated: it grows by one segment for "
        "each acknowledgement, of which there is one for two segments, as with a Linux server of the time "
        "and Windows."
    )
    return Table("figure-3", "Figure 3: what is a window of ten worth to one file?", head, rows, 0, note)


# --- claims of single files ---
#
# One rule for all: what section 3.1 says is about its model, and is judged by the calculation, whose counts
# come out exactly or do not; what section 5.4.2 says is about loads, and is judged by the simulation. The
# other of both is next to it.

_IMAGE = 302_000
"""Bytes of an image of page C, on average."""
_IMAGE_SAVED = 1
"""Round trips that a window of ten saves of it, as the study says next to their number."""
_MSS = 1448
_MOST = 400
"""Packets of the largest file that is calculated."""
_FILE, _FILE_KB = 9, 12
"""Packets of the file of which the study speaks, and a size that makes this many with its head."""


def judge(claims: Claims, curve: list[Point]) -> None:
    """Judge them."""
    _model(claims, curve)
    _that_file(claims, curve)
    _image(claims, curve)


def _calculated(segments: int) -> tuple[int, int]:
    """Give the round trips of a file with both windows."""
    small, large = WINDOWS
    return round_trips(segments, small), round_trips(segments, large)


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
        least * SEGMENT / 1000,
        f"calculated: {least} packets of {SEGMENT} bytes; simulated between {same} and {more} KB",
        digits=1,
    )


def _that_file(claims: Claims, curve: list[Point]) -> None:
    calculated, simulated = _calculated(_FILE), at(curve, _FILE_KB)
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
    image, calculated = at(curve, _IMAGE // 1000), _calculated(-(-_IMAGE // SEGMENT))
    small, large = image.trips
    claims.finding(
        "CL52",
        claims.holds("CL52", small) and abs(image.saved - _IMAGE_SAVED) <= NEAR * _IMAGE_SAVED,
        f"{small:.1f} RTT with 3, {large:.1f} with 10: {image.saved:.1f} saved",
        "simulated: round trips besides the time of the bytes, handshake included; calculated "
        f"{calculated[0]} and {calculated[1]}; that one is saved comes out of neither",
    )
