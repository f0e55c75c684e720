"""How far the gain of the study `ece540` depends on what it does not say: pictures, round trip, rate."""

import polars as pl

from loadstone import experiment, pages
from loadstone._native import Scenario
from loadstone.reproduce.study import Runner, Table

from .laboratory import PICTURE_BYTES, PICTURES, PROTOCOLS, own_page

COUNTS = (25, 100, 400, 800)
RTTS = (10, 50, 100, 200)
RATES = (17, 50)
SYSTEM = {"profile": "linux-3.7"}
_TOTAL = PICTURES * PICTURE_BYTES["virtual"]

Setting = tuple[int, int, int]
"""Pictures, round trip in ms, rate in Mbit/s."""

SETTINGS: tuple[Setting, ...] = tuple(
    (count, rtt, rate) for rate in RATES for count in COUNTS for rtt in RTTS
)


def words(setting: Setting) -> str:
    """Name a setting."""
    count, rtt, rate = setting
    return f"{count} pictures at {rtt} ms, {rate} Mbit/s"


def loads(runner: Runner, setting: Setting) -> pl.DataFrame:
    """Load the page by both protocols, with as many bytes in so many pictures."""
    names = [*PROTOCOLS.values()]
    outcomes = runner.outcomes([(_scenario(setting, protocol), 1) for protocol in names])
    return pl.DataFrame(
        {
            "protocol": names,
            "seed": [1] * len(names),
            "plt_ms": [outcome.plt_ms for outcome in outcomes],
            "mbps": [(outcome.bytes_down + outcome.bytes_up) * 8e-3 / outcome.plt_ms for outcome in outcomes],
        }
    )


def _scenario(setting: Setting, protocol: str) -> Scenario:
    count, rtt, rate = setting
    variant = {"protocol": protocol, "tls": "1.2", "tcp": SYSTEM, "client_tcp": SYSTEM}
    page = pages.of_document(own_page("virtual", count, _TOTAL // count))
    return experiment.scenario(page, {"network": f"{rate}mbit,{rtt}ms", "variant": variant})


def measure(runner: Runner) -> dict[Setting, float]:
    """Give by how many percent SPDY is faster in each setting."""
    found = {}
    for setting in SETTINGS:
        times = dict(loads(runner, setting).select("protocol", "plt_ms").iter_rows())
        found[setting] = 100 * (1 - times[PROTOCOLS["spdy"]] / times[PROTOCOLS["http"]])
    return found


def table(found: dict[Setting, float]) -> Table:
    """Show the gain by all three."""
    lines = [
        [f"{rate} Mbit/s, {count} pictures", *(f"{found[count, rtt, rate]:+.0f} %" for rtt in RTTS)]
        for rate in RATES
        for count in COUNTS
    ]
    head = ["", *(f"RTT {rtt} ms" for rtt in RTTS)]
    note = (
        "By how much SPDY is faster; as many bytes, no loss. The study has 21 % and 42 %, which many of "
        "these settings give: what it measured says nothing without them."
    )
    return Table("unknown", "What does the gain depend on that is not known?", head, lines, 1, note)
