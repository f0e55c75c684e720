"""How near the moments that a visitor sees come to Chromium's: first byte, DOMContentLoaded, paints.

    .venv/bin/python studies/browser/moments.py DIR

takes the recordings and the loads of measure.py in DIR, and measures what is not there. See README.md.
"""

import argparse
import json
import statistics
from pathlib import Path

import others
from measure import FLIGHTS, SITES, build, in_chromium, kept_loads, recorded, run, say

NETWORK, PROTOCOL, BLOCKS = "10/1mbit,100ms", "h2", 2
MOMENTS = (
    "first_byte_ms",
    "first_contentful_paint_ms",
    "dom_content_loaded_ms",
    "largest_contentful_paint_ms",
)


def of_chromium(path: Path, moment: str) -> float | None:
    """Give the median of the loads that are kept in a file."""
    known = [load[moment] for load in kept_loads(path) if load[moment] is not None]
    return statistics.median(known) if known else None


def predicted(recording: Path) -> dict[str, float | None]:
    """Give the medians of 21 runs."""
    on = ["--network", NETWORK, "--protocol", PROTOCOL, "--names", "looked-up", "--tls-flights", FLIGHTS]
    runs = json.loads(run("load", str(recording), *on, "--json"))["runs"]
    known = {moment: [one[moment] for one in runs if one[moment] is not None] for moment in MOMENTS}
    return {moment: statistics.median(times) if times else None for moment, times in known.items()}


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--others", action="store_true", help="pages by others instead of our sites")
    parser.add_argument("--sites", nargs="+", help="some of them only")
    given = parser.parse_args()
    sites = given.sites or (list(others.PAGES) if given.others else SITES)
    build(sites, "studies/browser/others.py" if given.others else "sites/build.py", given.folder)
    errors: dict[str, list[float]] = {moment: [] for moment in MOMENTS}
    for site in sites:
        built = given.folder / "built" / site
        recording = recorded(built, given.folder)
        in_chromium(built, NETWORK, PROTOCOL, BLOCKS, given.folder)
        kept = given.folder / f"{site}.{NETWORK}.{PROTOCOL}.json".replace("/", "-")
        model, cells = predicted(recording), []
        for moment in MOMENTS:
            here, there = of_chromium(kept, moment), model[moment]
            cells.append(f"{here or 0:,.0f} / {'-' if there is None else f'{there:,.0f}'}")
            if here is not None and there is not None:
                errors[moment].append(abs(there / here - 1))
        say(f"| {site} | " + " | ".join(cells) + " |")
    for moment, off in errors.items():
        middle, worst = statistics.median(off), max(off)
        say(f"{moment}: {middle:.1%} off at the median, {worst:.0%} at worst, {len(off)} sites")


if __name__ == "__main__":
    main()
