"""What the study `yahoo` leaves open, each answered otherwise: how much table 1 depends on it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from loadstone.reproduce.study import Runner, Table

from . import initial_window, laboratory
from .fairness import READINGS
from .initial_window import Row
from .laboratory import Build

SEEDS = 100
_MOST_MS = 2000
_MOST_BYTES = 440_000


@dataclass(frozen=True)
class Assumption:
    """One assumption changed; the free number is fitted again, to the same figure."""

    says: str
    build: Build = laboratory.front
    most: int = _MOST_MS
    """The most that the free number may be."""
    reading: str = "round trips"
    variant: dict[str, Any] = field(default_factory=dict)


def _front(**sizes: int) -> Build:
    return lambda browser_ms: laboratory.front(browser_ms, **sizes)


ASSUMPTIONS = (
    Assumption("as it is"),
    Assumption("loss of packets to the client", reading="packets to the client"),
    Assumption("loss of packets of each direction", reading="packets of each direction"),
    Assumption("server with Reno", variant={"tcp": {"profile": "linux-2.6", "cc": "reno"}}),
    Assumption("client Windows 7", variant={"client_tcp": {"profile": "windows-7"}}),
    Assumption("server as Linux 6", variant={"tcp": {"profile": "linux-6"}}),
    Assumption("HTML of 15 KB", _front(html=15_000)),
    Assumption("HTML of 60 KB", _front(html=60_000)),
    Assumption("other domain's objects of 3 KB", _front(small=3_000)),
    Assumption("other domain's objects of 25 KB", _front(small=25_000)),
    Assumption("objects found while the HTML comes", laboratory.found_on_the_way),
    Assumption("no time in the browser: one size for HTML and other domain", laboratory.of_size, _MOST_BYTES),
    Assumption("the same, all else behind a script", laboratory.behind_a_script, _MOST_BYTES),
)


def measure(runner: Runner) -> Iterator[tuple[Assumption, int, list[Row]]]:
    """Give table 1 by each assumption, and the free number."""
    target = next(clean for iw, _, _, clean in initial_window.published() if iw == initial_window.FITTED)
    for assumption in ASSUMPTIONS:
        number = laboratory.fitted(assumption.build, assumption.most, target, **assumption.variant)
        yield assumption, number, _rows(runner, assumption, assumption.build(number))


def _rows(runner: Runner, assumption: Assumption, built: laboratory.Page) -> list[Row]:
    loss: Callable[[float], str] = READINGS[assumption.reading]
    published = initial_window.published()
    jobs = []
    for iw, lost, _, _ in published:
        lossy = laboratory.scenario(built, iw, loss(lost), **assumption.variant)
        jobs += [(laboratory.scenario(built, iw, **assumption.variant), 1)]
        jobs += [(lossy, seed) for seed in range(1, SEEDS + 1)]
    outcomes = iter(runner.outcomes(jobs))
    made = []
    for iw, lost, theirs, theirs_clean in published:
        clean = next(outcomes).plt_ms / 1000
        loads = [one.plt_ms / 1000 for one in (next(outcomes) for _ in range(SEEDS)) if one.completed]
        made.append(Row(iw, lost, theirs, theirs_clean, loads, clean))
    return made


def table(measured: list[tuple[Assumption, int, list[Row]]]) -> Table:
    """Show what comes of each."""
    lines = []
    for assumption, number, rows in measured:
        right, worst = initial_window.near(rows)
        clean, lossy = initial_window.best(rows)
        unit = "ms" if assumption.most == _MOST_MS else "bytes"
        lines.append(
            [assumption.says, f"{number:,} {unit}", f"{right} of 13", f"{worst:.0%}", str(clean), str(lossy)]
        )
    head = ["", "free number", "within a quarter", "worst", "best ICW", "with loss"]
    note = f"Each time the free number is set by window 3 without loss, and nothing else; {SEEDS} seeds."
    return Table("assumptions", "How much does it depend on what is not known?", head, lines, 1, note)
