"""A live runner that is none: the simulator, with what a kernel's times have in addition."""

import random
import threading
from collections.abc import Callable
from typing import Any

from loadstone import LoadstoneError, Outcome, Scenario, run_many

KERNEL = "6.18.44"

Noise = Callable[[float, random.Random], float]


def exactly(ms: float, _: random.Random) -> float:
    return ms


class FakeOutcome:
    """The simulator's outcome, but for what is said to be otherwise."""

    def __init__(self, outcome: Outcome, **otherwise: Any) -> None:
        self._outcome = outcome
        vars(self).update(otherwise)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outcome, name)


class FakeKernel:
    """Runs scenarios; notes which runs were asked for, and how many at once."""

    def __init__(
        self,
        noise: Noise = exactly,
        kernel: str = KERNEL,
        late_worst_ms: float = 0.1,
        paused_ms: float = 0.0,
    ) -> None:
        self.asked: list[tuple[str, int]] = []
        self.most_at_once = 0
        self.refuses: Callable[[Scenario, int], tuple[str, str] | None] = lambda scenario, seed: None
        self._at_once = 0
        self._lock = threading.Lock()
        self._noise = noise
        self._conditions = {
            "paused_ms": paused_ms,
            "pauses": int(paused_ms > 0),
            "late_median_ms": 0.05,
            "late_p90_ms": 0.08,
            "late_worst_ms": late_worst_ms,
            "kernel": kernel,
        }

    def __call__(self, scenario: Scenario, seed: int) -> FakeOutcome:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.asked.append((scenario.to_json(), seed))
        try:
            if why := self.refuses(scenario, seed):
                raise LoadstoneError(*why)
            (outcome,) = run_many([(scenario, seed)], 1)
            chance = random.Random(f"{scenario.to_json()} {seed}")
            plt_ms = self._noise(outcome.plt_ms, chance)
            return FakeOutcome(outcome, plt_ms=plt_ms, conditions=self._conditions.copy)
        finally:
            with self._lock:
                self._at_once -= 1
