"""The three conditions of the study `cmu` without BoostEdge, without loss, simulated and over the kernel.

    .venv/bin/python studies/edge/cmu_worlds.py > studies/edge/cmu_worlds.md  # simulates
    .venv/bin/python studies/edge/cmu_worlds.py --measure  # live, as root, in 10 minutes

The live loads are kept in cmu_worlds.csv, one of each site under each condition. A kernel cannot be another
system's, and nothing here speaks TLS 1.0 live: both worlds have today's Linux and TLS 1.2, which takes a
round trip more than the study's False Start.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import polars as pl
from ways import Way

from loadstone import Page
from loadstone._native import live_access
from loadstone.studies.cmu.assumptions import AS_IT_IS, ASSUMPTIONS, Assumption
from loadstone.studies.cmu.claims import cost, gain, points
from loadstone.studies.cmu.laboratory import CONDITIONS, HTTP, HTTPS, SITES, SPDY, Site, home_page

FAR = "objects on four names, a delay of 100 ms each way"
LABORATORIES = {"as the study is read": AS_IT_IS, FAR: ASSUMPTIONS[FAR]}
PUBLISHED = {
    "TLS to the edge costs": 10.9,
    "SPDY for HTTP": 2.8,
    "SPDY for HTTP, both through the edge": 13.6,
}
"""In percent of HTTP straight, and in points of it: section 6 of the study."""
SWITCH = "1gbit,0.4ms"
THROTTLED = "1mbit,{rtt}ms,queue={queue}"
AT_ONCE = 3
KEPT = Path(__file__).with_suffix(".csv")
FACTORS = ("laboratory", "site", "condition")

Load = tuple[str, Site, str]
"""The laboratory, the site, the condition."""


def loads() -> list[Load]:
    """Give what is loaded."""
    return [*product(LABORATORIES, SITES, CONDITIONS)]


def way(condition: str, assumed: Assumption) -> Way:
    """Give a condition: straight, or by TLS to the edge."""
    if condition == HTTP:
        # All the way is one link.
        return Way("http/1.1", THROTTLED.format(rtt=assumed.rtt_ms + 0.4, queue=assumed.queue), tls="none")
    protocol = {HTTPS: "http/1.1", SPDY: "spdy/2"}[condition]
    return Way(protocol, THROTTLED.format(rtt=assumed.rtt_ms, queue=assumed.queue), SWITCH, "1.2")


def page(site: Site, condition: str, assumed: Assumption) -> Page:
    """Give a site's page by the scheme of the condition, as servers may be asked for it."""
    document = home_page(site, assumed)
    if condition != HTTP:
        for one in document["objects"]:
            one["url"] = one["url"].replace("http:", "https:", 1)
            for need in one.get("needs", []):
                need["node"] = need["node"].replace("http:", "https:", 1)
    made = Page.of(document, site.name)
    asked, _ = made.content.replayed()
    return Page(made.name, asked)


def live(load: Load) -> float:
    """Load it over the kernel."""
    laboratory, site, condition = load
    assumed = LABORATORIES[laboratory]
    [plt_ms] = way(condition, assumed).live(page(site, condition, assumed), 1).plt_ms
    return plt_ms


def simulated(load: Load) -> float:
    """Simulate it."""
    laboratory, site, condition = load
    assumed = LABORATORIES[laboratory]
    return way(condition, assumed).simulated(page(site, condition, assumed))


def measure() -> None:
    """Load everything over the kernel, and keep the times."""
    if why_not := live_access():
        sys.exit(why_not)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        times = [*pool.map(live, loads())]
    _table(times).write_csv(KEPT, float_precision=2)


def _table(times: list[float]) -> pl.DataFrame:
    named = [(laboratory, site.name, condition) for laboratory, site, condition in loads()]
    table = pl.DataFrame(named, schema=[*FACTORS], orient="row")
    return table.with_columns(plt_ms=pl.Series(times, dtype=pl.Float64))


def report() -> Iterator[str]:
    """Write the study's figures, the simulated ones and the live ones."""
    worlds = {"simulated": _table([simulated(load) for load in loads()]), "live": pl.read_csv(KEPT)}
    yield "# The conditions of `cmu` in both worlds, without loss\n"
    yield "In percent of HTTP straight, and points of it; means over 25 sites.\n"
    yield f"| laboratory | | study | {' | '.join(worlds)} |\n|---|---|---:|---:|---:|"
    figures = dict(zip(PUBLISHED, (cost, gain, points), strict=True))
    for laboratory in LABORATORIES:
        own = {name: of.filter(pl.col("laboratory") == laboratory) for name, of in worlds.items()}
        for name, figure in figures.items():
            ours = " | ".join(f"{figure(loaded):+.1f}" for loaded in own.values())
            yield f"| {laboratory} | {name} | {PUBLISHED[name]:+.1f} | {ours} |"
    yield "\n| laboratory | condition | simulated, mean | live, mean | median error | 90 % | worst |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for laboratory, condition in product(LABORATORIES, CONDITIONS):
        chosen = (pl.col("laboratory") == laboratory) & (pl.col("condition") == condition)
        times = [loaded.filter(chosen)["plt_ms"] for loaded in worlds.values()]
        errors = (times[0] / times[1] - 1).abs()
        shown = " | ".join(f"{errors.quantile(at, 'higher'):.2%}" for at in (0.5, 0.9, 1))
        means = " | ".join(f"{sum(one) / len(one):,.0f} ms" for one in times)
        yield f"| {laboratory} | {condition} | {means} | {shown} |"


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure()
    else:
        sys.stdout.write("\n".join(report()) + "\n")
