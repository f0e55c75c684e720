"""How many loads run at once: as many as the machine serves in time."""

import statistics
from collections import deque

MOST = 8
"""More loads at once are not tried."""

_READINGS = 40
_TOO_LATE_MS = 1.0
_EARLY_ENOUGH_MS = 0.3


class Pace:
    """Goes by the lateness of the last 40 loads' worst packets, of which nine in ten count.

    It begins with three quarters of the most. Above 1 ms it allows one load less, below 0.3 ms one more.
    After a change it waits for 40 loads again, since those before tell of another number.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._late_ms: deque[float] = deque(maxlen=_READINGS)
        self.at_once = most - most // 4

    def note(self, late_worst_ms: float) -> None:
        """Learn how late a load's latest packet was."""
        self._late_ms.append(late_worst_ms)
        if len(self._late_ms) < _READINGS:
            return
        late = statistics.quantiles(self._late_ms, n=10, method="inclusive")[-1]
        step = (late < _EARLY_ENOUGH_MS) - (late > _TOO_LATE_MS)
        at_once = min(max(self.at_once + step, 1), self._most)
        if at_once != self.at_once:
            self.at_once = at_once
            self._late_ms.clear()
