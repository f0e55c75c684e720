"""What is loaded live and simulated: cells, the quick and the full grid, and how to choose among them.

The grid is the product of what is loaded (single objects of 1 KB to 3 MB over HTTP/1.1; the synthetic pages
A, B and C over six connections, HTTP/1.1, and over one, HTTP/2) with rates (the same up as down), round
trips, queues, initial windows and congestion controls of the server: 1,728 cells with single objects, 1,296
with pages. TLS is left out, so that the sizes of its flights confound nothing.

Thinning takes every n-th cell of the product. If n shares no factor with the numbers of levels, each level of
each factor stays about equally often, whatever the others are.
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from loadstone import experiment, pages
from loadstone._native import Page, Scenario
from loadstone.files import InputError

OBJECT, PAGE = "object", "page"

SIZES = ("1KB", "3KB", "10KB", "30KB", "100KB", "300KB", "1MB", "3MB")
PAGES = ("A", "B", "C")
RATES = ("1mbit", "10mbit", "20mbit")
RTTS = ("20ms", "100ms", "200ms")
WINDOWS = (3, 10, 16, 32)
CONTROLS = ("reno", "cubic", "bbr")
QUEUES = ("100ms", "1000p")
LOSS = "1%"
NO_LOSS = "0%"

LOSSY_RUNS = 30
"""Runs of a cell with loss, under the seeds 1 to 30."""

FACTORS = ("kind", "name", "rate", "rtt", "queue", "loss", "protocol", "connections", "iw", "cc")

_UNITS = {"KB": 1_000, "MB": 1_000_000}


@dataclass(frozen=True)
class Cell:
    """What one run is, but for its seed."""

    kind: str
    """`object` or `page`."""
    name: str
    """The object's size (`30KB`) or the synthetic page's name (`B`)."""
    network: str
    protocol: str
    connections: int
    iw: int
    cc: str

    def scenario(self) -> Scenario:
        """Make the scenario; a `LoadstoneError` names the field that the engine does not know."""
        variant = {
            "protocol": self.protocol,
            "connections": self.connections,
            "tls": "none",
            "tcp": {"iw": self.iw, "cc": self.cc},
        }
        page = _object(self.name) if self.kind == OBJECT else _synthetic(self.name)
        return experiment.scenario(page, {"network": self.network, "variant": variant})

    @cached_property
    def factors(self) -> dict[str, str]:
        """Give the level of each of `FACTORS`, as text."""
        rate, rtt, *others = self.network.split(",")
        named = dict(other.split("=", 1) for other in others)
        levels = {
            "rate": rate,
            "rtt": rtt,
            "queue": named.get("queue", QUEUES[0]),
            "loss": named.get("loss", NO_LOSS),
        }
        return {factor: levels.get(factor) or str(getattr(self, factor)) for factor in FACTORS}

    @property
    def is_random(self) -> bool:
        """Say whether packets are lost at random."""
        return self.factors["loss"] != NO_LOSS

    def __str__(self) -> str:
        over = "" if self.kind == OBJECT else f" {self.protocol}"
        return f"{self.name}{over} {self.network} IW {self.iw} {self.cc}"


@cache
def _synthetic(name: str) -> Page:
    return Page.synthetic(name)


def _object(name: str) -> Page:
    number, unit = name[:-2], name[-2:]
    if not number.isdecimal() or unit not in _UNITS:
        raise InputError(f"'{name}' is no size of an object: write for instance 30KB or 1MB")
    return pages.of_document({"objects": [{"url": "http://a.test/", "bytes": int(number) * _UNITS[unit]}]})


@dataclass(frozen=True)
class Grid:
    """Cells, and how often one without loss is repeated."""

    cells: tuple[Cell, ...]
    repeats: int

    def runs(self) -> list[tuple[Cell, int]]:
        """Give every cell with each of its seeds, cell by cell.

        The cells' order is that of a digest of what they are: as good as chance, so that every beginning of
        it is a fair sample, and the same wherever and whenever it is made.
        """
        cells = sorted(self.cells, key=_digest)
        return [(cell, seed) for cell in cells for seed in range(1, self._times(cell) + 1)]

    def _times(self, cell: Cell) -> int:
        return LOSSY_RUNS if cell.is_random else self.repeats

    def only(self, filters: Sequence[str]) -> "Grid":
        """Keep the cells that one of the filters chooses; see `chosen`."""
        return Grid(tuple(chosen(self.cells, filters)), self.repeats)


def _digest(cell: Cell) -> bytes:
    return hashlib.sha256(repr(cell).encode()).digest()


def chosen(cells: Iterable[Cell], filters: Sequence[str]) -> list[Cell]:
    """Keep the cells that one of the filters chooses: `cc=bbr,loss=1%` wants both. No filter keeps all."""
    cells = list(cells)
    wanted = [_parsed(filter_, cells) for filter_ in filters]
    if not wanted:
        return cells
    kept = [cell for cell in cells if any(levels.items() <= cell.factors.items() for levels in wanted)]
    if not kept:
        raise InputError(f"--only: no cell is {' or '.join(filters)}: ask for less at once")
    return kept


def _parsed(filter_: str, cells: Sequence[Cell]) -> dict[str, str]:
    levels = {}
    for part in filter_.split(","):
        factor, equals, level = (word.strip() for word in part.partition("="))
        if not equals or factor not in FACTORS:
            raise InputError(f"--only: '{part}' is no FACTOR=LEVEL: factors are {', '.join(FACTORS)}")
        known = list(dict.fromkeys(cell.factors[factor] for cell in cells))
        if level not in known:
            raise InputError(f"--only: no cell has {factor}={level}: use {', '.join(known)}")
        levels[factor] = level
    return levels


def _product(loads: Sequence[tuple[str, str, str, int]], loss: str) -> list[Cell]:
    cells = []
    for load, rate, rtt, iw, cc, queue in itertools.product(loads, RATES, RTTS, WINDOWS, CONTROLS, QUEUES):
        kind, name, protocol, connections = load
        lossy = "" if loss == NO_LOSS else f",loss={loss}"
        network = f"{rate},{rtt}{lossy},queue={queue}"
        cells.append(Cell(kind, name, network, protocol, connections, iw, cc))
    return cells


_OBJECTS = [(OBJECT, size, "http/1.1", 1) for size in SIZES]
_PAGES = [(PAGE, name, *over) for name in PAGES for over in (("http/1.1", 6), ("h2", 1))]


def _every(step: int, loss: str) -> list[Cell]:
    return _product(_OBJECTS, loss)[::step] + _product(_PAGES, loss)[::step]


def _is_long(cell: Cell) -> bool:
    """Whether one load takes some 25 s."""
    return cell.name in ("3MB", "C") and cell.factors["rate"] == "1mbit"


_QUICK_LOSSY = (
    Cell(OBJECT, "30KB", "10mbit,100ms,loss=1%,queue=100ms", "http/1.1", 1, 10, "cubic"),
    Cell(OBJECT, "100KB", "20mbit,200ms,loss=1%,queue=1000p", "http/1.1", 1, 3, "reno"),
    Cell(OBJECT, "300KB", "1mbit,20ms,loss=1%,queue=100ms", "http/1.1", 1, 16, "reno"),
    Cell(OBJECT, "100KB", "10mbit,100ms,loss=1%,queue=100ms", "http/1.1", 1, 10, "bbr"),
    Cell(PAGE, "A", "10mbit,20ms,loss=1%,queue=1000p", "http/1.1", 6, 16, "cubic"),
    Cell(PAGE, "B", "20mbit,100ms,loss=1%,queue=100ms", "h2", 1, 32, "cubic"),
    Cell(PAGE, "C", "10mbit,20ms,loss=1%,queue=100ms", "http/1.1", 6, 3, "reno"),
)
"""Too few for a lattice: chosen by hand so that they hold every level of every factor but the sizes."""

QUICK = Grid(
    (*(cell for cell in _every(41, NO_LOSS) if not _is_long(cell)), *_QUICK_LOSSY),
    repeats=2,
)
"""A part of the full grid for two minutes: without loss every 41st cell, twice; with loss seven cells, 30
times each. Every level of every factor is in it. Left out are 3 MB and page C at 1 Mbit/s, which take 25 s a
load."""

FULL = Grid(
    tuple(dict.fromkeys((*_every(1, NO_LOSS), *_every(11, LOSS), *_QUICK_LOSSY))),
    repeats=3,
)
"""Without loss the whole product, each cell three times: 9,072 runs. With 1 % loss every 11th cell and those
of the quick grid, 282 of 3,024, 30 times each: 8,460 runs. In these every two levels of two factors still
meet; the other cells differ in combinations of three factors and more only, and the whole product with loss
would be 90,720 runs, more than half a day with eight at once."""
