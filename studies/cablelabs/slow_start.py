"""What slow start makes of one file: calculated, simulated, and what becomes of the claims about it (3.1).

The study's table 1 doubles the window in each round trip. Claims are judged by loads, in which it grows by
one segment for each acknowledgement; what the doubling gives is printed beside them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.claims import NEAR
from loadstone.reproduce.evidence import AS_STATED, Evidence, of_matrix
from loadstone.reproduce.judge import Figure, Judge, above
from loadstone.reproduce.study import Runner, Table
from loadstone.stores.matrix import Matrix

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
    return points(runner.runs(_files(runner)))


def points(loads: pl.DataFrame) -> list[Point]:
    """Give the point of each file that was loaded."""
    times = {(page, iw): plt_ms for page, iw, plt_ms in loads.select("page", "iw", "plt_ms").iter_rows()}
    made = []
    for page in dict.fromkeys(page for page, _ in times):
        found = _SIZE.search(page)
        assert found is not None
        size = int(found[1])
        small, large = WINDOWS
        calculated = calculated_ms(1000 * size, small), calculated_ms(1000 * size, large)
        made.append(Point(size, calculated, (times[page, small], times[page, large])))
    return made


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


# --- claims ---

_FILE = 12
"""KB that make nine packets with the response's head: the file of which the study speaks."""
_SMALL = 3
"""KB below which there is no acceleration."""
_IMAGES = {"A": 2.6, "B": 14, "C": 302}
"""KB of an image of each page, on average."""
_IMAGE = 302
_IMAGE_TRIPS = 9
_IMAGE_SAVED = 1
"""Round trips that a window of ten saves of it, as the study says next to their number."""
_NOTICED = 1
"""Percent: less than that is no acceleration."""
_MSS = 1448
_HEAD = 250
"""Bytes of a response's head."""

_OTHER_SYSTEMS = {
    "a client that acknowledges as Linux 2.6 does": {"client_tcp": "linux-2.6"},
    "servers with Linux 3.7": {"tcp": "linux-3.7"},
}
"""Section 3.1 names no systems; those of section 5 are not all that it may be about."""


def judge(judge: Judge, runner: Runner) -> None:
    """Judge them."""
    otherwise: dict[str, Callable[[Matrix], Matrix]] = {
        name: lambda own, changed=changed: replace(own, common={**own.common, **changed})  # type: ignore[misc]
        for name, changed in _OTHER_SYSTEMS.items()
    }
    files = of_matrix(runner, _files(runner), compared="iw", otherwise=otherwise)
    judge.number("CL14", files, lambda loads: max(point.saved for point in points(loads)), digits=1)
    judge.number(
        "CL15",
        files,
        lambda loads: -(-(1000 * _best(loads).kilobytes + _HEAD) // _MSS),
        "10 by table 1's doubling; the study says 9, and around 11 KB, which are 8",
        digits=0,
    )
    judge.number(
        "CL16", files, lambda loads: _that_file(loads).trips[0], "table 1's doubling has 3", digits=1
    )
    judge.number("CL17", files, lambda loads: _that_file(loads).trips[1], digits=1)
    judge.number("CL18", files, lambda loads: _that_file(loads).reductions[1], digits=0)
    judge.finding("CL19", files, _threshold)
    judge.number("CL51", _images(runner), _packets_of_c, "packets with data", digits=0)
    doubled = " and ".join(f"{round_trips(-(-1000 * _IMAGE // SEGMENT), window)}" for window in WINDOWS)
    why = f"handshake included, without the time of the bytes; table 1's doubling has {doubled}"
    judge.finding("CL52", files, _image, why)


def _files(runner: Runner) -> Matrix:
    return runner.matrix(FOLDER / "files.toml")


def _best(loads: pl.DataFrame) -> Point:
    return max(points(loads), key=lambda point: point.reductions[1])


def _that_file(loads: pl.DataFrame) -> Point:
    return at(points(loads), _FILE)


def _threshold(loads: pl.DataFrame) -> list[Figure]:
    """Ask of files below the threshold that none is faster, and of the best that it is."""
    saved = [point.reductions[1] for point in points(loads) if point.kilobytes <= _SMALL]
    return [
        Figure("most that a file up to 3 KB gains", max(saved), -_NOTICED, _NOTICED, 1, "%"),
        Figure("least", min(saved), -_NOTICED, _NOTICED, 1, "%"),
        above("the best gains", _best(loads).reductions[1], _NOTICED, 0, "%"),
    ]


def _image(loads: pl.DataFrame) -> list[Figure]:
    image = at(points(loads), _IMAGE)
    return [_near("with 3", image.trips[0], _IMAGE_TRIPS), _near("saved", image.saved, _IMAGE_SAVED)]


def _near(name: str, ours: float, theirs: float) -> Figure:
    return Figure(name, ours, theirs * (1 - NEAR), theirs * (1 + NEAR), 1, "RTT")


def _images(runner: Runner) -> Evidence:
    """Give the packets with data of a mean image of each page; of a load those of an empty file are taken."""
    matrix = _files(runner)

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        kilobyte = 1000 if assumption == AS_STATED else 1024
        sizes = {page: round(size * kilobyte) for page, size in _IMAGES.items()}
        named = {page: f"synthetic:objects=1,size={size}B,scheme=http" for page, size in sizes.items()}
        nothing = "synthetic:objects=1,size=0B,scheme=http"
        factors: dict[str, Sequence[Level]] = {"page": [*named.values(), nothing], "iw": [WINDOWS[0]]}
        counts: dict[str, int] = dict(
            runner.runs(replace(matrix, factors=factors, analysis={}, runs=1))
            .select("page", "packets_down")
            .iter_rows()
        )
        # The head alone is a packet with data, too.
        packets = [counts[page] - counts[nothing] + 1 for page in named.values()]
        return pl.DataFrame({"image": [*named], "seed": [1] * len(named), "packets": packets})

    return Evidence(run, ("packets",), "image", assumptions=("a KB of 1,024 bytes",))


def _packets_of_c(loads: pl.DataFrame) -> float:
    return float(loads.filter(pl.col("image") == "C")["packets"][0])
