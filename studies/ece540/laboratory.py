"""The laboratories of the study `ece540` and their pages, its 20 repetitions, cold and warm cache.

The study says little of its page, so stated ones stand for it. Its own page moved 9.3 MB with one other
address that it refers to (the virtual laboratory), and 9.7 MB with more of them (EC2, where four connections
of SPDY are four servers). How many pictures it had is not known.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.reproduce.claims import rows
from loadstone.reproduce.study import Cell, Runner, Table

FOLDER = Path(__file__).parent
"""Claims, published figures, matrices and pages of the study."""

if TYPE_CHECKING:
    import polars as pl


Page = dict[str, Any]
"""A page file (docs/pages.md)."""

PICTURES = 400
PICTURE_BYTES = {"virtual": 22_200, "ec2": 23_100}
"""A little more where more was moved."""
OTHERS = {"virtual": 1, "ec2": 3}
"""Servers that the page refers to in addition to its own."""
HTML_BYTES = 20_000
OTHER_BYTES = 15_000

HOSTS, OF_EACH = 10, 12
"""Of the shop that stands for the production site, and its objects from each."""
SHOP_BYTES = 10_000
_FEW_HOSTS = 3
STALE = 7
"""One in this many of its objects is not in a warm cache: some of each host."""


def own_page(lab: str, pictures: int = PICTURES, size: int | None = None) -> Page:
    """Make the study's own page: HTML, pictures, and a script from each other server."""
    size = PICTURE_BYTES[lab] if size is None else size
    objects: list[dict[str, Any]] = [{"url": "https://own.test/", "bytes": HTML_BYTES}]
    objects += [{"url": f"https://own.test/{place}.jpg", "bytes": size} for place in range(pictures)]
    objects += [
        {"url": f"https://other{place}.test/x.js", "bytes": OTHER_BYTES} for place in range(OTHERS[lab])
    ]
    return {"objects": objects}


def shop_page(cache: str) -> Page:
    """Make a page of many hosts, with a cache that is `cold`, `warm`, or `warm-3-hosts`.

    In the last one as many objects are stale, but of three hosts only.
    """
    urls = [f"https://s{host}.test/{place}.jpg" for place in range(OF_EACH) for host in range(HOSTS)]
    stale = {
        "cold": urls,
        "warm": urls[::STALE],
        "warm-3-hosts": [url for url in urls if int(url[9]) < _FEW_HOSTS][: len(urls[::STALE])],
    }
    objects = [{"url": url, "bytes": SHOP_BYTES} for url in stale[cache]]
    return {"objects": [{"url": "https://s0.test/", "bytes": 3 * SHOP_BYTES}, *objects]}


# --- two laboratories ---

LABS = {"ec2": "Amazon EC2", "virtual": "virtual laboratory"}
PROTOCOLS = {"http": "http/1.1", "spdy": "spdy/2"}
QUANTITIES = {
    "time_s": "s",
    "mbps": "Mbit/s",
    "bytes": "MB",
    "packets": "packets",
    "connections": "connections",
}
"""What was measured, and in which unit it is shown."""

Figures = dict[str, float]
"""Means of the repetitions by quantity."""


@dataclass(frozen=True)
class Lab:
    """Both protocols in one laboratory: theirs and ours."""

    theirs: dict[str, Figures]
    ours: dict[str, Figures]

    def reduction(self, quantity: str, of: dict[str, Figures] | None = None) -> float:
        """Give the percentage by which SPDY has less; ours unless said."""
        figures = of or self.ours
        return 100 * (1 - figures["spdy"][quantity] / figures["http"][quantity])


def measure(runner: Runner) -> dict[str, Lab]:
    """Load the page in both."""
    labs = {}
    for lab in LABS:
        runs = runner.runs(runner.matrix(FOLDER / f"{lab}.toml"))
        labs[lab] = Lab(
            {name: _theirs(lab, name) for name in PROTOCOLS},
            {name: _ours(runs, protocol) for name, protocol in PROTOCOLS.items()},
        )
    return labs


def _theirs(lab: str, protocol: str) -> Figures:
    """Give the study's means; the rate is bytes by time, since 11 rates of the study are not."""
    repetitions = [
        {name: float(value) for name, value in row.items() if name not in ("lab", "protocol")}
        for row in rows(FOLDER / "repetitions.csv")
        if (row["lab"], row["protocol"]) == (lab, protocol)
    ]
    times, sizes = ([one[name] for one in repetitions] for name in ("time_s", "bytes"))
    return {
        "time_s": statistics.mean(times),
        "mbps": statistics.mean(size * 8e-6 / time for size, time in zip(sizes, times, strict=True)),
        "bytes": statistics.mean(sizes) / 1e6,
        "packets": statistics.mean(one["packets"] for one in repetitions),
        "connections": statistics.mean(one["connections"] for one in repetitions),
    }


