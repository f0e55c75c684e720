"""The laboratory of the study `cmu`: 25 home pages, a throttled link, the Flip server, the sites' server.

A home page is known by its bytes and its requests. What else is needed of it is assumed (`assumptions`).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from loadstone import _native, experiment, pages
from loadstone._native import Scenario
from loadstone.reproduce.claims import rows
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.study import Runner

from .assumptions import AS_IT_IS, ASSUMPTIONS, Assumption

FOLDER = Path(__file__).parent
"""Claims, published figures and sites of the study."""

HTTP, HTTPS, SPDY = "HTTP", "HTTP through Flip", "SPDY through Flip"
CONDITIONS = (HTTP, HTTPS, SPDY)
_PROTOCOLS = {HTTP: "http/1.1", HTTPS: "http/1.1", SPDY: "spdy/2"}

LOSSES = ("0", "0.5")
"""In percent of the packets of each direction, as they were set: 1,000 pings then lost 0.9 to 1 %."""
GROUPS = ("heaviest", "lightest", "most_requests", "fewest_requests")

_THROTTLED = "1mbit,{rtt}ms,loss={loss}%,queue={queue}"
_SWITCH = "1gbit,0.4ms"
"""Between the Flip server and the sites' server."""
_SPREAD = {"network": 1, "times": 0}
"""Rates and round trips vary by 1 %, so that no result hangs on the last packet of a queue."""
_MEASURES = ("plt_ms",)


@dataclass(frozen=True)
class Site:
    """A home page as the study describes it."""

    name: str
    kb: float
    requests: int
    groups: tuple[str, ...]


SITES = [
    Site(
        row["site"],
        float(row["kb"]),
        int(row["requests"]),
        tuple(name for name in GROUPS if row[name] == "1"),
    )
    for row in rows(FOLDER / "sites.csv")
]


def home_page(site: Site, assumed: Assumption = AS_IT_IS) -> dict[str, Any]:
    """Make a page of as many bytes and requests."""
    others = site.requests - 1
    normal = statistics.NormalDist()
    sizes = [math.exp(assumed.skew * normal.inv_cdf((at + 0.5) / others)) for at in range(others)]
    # Large and small ones take turns.
    sizes = [sizes[at] for at in sorted(range(others), key=lambda at: at * 7919 % others)]
    scale = (1000 * site.kb - assumed.html) / sum(sizes)
    urls = [f"http://{_name(at, assumed.hosts)}/{at}" for at in range(others)]
    objects: list[dict[str, Any]] = [{"url": "http://site.test/", "bytes": assumed.html}]
    objects += [
        {"url": url, "bytes": max(1, round(scale * size))} for url, size in zip(urls, sizes, strict=True)
    ]
    if assumed.is_deep:
        for at, one in enumerate(objects[1 + others // 2 :]):
            one["needs"] = [{"node": urls[at % 5]}]
    return {"objects": objects}


def _name(at: int, hosts: int) -> str:
    return f"h{at % hosts}.site.test" if at % hosts else "site.test"


def scenario(page: _native.Page, condition: str, loss: str, assumed: Assumption = AS_IT_IS) -> Scenario:
    """Make a load: straight to the server, or by TLS to the Flip server, which speaks HTTP to that one."""
    is_straight = condition == HTTP
    names = sorted({host for _, host in page.names_and_hosts()})
    relay: dict[str, Any] = {"runs": "relay", "plaintext": names, "tcp": {"profile": assumed.server}}
    hosts = [
        {"name": "chrome", "runs": "browser", **({} if is_straight else {"via": "flip"})},
        {"name": "flip", **({"runs": "junction"} if is_straight else relay)},
        {"name": "server", "runs": "origins"},
    ]
    links = [
        {"name": "throttled", "between": ["chrome", "flip"]},
        {"name": "switch", "between": ["flip", "server"], "network": _SWITCH},
    ]
    variant = {
        "protocol": _PROTOCOLS[condition],
        "tls": "none" if is_straight else assumed.tls,
        "tcp": {"profile": assumed.server},
        "client_tcp": {"profile": assumed.client},
    }
    network = _THROTTLED.format(rtt=assumed.rtt_ms, loss=loss, queue=assumed.queue)
    fields = {"network": network, "variant": variant, "spread": _SPREAD}
    return experiment.scenario(page, {**fields, "topology": {"hosts": hosts, "links": links}})


class Laboratory:
    """Runs the study's loads as they are stated, or under an assumption."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._known: dict[str, pl.DataFrame] = {}

    def loads(self, seeds: int, assumption: str = AS_STATED) -> pl.DataFrame:
        """Load every site under every condition, with and without loss, under so many seeds."""
        known = self._known.get(assumption)
        done = 0 if known is None else known["seed"].n_unique()
        if done < seeds:
            more = self._run(range(done + 1, seeds + 1), ASSUMPTIONS.get(assumption, AS_IT_IS))
            known = more if known is None else pl.concat([known, more])
            self._known[assumption] = known
        assert known is not None, "no seeds are no loads"
        return known.filter(pl.col("seed") <= seeds)

    def _run(self, seeds: Sequence[int], assumed: Assumption) -> pl.DataFrame:
        made = {site.name: pages.of_document(home_page(site, assumed)) for site in SITES}
        factors = [(site, loss, condition) for site in made for loss in LOSSES for condition in CONDITIONS]
        cells = [scenario(made[site], condition, loss, assumed) for site, loss, condition in factors]
        outcomes = self.runner.outcomes([(cell, seed) for cell in cells for seed in seeds])
        assert all(outcome.completed for outcome in outcomes), "nothing ends a load but its end"
        table = [(*one, seed) for one in factors for seed in seeds]
        columns = [outcome.plt_ms for outcome in outcomes]
        frame = pl.DataFrame(table, schema=["site", "loss", "condition", "seed"], orient="row")
        return frame.with_columns(plt_ms=pl.Series(columns, dtype=pl.Float64))

    def evidence(
        self, *, compared: str = "condition", group: str = "", losses: Sequence[str] = LOSSES
    ) -> Evidence:
        """Give the loads of a group of sites as evidence, or of all."""
        own = [site.name for site in SITES if not group or group in site.groups]

        def run(seeds: int, assumption: str) -> pl.DataFrame:
            loads = self.loads(seeds, assumption)
            return loads.filter(pl.col("site").is_in(own), pl.col("loss").is_in([*losses]))

        return Evidence(run, _MEASURES, compared, 10, 40, tuple(ASSUMPTIONS))
