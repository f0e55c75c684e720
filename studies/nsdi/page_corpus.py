"""The pages of the study: two hundred of a stated distribution, recorded ones, and what is done to them.

The medians are set to those that the study published: objects, bytes, mean and deviation of sizes, small
objects. What it did not publish is assumed: how the rest is distributed, what waits for what, how long
computing takes (a third of a load, as the same authors measured in 2013), which objects are on which hosts.
`studies/nsdi/README.md` says how much depends on it.
"""

import copy
import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

from loadstone import pages
from loadstone._native import domain_of
from loadstone.files import InputError

Page = dict[str, Any]
"""A page file, as JSON has it."""

PAGES = 200
SMALL = 1000
"""Bytes below which the study calls an object small."""

_SEED = 2013
_NORMAL = NormalDist()
_WITHOUT_SMALL = 0.17
"""Share of pages without small objects; of the others 15 to 65 % of the objects are small."""
_LEAST, _MOST = 40, 2_000_000
"""Bytes of the smallest and of the largest object."""


@dataclass(frozen=True)
class Making:
    """What the study does not say of its pages, as it is assumed."""

    objects: tuple[float, float, float] = (30.0, 0.4, 1.2)
    """Median of the number of objects, and the deviations of its logarithm below and above."""
    bytes: tuple[float, float, float] = (12_500.0, 0.3, 0.9)
    """The same of a page's typical object that is not small."""
    spread: float = 1.2
    """Deviation of the logarithm of such objects' sizes within a page."""
    in_markup: float = 0.5
    """Share of objects that are found in the markup; of the others two fifths are found by style sheets."""
    scripts: float = 0.25
    """Share of objects that are scripts, among those that are not small."""
    computing: float = 1.0
    """How many times as long all computing takes."""


AS_MADE = Making()
OTHERWISE = {
    "longer chains": Making(in_markup=0.1),
    "shorter chains": Making(in_markup=0.9),
    "more scripts": Making(scripts=0.5),
    "fewer scripts": Making(scripts=0.1),
    "three times the computing": Making(computing=3.0),
    "a third of the computing": Making(computing=1 / 3),
}
"""Pages whose graphs are made otherwise: what the study leaves open."""
SIZES_OTHERWISE = {
    "pages that are more alike": Making((30.0, 0.2, 0.6), (12_500.0, 0.15, 0.45)),
    "objects that are more alike": Making(spread=0.6),
}
"""Pages whose sizes spread otherwise about the published medians."""

_RUN_MS = (80.0, 1.0)
"""Median of how long a script runs, and the deviation of its logarithm."""
_PARSE_MS = 25.0
"""Computing between an object's end and the finding of those that are in it."""


