"""Runs until a gain is known well enough: when to look, and how wide intervals are that one looks at often.

One who looks after every run and stops as soon as a 95 % interval pleases is wrong more often than in 5 %.
So one looks rarely, after twice as many runs each time, and the k-th look may err in 5 % / (k (k + 1)): over
all looks, however many, that is 5 % at most.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from loadstone._native import CONFIDENCE, Gain
from loadstone.files import InputError

FIRST_LOOK = 21
"""Runs after which one looks first: as many as there are where nothing is said."""
MOST_RUNS = 2_000


@dataclass(frozen=True)
class Until:
    """How well a gain is to be known, and how many runs that may take."""

    half_width: float
    """Half of the gain's interval relative to the gain: 0.01 for 1 %."""
    most_runs: int = MOST_RUNS

    @classmethod
    def parse(cls, text: str, place: str = "--until") -> "Until":
        """Read a percentage, as in `1%`; raise `InputError` for anything else, which stands at `place`."""
        number, sign, rest = text.strip().partition("%")
        try:
            percent = float(number) if sign and not rest else 0.0
        except ValueError:
            percent = 0.0
        if not 0 < percent < 100:
            raise InputError(
                f"{place}: '{text}' is no share that a gain may be known to: write a percentage, such as 1%"
            )
        return cls(percent / 100)

    def __str__(self) -> str:
        return f"{100 * self.half_width:g} %"

    def looks(self) -> Iterator[int]:
        """Give the numbers of runs after which one looks: 21, 42, 84, ..., and the most at last."""
        runs = FIRST_LOOK
        while runs < self.most_runs:
            yield runs
            runs *= 2
        yield self.most_runs

    @staticmethod
    def confidence(look: int) -> float:
        """Give the confidence of the intervals at this look, the first being 1."""
        return 1 - (1 - CONFIDENCE) / (look * (look + 1))

    def confidence_after(self, runs: int) -> float:
        """Give the confidence of the intervals at the look after this many runs."""
        looks = list(self.looks())
        return self.confidence(next((at for at, most in enumerate(looks, 1) if most >= runs), len(looks)))

    def is_settled(self, gain: Gain | None) -> bool:
        """Say whether a gain, its interval of this look's confidence, is known well enough.

        One that does not exist, since nothing was completed, is not waited for.
        """
        if gain is None:
            return True
        return gain.half_width is not None and gain.half_width <= self.half_width
