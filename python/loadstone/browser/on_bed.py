"""Pages loaded by Chromium on beds, one bed for each variant, and what is said of it."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from loadstone import bed as beds
from loadstone import text
from loadstone._native import RecordedSite
from loadstone.bed import Bed
from loadstone.browser import seeded
from loadstone.browser.blocks import Loads, Measured, TimedLoad, measure
from loadstone.browser.chromium import NAMES, Chromium, words
from loadstone.browser.devtools import BrowserError
from loadstone.experiment import Cell
from loadstone.files import InputError
from loadstone.verb_output import gain_document, gain_text, interval_text, wrapped

__all__ = ["Browser", "BrowserError", "document", "in_words", "is_chromium", "loads", "shown"]


def is_chromium(command: Sequence[str]) -> bool:
    """Say whether a command is Chromium with nothing but a URL."""
    return len(command) == 2 and command[0].rpartition("/")[2] in NAMES and not command[1].startswith("-")


def shown(command: Sequence[str], bed: Bed) -> list[str]:
    """Give the command with the switches with which Chromium shows a page in a window, with a new profile."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise InputError(
            f"{command[0]}: there is no display to show a page on: give --loads 2 to load it without a window"
        )
    return [*words(command[0], bed.sight.folder / "profile", headless=False), command[1]]


@dataclass(frozen=True)
class Behind:
    """What serves behind the link, if it is not a recording without bodies."""

    command: str | None = None
    """A program of the user's own."""
    site: RecordedSite | None = None
    """A recording with its bodies."""
    recorded_at: float | None = None
    """When it was recorded, in seconds since 1970: pages are shown that time, and seeded randomness."""
    announced: beds.Announced = field(default_factory=beds.Announced)
    """What its servers tell ahead."""
    edge: str | None = None
    """A program that is met instead of the servers, and finds them behind it."""


@dataclass(frozen=True)
class Browser:
    """What loads which page, and how."""

    program: str
    url: str
    warm: bool = False
    """Each load is the second one with its cache."""
    patience_s: float = 60.0
    """How long a load may take."""


def loads(
    cells: Mapping[str, Cell],
    browser: Browser,
    blocks: int,
    behind: Behind | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Measured:
    """Load a page on a bed for each scenario, in blocks; signals have to be held."""
    behind = behind or Behind()
    with ExitStack() as stack:
        ready = {}
        for name, cell in cells.items():
            opened = beds.opened(
                cell, behind.command, site=behind.site, announced=behind.announced, edge=behind.edge
            )
            bed = stack.enter_context(opened)
            chromium = stack.enter_context(_chromium(bed, browser.program))
            ready[name] = partial(_load, bed, chromium, browser, behind)
        return measure(ready, blocks, next(iter(cells.values())).seed, progress)


def _chromium(bed: Bed, program: str) -> Chromium:
    folder = bed.sight.folder / "chromium"
    folder.mkdir()
    return Chromium.start(program, folder, bed.start)


def _load(bed: Bed, chromium: Chromium, browser: Browser, behind: Behind) -> TimedLoad:
    if behind.site is not None:
        behind.site.restart()
    scripts = [] if behind.recorded_at is None else seeded.scripts(behind.recorded_at)
    before, began = bed.native.paused_ms, monotonic()
    timing = chromium.load(browser.url, warm=browser.warm, patience_s=browser.patience_s, scripts=scripts)
    return TimedLoad(timing, bed.native.paused_ms - before, (monotonic() - began) * 1e3)


# --- what is said of it ---


def document(measured: Measured) -> dict[str, Any]:
    """Give all of it for programs."""
    return {
        "variants": [_variant(measured, one) for one in measured.variants],
        "noise_floor": {**gain_document(measured.floor), **_variant(measured, measured.again)},
    }


def _variant(measured: Measured, one: Loads) -> dict[str, Any]:
    return {
        "name": one.name,
        "median_onload_ms": one.median_ms,
        "variation": one.variation,
        "gain": gain_document(measured.gain(one)),
        "left_out": one.left_out,
        "failed": one.failed,
        "loads": [asdict(timing) for timing in one.timings],
    }


def in_words(title: str, measured: Measured) -> str:
    """Give it as a table, with the noise floor."""
    first = measured.variants[0]
    rows = [["variant", "loads", "median onload", "varies by", "gain", "95 % interval"]]
    for one in measured.variants:
        gain = None if one is first else measured.gain(one)
        held = [gain_text(gain), interval_text(gain)] if gain is not None else ["baseline", ""]
        rows.append([one.name, str(len(one.timings)), text.ms(one.median_ms), _varies(one), *held])
    floor = measured.floor
    lines = [title, text.table(rows)]
    if floor is not None and floor.low is not None:
        lines += wrapped(
            f"Noise floor: {first.name} held against itself gives a gain of {gain_text(floor)} "
            f"({interval_text(floor)}). What is not clearer than that is not seen here."
        )
    everything = [*measured.variants, measured.again]
    if left_out := sum(one.left_out for one in everything):
        lines += wrapped(
            f"{text.count(left_out, 'load')} left out: the machine stood still for more than 1 % of each."
        )
    if failed := sum(one.failed for one in everything):
        lines += wrapped(f"{text.count(failed, 'load')} failed, and done again.")
    return "\n".join(lines)


def _varies(one: Loads) -> str:
    return "" if one.variation is None else f"{one.variation:.1%}".replace("%", " %")
