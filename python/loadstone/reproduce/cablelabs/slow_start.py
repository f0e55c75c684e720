"""What slow start makes of one file: table 1, and figure 3 as a calculation and as a simulation."""

import re
from dataclasses import dataclass

from loadstone.reproduce.cablelabs.laboratory import STUDY
from loadstone.reproduce.results import Table
from loadstone.reproduce.study import Runner

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
    """Give the time of a file of so many bytes, without loss and with a receive window that never binds."""
    return RTT_MS * round_trips(-(-size // SEGMENT), window) + size * 8 / RATE


def measure(runner: Runner) -> list[Point]:
    """Simulate figure 3."""
    runs = runner.runs(runner.matrix(STUDY, "files.toml"))
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
