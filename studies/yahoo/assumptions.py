"""What the study `yahoo` leaves open, each answered otherwise, with the one free number fitted again."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import front_page
from .front_page import Build

_MOST_MS = 2000
_MOST_BYTES = 440_000


def each_way(loss: float) -> float:
    """Give the loss in percent of each direction, where `loss` percent of round trips fail."""
    return 100 * (1 - math.sqrt(1 - loss / 100))


READINGS: Mapping[str, Callable[[float], str]] = {
    "round trips": lambda loss: f"{each_way(loss):.4f}%",
    "packets to the client": lambda loss: f"{loss:g}%/0%",
    "packets of each direction": lambda loss: f"{loss:g}%",
}
"""What a loss in percent is a share of, and what each direction of the link then loses."""


@dataclass(frozen=True)
class Assumption:
    """One assumption changed."""

    build: Build = front_page.front
    most: int = _MOST_MS
    """The most that the free number may be."""
    reading: str = "round trips"
    common: Mapping[str, Any] = field(default_factory=dict)
    """What is set otherwise for all loads."""

    @property
    def unit(self) -> str:
        """Give the unit of the free number."""
        return "ms" if self.most == _MOST_MS else "bytes"


def _front(**sizes: int) -> Build:
    return lambda browser_ms: front_page.front(browser_ms, **sizes)


AS_IT_IS = Assumption()
ASSUMPTIONS: Mapping[str, Assumption] = {
    "loss of packets to the client": Assumption(reading="packets to the client"),
    "loss of packets of each direction": Assumption(reading="packets of each direction"),
    "server with Reno": Assumption(common={"cc": "reno"}),
    "client Windows 7": Assumption(common={"client_tcp": "windows-7"}),
    "server as Linux 6": Assumption(common={"tcp": "linux-6"}),
    "HTML of 15 KB": Assumption(_front(html=15_000)),
    "HTML of 60 KB": Assumption(_front(html=60_000)),
    "other domain's objects of 3 KB": Assumption(_front(small=3_000)),
    "other domain's objects of 25 KB": Assumption(_front(small=25_000)),
    "objects found while the HTML comes": Assumption(front_page.found_on_the_way),
    "no time in the browser: one size for HTML and other domain": Assumption(front_page.of_size, _MOST_BYTES),
    "the same, all else behind a script": Assumption(front_page.behind_a_script, _MOST_BYTES),
}