def corpus(pages: int = PAGES, making: Making = AS_MADE) -> Iterator[tuple[str, Page]]:
    """Give this many of the two hundred pages with their names, spread over all of them."""
    chance = random.Random(_SEED)
    objects, sizes, smalls = (_quantiles(chance) for _ in range(3))
    for at in range(0, PAGES, PAGES // pages):
        yield f"p{at:03}", _page(random.Random(_SEED + at), making, (objects[at], sizes[at], smalls[at]))


def _quantiles(chance: random.Random) -> list[float]:
    """Give as many quantiles as there are pages in a random order: all medians are then exact."""
    each = [(at + 0.5) / PAGES for at in range(PAGES)]
    chance.shuffle(each)
    return each


def _skewed(figures: tuple[float, float, float], quantile: float) -> float:
    median, below, above = figures
    normal = _NORMAL.inv_cdf(quantile)
    return median * math.exp((above if normal > 0 else below) * normal)


def _page(chance: random.Random, making: Making, quantiles: tuple[float, float, float]) -> Page:
    objects, size, small = quantiles
    count = max(3, min(300, round(_skewed(making.objects, objects))))
    share = 0.0 if small < _WITHOUT_SMALL else 0.15 + 0.5 * (small - _WITHOUT_SMALL) / (1 - _WITHOUT_SMALL)
    smalls = round(share * count)
    median = _skewed(making.bytes, size)
    sizes = [_bytes(chance, median, making.spread) for _ in range(count - smalls)]
    rest = sizes[1:] + [round(_LEAST * (SMALL / _LEAST) ** chance.random()) for _ in range(smalls)]
    chance.shuffle(rest)
    return _graph(chance, making, [sizes[0], *rest])


def _bytes(chance: random.Random, median: float, spread: float) -> int:
    size = median * math.exp(spread * _NORMAL.inv_cdf(chance.random()))
    return max(SMALL, min(_MOST, round(size)))


def _graph(chance: random.Random, making: Making, sizes: list[int]) -> Page:
    """Lay the objects out as a page: markup, styles and scripts, images, and what finds what.

    Some objects are found in the markup, as its bytes come, others by style sheets, and the rest by scripts
    that have run. Scripts run one after the other, and not before the first styles are there.
    """
    third_parties = chance.randint(2, 12)
    objects: list[dict[str, Any]] = [_object(chance, 0, sizes[0], "html", third_parties)]
    compute: list[dict[str, Any]] = []
    styles: list[str] = []
    runs: list[str] = []
    for at, size in enumerate(sizes[1:], 1):
        kind = _kind(chance, size, making.scripts)
        one = _object(chance, at, size, kind, third_parties)
        one["needs"] = [_found(chance, making, (objects[0], at / len(sizes)), (styles, runs))]
        objects.append(one)
        if kind == "css":
            styles.append(one["url"])
        if kind == "js":
            compute.append(_run(chance, making, (at, one["url"]), (styles, runs)))
            runs.append(compute[-1]["name"])
    return {"objects": objects, "compute": compute}


def _kind(chance: random.Random, size: int, scripts: float) -> str:
    """Say what an object is: small ones are images; of the others a twelfth styles, some scripts."""
    draw = chance.random()
    if size < SMALL:
        return "image"
    return "css" if draw < 0.08 else "js" if draw < 0.08 + scripts else "image"


def _object(chance: random.Random, at: int, size: int, kind: str, third_parties: int) -> dict[str, Any]:
    draw = chance.random()
    if at == 0 or draw < 0.35:
        host = "www.site.test"
    elif draw < 0.65:
        host = f"s{chance.randint(1, 3)}.site.test"
    else:
        host = f"a.party{chance.randint(1, third_parties)}.test"
    return {"url": f"http://{host}/{at}", "bytes": size, "kind": kind, "needs": []}


_Finders = tuple[list[str], list[str]]
"""Style sheets, and scripts that have run, so far."""


def _found(
    chance: random.Random, making: Making, seen: tuple[dict[str, Any], float], finders: _Finders
) -> dict[str, Any]:
    (root, place), (styles, runs) = seen, finders
    draw = chance.random()
    by_styles = making.in_markup + 0.4 * (1 - making.in_markup)
    if styles and making.in_markup <= draw < by_styles:
        return {"node": chance.choice(styles), "ms": _PARSE_MS * making.computing}
    if runs and draw >= by_styles:
        return {"node": chance.choice(runs)}
    part = max(1, min(root["bytes"], round(place * root["bytes"])))
    return {"node": root["url"], "on": "bytes", "bytes": part, "ms": _PARSE_MS * making.computing}


def _run(chance: random.Random, making: Making, script: tuple[int, str], finders: _Finders) -> dict[str, Any]:
    (at, url), (styles, runs) = script, finders
    median, deviation = _RUN_MS
    ms = making.computing * median * math.exp(deviation * _NORMAL.inv_cdf(chance.random()))
    before = [{"node": name} for name in [*styles[:2], *runs[-1:]]]
    return {"name": f"run {at}", "ms": round(ms, 1), "needs": [{"node": url}, *before]}


# --- recorded pages ---


@cache
def recorded(folder: Path) -> Mapping[str, Page]:
    """Read all recordings and HARs below a folder, by names that files may have, but what is no page."""
    found: dict[str, Page] = {}
    names = [path for path in sorted(folder.rglob("*")) if re.search(r"\.(wacz|har(\.\w+)?)$", path.name)]
    for at, path in enumerate(names):
        try:
            found[f"r{at:03}"] = json.loads(pages.read(str(path)).json)
        except InputError:
            continue
    if not found:
        raise InputError(
            f"--pages {folder}: there is no page that can be read: give a folder with *.wacz, *.har, *.har.gz"
        )
    return found


# --- what is done to pages ---

Change = Callable[[Page], Page]
"""Makes another page of a page."""

LEVELS = 8
"""Priorities of SPDY/3."""


def objects_alone(page: Page) -> Page:
    """Keep the objects only: all from one server, all asked for at once, no computing."""
    kept = [
        {"url": f"http://server.test/{at}", "bytes": one["bytes"], "needs": []}
        for at, one in enumerate(page["objects"])
    ]
    return {"objects": kept}


def of_equal_sizes(page: Page) -> Page:
    """Make the objects of a set equal, their number and sum kept."""
    alone = objects_alone(page)
    count, total = len(alone["objects"]), sum(one["bytes"] for one in alone["objects"])
    for at, one in enumerate(alone["objects"]):
        one["bytes"] = total * (at + 1) // count - total * at // count
    return alone


def on_one_host(page: Page) -> Page:
    """Put all objects on one host; what waits for what stays."""
    return _rehosted(page, lambda _: "server.test")


def by_registrable_domain(page: Page) -> Page:
    """Put the objects of `a.site.test` and `b.site.test` on one host."""
    return _rehosted(page, domain_of)


def with_computing(factor: float) -> Change:
    """Give what makes computing take this many times as long, on one host."""

    def change(page: Page) -> Page:
        made = on_one_host(page)
        for node in made.get("compute", []):
            node["ms"] *= factor
        for activity in [*made["objects"], *made.get("compute", [])]:
            for need in activity.get("needs") or []:
                need["ms"] = need.get("ms", 0.0) * factor
        return made

    return change


def without_priorities(page: Page) -> Page:
    """Let every object be as urgent as any other."""
    return _prioritised(page, "none")


def prioritised_by_kind(page: Page) -> Page:
    """Let markup be more urgent than styles and scripts, and these than the rest, as Chrome has it."""
    return _prioritised(page, "kind")


def prioritised_by_dependency(page: Page) -> Page:
    """Let an object be the more urgent the longer the chain of objects that wait for it.

    As in 5.3.1 computing is eliminated, and the depths are mapped linearly to SPDY/3's eight levels.
    """
    return _prioritised(page, "dependencies")


def known_at_once(page: Page) -> Page:
    """Let all objects be asked for at once; computing still waits for what it waited for."""
    made = copy.deepcopy(page)
    for one in made["objects"]:
        one["needs"] = []
    return made


def with_thinking(ms: float, *, of_all: bool = True) -> Change:
    """Give what makes the server think this long about each object, or about the first one alone."""

    def change(page: Page) -> Page:
        made = on_one_host(page)
        for one in made["objects"] if of_all else made["objects"][:1]:
            one["think_ms"] = ms
        return made

    return change


def with_heads(request: int, response: int) -> Change:
    """Give what makes the heads of a set this long."""

    def change(page: Page) -> Page:
        made = objects_alone(page)
        for one in made["objects"]:
            one.update(request_header_bytes=request, response_header_bytes=response)
        return made

    return change


def _prioritised(page: Page, priorities: str) -> Page:
    made: Page = json.loads(pages.of_document(on_one_host(page)).prioritised(priorities).to_json())
    return made


def _rehosted(page: Page, host: Callable[[str], str]) -> Page:
    made = copy.deepcopy(page)
    made.pop("hosts", None)
    for at, one in enumerate(made["objects"]):
        # What waits for it still calls it what it was called.
        one["name"] = _name(one)
        one["url"] = f"http://{host(_host(one['url']))}/{at}"
        for field in ("request_fields", "response_fields", "request_header_bytes", "think_ms"):
            one.pop(field, None)
    return made


def _host(url: str) -> str:
    return url.split("/")[2].split(":")[0]


def _name(node: dict[str, Any]) -> str:
    return str(node.get("name") or node["url"])
