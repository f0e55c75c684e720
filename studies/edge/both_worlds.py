"""Page loads through an edge, simulated and over the kernel.

    .venv/bin/python studies/edge/both_worlds.py > studies/edge/both_worlds.md  # simulates
    .venv/bin/python studies/edge/both_worlds.py --measure  # live, as root, in 20 minutes

The live loads are kept in both_worlds.csv, where a line is a load.
"""

import csv
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import polars as pl
from edge_cells import KINDS, EdgeCell
from ways import LiveLoads

from loadstone._native import live_access
from loadstone.simulated_edge import Passage

PAGES = ("shop.har", "news.page.json", "remote-ui.page.json")
PROTOCOLS = ("http/1.1", "h2", "spdy/3.1")
NETWORKS = ("cable", "10/1mbit,100ms,queue=1000p")
"""Their queues hold what the pages send at once."""
BACKHAULS = ("100mbit,20ms", "100mbit,80ms")
BEDS = 2
AT_ONCE = 2
KEPT = Path(__file__).with_suffix(".csv")
COLUMNS = ("example", "kind", "protocol", "network", "backhaul", "congestion")
LOADS = 3
"""On each bed: the first one finds a cold edge."""

LEVELS: dict[str, Callable[["Compared"], str]] = {
    "edge": lambda one: one.situation,
    "page": lambda one: one.cell.example,
    "protocol": lambda one: one.cell.protocol,
    "network": lambda one: one.cell.network,
    "backhaul": lambda one: one.cell.backhaul,
}
"""By what errors are shown."""


@dataclass(frozen=True)
class Compared:
    """A cell in both worlds, through a cold edge or through a warm one; times in ms."""

    cell: EdgeCell
    passage: Passage
    live: Sequence[float]
    has_dropped: bool
    """Whether a queue dropped a packet in a live load of the cell."""

    @property
    def situation(self) -> str:
        """Say what an edge had when the page was loaded."""
        return "cold" if self.passage is Passage.COLD else f"warm: {self.cell.kind}"

    @cached_property
    def simulated(self) -> float:
        """Give the simulated time; without chance there is one."""
        return self.cell.way.simulated(self.cell.page, self.passage)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Give the range of simulated times where links differ by 1 %, and wake-ups of programs."""
        times = self.cell.way.varied(self.cell.page, self.passage)
        return min(times), max(times)

    @property
    def error(self) -> float:
        """Say by which share of the live median the simulated time is off."""
        return self.simulated / statistics.median(self.live) - 1


def cells() -> list[EdgeCell]:
    """Give the grid."""
    usual = product(PAGES, KINDS, PROTOCOLS, NETWORKS, BACKHAULS, ("cubic",))
    # Its slow start ends by losses alone, not by delays.
    without_hystart = product(PAGES, KINDS, PROTOCOLS, NETWORKS[1:], BACKHAULS[:1], ("reno",))
    return [EdgeCell(*one) for one in (*usual, *without_hystart)]


def measure() -> None:
    """Load all cells over the kernel, and keep the times."""
    if why_not := live_access():
        sys.exit(why_not)
    order = [cell for _ in range(BEDS) for cell in cells()]
    with ThreadPoolExecutor(AT_ONCE) as pool, KEPT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*COLUMNS, "passage", "plt_ms", "dropped", "paused_ms"))
        for cell, loads in zip(order, pool.map(_live, order), strict=True):
            stated = [getattr(cell, name) for name in COLUMNS]
            for at, plt_ms in enumerate(loads.plt_ms):
                passage = Passage.WARM if at else Passage.COLD
                writer.writerow(
                    (*stated, passage.value, f"{plt_ms:.2f}", loads.dropped, f"{loads.paused_ms:.1f}")
                )
            file.flush()


def _live(cell: EdgeCell) -> LiveLoads:
    return cell.way.live(cell.page, LOADS)


def compared() -> list[Compared]:
    """Give all cells with what was kept of their live loads."""
    kept = pl.read_csv(KEPT, schema_overrides=dict.fromkeys((*COLUMNS, "passage"), pl.String))
    rows = []
    for cell, passage in product(cells(), (Passage.COLD, Passage.WARM)):
        stated = {name: getattr(cell, name) for name in COLUMNS}
        own = kept.filter(**stated)
        times = own.filter(passage=passage.value)["plt_ms"].to_list()
        rows.append(Compared(cell, passage, times, bool((own["dropped"] > 0).any())))
    return rows


def report(rows: Sequence[Compared]) -> Iterator[str]:
    """Write errors in all, by factor, and cell by cell."""
    usual = [one for one in rows if one.cell.congestion == "cubic"]
    reno = [one for one in rows if one.cell.congestion == "reno"]
    places = {(one.cell.network, one.cell.backhaul) for one in reno}
    yield "# Loads through an edge: the simulator beside the kernel\n"
    yield "An error is the simulated time over the live median, less one. README.md says what was loaded.\n"
    yield _HEAD
    yield _errors("**all, with CUBIC**", "", usual)
    for name, level in LEVELS.items():
        for value in dict.fromkeys(map(level, usual)):
            yield _errors(name, value, [one for one in usual if level(one) == value])
    yield "\n## With and without HyStart\n"
    yield "The same cells with both congestion controls; Reno's slow start ends by losses alone.\n"
    yield _HEAD
    yield _errors("CUBIC", "", [one for one in usual if (one.cell.network, one.cell.backhaul) in places])
    yield _errors("Reno", "", reno)
    yield "\n## Cell by cell\n"
    yield "Simulated: without chance (least, most of 21 loads whose links differ by 1 %).\n"
    yield "Live: median (least, most). Queues dropped packets where it says so.\n"
    names = [*LEVELS, "congestion", "dropped", "simulated, ms", "live, ms", "error"]
    yield f"| {' | '.join(names)} |\n|{'---|' * len(names)}"
    for one in rows:
        values = [*(level(one) for level in LEVELS.values()), one.cell.congestion]
        values += ["yes" if one.has_dropped else "", _times(one.simulated, *one.range)]
        values += [_times(statistics.median(one.live), min(one.live), max(one.live)), f"{one.error:+.1%}"]
        yield f"| {' | '.join(values)} |"


_HEAD = "| | | cells | signed | median | 90 % | worst |\n|---|---|---:|---:|---:|---:|---:|"


def _errors(factor: str, level: str, rows: Iterable[Compared]) -> str:
    errors = [one.error for one in rows]
    sizes = sorted(map(abs, errors))
    ninetieth = sizes[math.ceil(0.9 * len(sizes)) - 1]
    shown = " | ".join(f"{size:.2%}" for size in (statistics.median(sizes), ninetieth, sizes[-1]))
    return f"| {factor} | {level} | {len(errors)} | {statistics.median(errors):+.2%} | {shown} |"


def _times(middle: float, least: float, most: float) -> str:
    return f"{middle:,.0f} ({least:,.0f}, {most:,.0f})"


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure()
    else:
        sys.stdout.write("\n".join(report(compared())) + "\n")
