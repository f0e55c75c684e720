"""Loads by a browser in blocks, so that what changes with time meets all variants alike.

Each block loads each variant once and the first one twice, in an order that is shuffled anew. How much the
first differs from itself (A against A) is the noise floor. A load is left out if the machine stood still for
more than a share of it: by that alone, before its time is looked at.
"""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone._native import Gain
from loadstone.browser.devtools import BrowserError
from loadstone.browser.timing import PageTiming
from loadstone.stats import effect_size

STILL = 0.01
"""The share of a load for which the machine may stand still."""
_TRIES = 5
"""How often a load is tried until one counts."""


@dataclass(frozen=True)
class TimedLoad:
    """One load, and how long the machine stood still meanwhile."""

    timing: PageTiming
    paused_ms: float
    elapsed_ms: float

    @property
    def counts(self) -> bool:
        """Say whether the machine was there for it."""
        return self.paused_ms <= STILL * self.elapsed_ms


Load = Callable[[], TimedLoad]


@dataclass
class Loads:
    """The loads of one variant."""

    name: str
    timings: list[PageTiming] = field(default_factory=list)
    """In the order of the blocks."""
    left_out: int = 0
    """How many were not counted, because the machine stood still."""
    failed: int = 0
    """How many did not end in time, or at all."""

    @property
    def onload_ms(self) -> list[float]:
        """Give when the load events began."""
        return [timing.onload_ms for timing in self.timings]

    @property
    def median_ms(self) -> float:
        """Give the median of the load events."""
        return statistics.median(self.onload_ms)

    @property
    def variation(self) -> float | None:
        """Give the coefficient of variation: the standard deviation over the mean."""
        times = self.onload_ms
        return statistics.stdev(times) / statistics.mean(times) if len(times) > 1 else None


@dataclass(frozen=True)
class Measured:
    """What came of the blocks."""

    variants: Sequence[Loads]
    again: Loads
    """The first variant once more."""
    seed: int

    def gain(self, variant: Loads) -> Gain | None:
        """Hold a variant against the first, block by block."""
        return effect_size.gain(self.variants[0].onload_ms, variant.onload_ms, self.seed, random=True)

    @property
    def floor(self) -> Gain | None:
        """Hold the first against itself: what is found there is noise."""
        return self.gain(self.again)


def measure(
    loads: Mapping[str, Load], blocks: int, seed: int, progress: Callable[[int], None] = lambda _: None
) -> Measured:
    """Load each variant in each of so many blocks, after one load of each that is not counted."""
    order = random.Random(seed)
    variants = [Loads(name) for name in loads]
    again = Loads(f"{variants[0].name} again")
    for load in loads.values():
        _warmed_up(load)
    places = [(one, loads[one.name]) for one in variants] + [(again, loads[variants[0].name])]
    for done in range(blocks):
        order.shuffle(places)
        for one, load in places:
            _one(one, load)
        progress(done + 1)
    return Measured(variants, again, seed)


def _warmed_up(load: Load) -> None:
    try:
        load()
    except BrowserError:
        # If it fails again, it is told then.
        return


def _one(loads: Loads, load: Load) -> None:
    """Load until one counts."""
    why = "the machine stood still during each of them: free it and run again"
    for _ in range(_TRIES):
        try:
            loaded = load()
        except BrowserError as error:
            loads.failed += 1
            why = str(error)
            continue
        if loaded.counts:
            loads.timings.append(loaded.timing)
            return
        loads.left_out += 1
    raise BrowserError(f"{loads.name}: {_TRIES} loads one after another did not count: {why}")
