"""Two long flows at one link, every pair of congestion controls, simulated and over the kernel.

    .venv/bin/python studies/tcp/pairs.py > studies/tcp/pairs.md          # simulates; the kernel's are kept
    .venv/bin/python studies/tcp/pairs.py --measure                      # measures the kernel's again

Each flow is one object from a server of its own. Figures are of the time in which both send.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations_with_replacement
from typing import Any

from worlds import Experiment, study

from loadstone._native import Outcome, Scenario
from loadstone.studies.validation.agreement import percentile

BITS_A_MS = 10_000
PROPAGATION_MS = 20
NETWORK = "10mbit,40ms,queue=100p"
CONTROLS = ("reno", "cubic", "bbr")
BYTES = 12_500_000
"""Of each flow: 20 s of the link for both."""
STARTS_MS = {"together": 0, "a second apart": 1000}
LATER_MS = range(5)
"""By how much the second flow is moved from load to load: simulated, a load without loss is always the same,
and what two flows do to one another hangs on less."""
AT_ONCE = 4

ABOUT = f"""\
Two long flows over `{NETWORK}`, {BYTES / 1e6:g} MB each from a server of its own, with initial windows of 10:
the first flow's share of the rate, and how long packets wait in the queue, at the median and at the 90th
percentile. All of it over the time in which both flows send. Five loads each, in which the second flow begins
0 to 4 ms later, in both worlds: median and range. The script is [pairs.py](pairs.py), the kernel's figures
are [pairs.csv](pairs.csv).

A difference is bold where the ranges of the two worlds do not meet. Started together, the first of two Reno
flows has three fifths of the rate over the kernel and half simulated, and Reno next to CUBIC has less than
half over the kernel and more simulated; it is not known why.

"""


def scenario(controls: tuple[str, str], start_ms: int) -> Scenario:
    """Make a load of two long flows, the second `start_ms` after the first."""
    root = "http://root.test/"
    objects: list[dict[str, Any]] = [{"url": root, "bytes": 1}]
    for host, ms in (("first", 0), ("second", start_ms)):
        needs = [{"node": root, "on": "end", "ms": ms}]
        objects.append({"url": f"http://{host}.test/", "bytes": BYTES, "needs": needs})
    tcp_of = {f"{host}.test": {"cc": cc} for host, cc in zip(("first", "second"), controls, strict=True)}
    variant = {"tcp_of": tcp_of, "tls": "none"}
    return Scenario(json.dumps({"page": {"objects": objects}, "network": NETWORK, "variant": variant}))


@dataclass(frozen=True)
class Crossing:
    """A packet with data that crossed the link: when, with how many bytes, and how long it waited."""

    host: str
    entered_ms: float
    bytes: int
    waited_ms: float


@lru_cache(maxsize=8)
def shared(outcome: Outcome) -> list[Crossing]:
    """Give the packets of the time in which both flows send."""
    text, _ = outcome.capture() or ("", 0)
    crossings = []
    for row in csv.DictReader(io.StringIO(text)):
        if row["way"] == "down" and row["len"] != "0" and row["due_ms"] and row["host"] != "root.test":
            entered, size = float(row["time_ms"]), int(row["bytes"])
            waited = float(row["due_ms"]) - entered - PROPAGATION_MS - size * 8 / BITS_A_MS
            crossings.append(Crossing(row["host"], entered, size, waited))
    times = [
        [one.entered_ms for one in crossings if one.host == host] for host in ("first.test", "second.test")
    ]
    begun, over = max(map(min, times)), min(map(max, times))
    return [one for one in crossings if begun <= one.entered_ms <= over]


def share(outcome: Outcome) -> float:
    """Give the first flow's share of the rate, in %."""
    crossings = shared(outcome)
    first = sum(one.bytes for one in crossings if one.host == "first.test")
    return 100 * first / sum(one.bytes for one in crossings)


def waited(at: float, outcome: Outcome) -> float:
    """Give how long packets wait in the queue, in ms, at a percentile."""
    return percentile([one.waited_ms for one in shared(outcome)], at)


FIGURES = {
    "share, %": share,
    "median wait, ms": partial(waited, 0.5),
    "90th percentile of waits, ms": partial(waited, 0.9),
}


def experiments() -> Iterator[Experiment]:
    """Give three figures of each pair, started together and one after the other."""
    for controls in combinations_with_replacement(CONTROLS, 2):
        for start, ms in STARTS_MS.items():
            loads = [(scenario(controls, ms + later), 1) for later in LATER_MS]
            for name, figure in FIGURES.items():
                title = f"{controls[0]} and {controls[1]}, {start}: {name}"
                yield Experiment(title, loads, loads, figure, shows_range=True)


if __name__ == "__main__":
    study(__file__, list(experiments()), AT_ONCE, ABOUT)
