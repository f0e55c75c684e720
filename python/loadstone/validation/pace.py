"""How many loads run at once: as many as the machine serves in time."""

import statistics
from collections import deque

MOST = 8
"""More loads at once are not tried."""

_READINGS = 40
_TOO_LONG = 3.0
_SHORT_ENOUGH = 1.0


class Pace:
    """Goes by the share of the last 40 loads' time for which they were paused, of which nine in ten count.

    Not by lateness: a link that comes more than 0.5 ms late to a packet takes that for a pause of the
    machine. It begins with three quarters of the most. Above 3 % it allows one load less, below 1 % one
    more. After a change it waits for 40 loads again, since those before tell of another number.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._paused: deque[float] = deque(maxlen=_READINGS)
        self.at_once = most - most // 4

    def note(self, paused: float) -> None:
        """Learn for which share of its time a load was paused, in %."""
        self._paused.append(paused)
        if len(self._paused) < _READINGS:
            return
        paused = statistics.quantiles(self._paused, n=10, method="inclusive")[-1]
        step = (paused < _SHORT_ENOUGH) - (paused > _TOO_LONG)
        at_once = min(max(self.at_once + step, 1), self._most)
        if at_once != self.at_once:
            self.at_once = at_once
            self._paused.clear()
