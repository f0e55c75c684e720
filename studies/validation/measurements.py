"""The measurements file: one line for each load over a live kernel, added when it is done.

It is CSV under one line that says which loadstone measured on which kernel. A line begins with what was
loaded and under which seed; a load that stands there is not repeated, so a measure that was stopped goes on
where it was. Times are in ms.
"""

import csv
import fcntl
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from loadstone import __version__, files
from loadstone.files import InputError
from loadstone.studies.validation.grid import Cell


class LiveOutcome(Protocol):
    """What a run over a live kernel gave: what the engine's `Outcome` says, and under which conditions."""

    def conditions(self) -> dict[str, Any] | None:
        """Say how much the machine disturbed the run, and which kernel it was; `None` if simulated."""


@dataclass(frozen=True)
class Load:
    """What both worlds say of one load."""

    plt_ms: float
    packets_down: int
    packets_up: int
    bytes_down: int
    bytes_up: int
    retransmissions: int
    completed: bool

    @classmethod
    def of(cls, outcome: object) -> "Load":
        """Take what is compared from an outcome."""
        return cls(*(getattr(outcome, field.name) for field in fields(cls)))


@dataclass(frozen=True)
class Conditions:
    """How much the machine disturbed a load."""

    paused_ms: float
    """For how long the host paused the machine; the link's clock stood still meanwhile."""
    late_median_ms: float
    late_worst_ms: float
    """How long after its moment a packet left the link."""


@dataclass(frozen=True)
class Measurement:
    """One load over a live kernel."""

    cell: Cell
    seed: int
    load: Load
    conditions: Conditions

    @classmethod
    def of(cls, cell: Cell, seed: int, outcome: LiveOutcome) -> "Measurement":
        """Take what is kept of a live outcome."""
        said = _said(outcome)
        conditions = Conditions(*(float(said[field.name]) for field in fields(Conditions)))
        return cls(cell, seed, Load.of(outcome), conditions)

    def row(self) -> list[str]:
        """Give the line's fields."""
        parts = (*astuple(self.cell), self.seed, *astuple(self.load), *astuple(self.conditions))
        return [_written(part) for part in parts]


def _said(outcome: LiveOutcome) -> dict[str, Any]:
    said = outcome.conditions()
    if said is None:
        raise TypeError("an outcome of the live runner that says nothing of its conditions")
    return said


def kernel_of(outcome: LiveOutcome) -> str:
    """Give the version of the kernel."""
    return str(_said(outcome)["kernel"])


_COLUMNS = [
    *(field.name for field in fields(Cell)),
    "seed",
    *(field.name for field in fields(Load)),
    *(field.name for field in fields(Conditions)),
]


def _written(value: object) -> str:
    """Write times to 0.1 us, and yes and no as 1 and 0."""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _read(kind: Any, row: Mapping[str, str]) -> Any:
    """Make a dataclass of its columns."""
    readers: dict[Any, Any] = {bool: lambda text: bool(int(text))}
    return kind(*(readers.get(field.type, field.type)(row[field.name]) for field in fields(kind)))


@dataclass(frozen=True)
class Source:
    """Who measured."""

    kernel: str
    loadstone: str = __version__

    def __str__(self) -> str:
        return f"# loadstone {self.loadstone} on Linux {self.kernel}\n"


@dataclass(frozen=True)
class Measured:
    """All of a measurements file."""

    source: Source
    measurements: list[Measurement]

    def cells(self) -> list[Cell]:
        """Give what was loaded, each cell once."""
        return list(dict.fromkeys(measurement.cell for measurement in self.measurements))


def read(path: str) -> Measured:
    """Read a measurements file, plain or compressed. A last line that was cut off counts for nothing."""
    text = files.read(path).decode(errors="replace")
    head, _, lines = text[: text.rfind("\n") + 1].partition("\n")
    match = re.fullmatch(r"# loadstone (\S+) on Linux (\S+)", head)
    rows = csv.DictReader(io.StringIO(lines))
    if match is None or rows.fieldnames != _COLUMNS:
        raise InputError(f"{path}: no file of measurements: give one that 'loadstone validate' wrote")
    measurements = []
    for number, row in enumerate(rows, start=3):
        try:
            parts = _read(Cell, row), int(row["seed"]), _read(Load, row), _read(Conditions, row)
        except (TypeError, ValueError):
            raise InputError(f"{path}: line {number} is damaged: remove it, and measure again") from None
        measurements.append(Measurement(*parts))
    return Measured(Source(kernel=match[2], loadstone=match[1]), measurements)


class Journal:
    """A measurements file that is being written."""

    def __init__(self, path: str, file: io.BufferedRandom, measured: Measured | None) -> None:
        self._path = path
        self._file = file
        self._source = measured.source if measured else None
        self.measurements = measured.measurements if measured else []

    def add(self, measurement: Measurement, kernel: str) -> None:
        """Write a line, whole and at once; the first says which kernel it is."""
        source = Source(kernel)
        if self._source is None:
            self._source = source
            self._write(f"{source}{_line(_COLUMNS)}")
        if source != self._source:
            old = f"loadstone {self._source.loadstone} on Linux {self._source.kernel}"
            raise InputError(f"{self._path}: measured by {old}, not by this one: give another --measurements")
        self._write(_line(measurement.row()))
        self.measurements.append(measurement)

    def _write(self, text: str) -> None:
        self._file.write(text.encode())
        self._file.flush()


def _line(row: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


@contextmanager
def journal(path: str) -> Iterator[Journal]:
    """Open a measurements file to add to it; what is cut off at its end is dropped, nothing else."""
    if Path(path).suffix in (".gz", ".zst"):
        raise InputError(f"{path}: lines are added as plain text: decompress it, or add --kept to score it")
    try:
        file = Path(path).open("a+b")  # noqa: SIM115 - closed below
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"{path}: cannot be written ({why})") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{path}: another 'loadstone validate' is writing it: wait for it") from None
        file.seek(0)
        data = file.read()
        # Read first: a file of something else is refused before anything of it is dropped.
        measured = read(path) if data else None
        file.truncate(data.rfind(b"\n") + 1)
        yield Journal(path, file, measured)