def _ours(runs: "pl.DataFrame", protocol: str) -> Figures:
    import polars as pl

    loads = runs.filter(pl.col("protocol") == protocol, pl.col("completed"))
    moved = (pl.col("bytes_down") + pl.col("bytes_up")) / 1e6
    means = loads.select(
        time_s=pl.col("plt_ms").mean() / 1000,
        mbps=(moved * 8000 / pl.col("plt_ms")).mean(),
        bytes=moved.mean(),
        packets=(pl.col("packets_down") + pl.col("packets_up")).mean(),
        connections=pl.col("connections_opened").mean(),
    )
    return {name: float(value) for name, value in means.row(0, named=True).items()}


def table(lab: str, found: Lab) -> Table:
    """Show every quantity of both protocols."""
    head = ["", "HTTP: study", "ours", "SPDY: study", "ours", "SPDY for HTTP: study", "ours"]
    lines = []
    for quantity, unit in QUANTITIES.items():
        figures = [
            f"{of[protocol][quantity]:,.{0 if quantity == 'packets' else 2}f}"
            for protocol in PROTOCOLS
            for of in (found.theirs, found.ours)
        ]
        shares = [f"{-found.reduction(quantity, of):+.1f} %" for of in (found.theirs, found.ours)]
        lines.append([unit, *figures, *shares])
    note = "Means of 20 repetitions" + ("; ours are all alike without loss." if lab == "virtual" else ".")
    if lab == "virtual":
        note += " The study's packets were counted before they were cut up, so they cannot be compared."
    return Table(f"lab-{lab}", f"HTTP and SPDY: {LABS[lab]}", head, lines, 1, note)


def cells(labs: dict[str, Lab]) -> list[Cell]:
    """Give every figure as a cell; packets of the virtual laboratory are not credible."""
    return [
        Cell(
            {"lab": lab, "quantity": quantity},
            protocol,
            found.theirs[protocol][quantity],
            found.ours[protocol][quantity],
            unit,
            is_sound=(lab, quantity) != ("virtual", "packets"),
        )
        for lab, found in labs.items()
        for quantity, unit in QUANTITIES.items()
        for protocol in PROTOCOLS
    ]


# --- cold and warm cache: a page of many hosts in place of the production site ---

CACHES = {"cold": "disabled", "warm": "enabled"}
"""What the study calls them."""
THEIRS = {
    ("spdy", "cold"): (2.535, 44.5),
    ("spdy", "warm"): (2.494, 31.5),
    ("http", "cold"): (5.639, 41.3),
    ("http", "warm"): (1.786, 15.6),
}
"""The study's means of ten loads: seconds, connections."""

Shop = dict[tuple[str, str], tuple[float, float]]
"""Seconds and connections by protocol and cache."""


def measure_shop(runner: Runner) -> Shop:
    """Load it with both caches."""
    runs = runner.runs(runner.matrix(FOLDER / "shop.toml"))
    return {(protocol, cache): _figures(runs, protocol, cache) for protocol, cache in THEIRS}


def _figures(runs: "pl.DataFrame", protocol: str, cache: str) -> tuple[float, float]:
    import polars as pl

    loads = runs.filter(pl.col("page") == f"{cache}.page.json", pl.col("protocol") == PROTOCOLS[protocol])
    return float(loads["plt_ms"][0]) / 1000, float(loads["connections_opened"][0])


def shop_table(found: Shop) -> Table:
    """Show times and connections."""
    lines = [
        [
            f"{protocol.upper()}, {cache}",
            f"{theirs[0]:.2f} s",
            f"{found[protocol, cache][0]:.2f} s",
            f"{theirs[1]:.1f}",
            f"{found[protocol, cache][1]:.0f}",
        ]
        for (protocol, cache), theirs in THEIRS.items()
    ]
    head = ["cache", "study", "ours", "connections: study", "ours"]
    note = (
        "The study loaded a production site, SPDY by Chrome and HTTP by Internet Explorer 10; ours is a "
        "stated page of ten hosts, with every seventh object not in the warm cache. Only the direction can "
        "be compared."
    )
    return Table("shop", "What does a warm cache change?", head, lines, 1, note)


def shop_cells(found: Shop) -> list[Cell]:
    """Give times and connections as cells; the study's do not compare two protocols."""
    return [
        Cell(
            {"lab": f"site, {cache} cache", "quantity": quantity},
            protocol,
            theirs[place],
            found[protocol, cache][place],
            unit,
            is_sound=False,
        )
        for (protocol, cache), theirs in THEIRS.items()
        for place, (quantity, unit) in enumerate((("time_s", "s"), ("connections", "connections")))
    ]
