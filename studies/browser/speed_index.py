"""How near the Speed Index that runs give comes to one of Chromium's own pictures.

    .venv/bin/python studies/browser/speed_index.py DIR

takes the recordings of measure.py in DIR, and measures what is not there: each site is loaded on a bed while
the browser tells what it shows. See README.md.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import others
from measure import FLIGHTS, SITES, build, recorded, run, say, start_of

from loadstone.browser import local
from loadstone.browser.chromium import Chromium
from loadstone.recording.film import REST_S, Film, speed_index_ms

NETWORK, PROTOCOL, LOADS = "10/1mbit,100ms", "h2", 5
PATIENCE_S = 60.0


def in_one_load(chromium: Chromium, url: str) -> float | None:
    """Load a page, cold, and give its Speed Index until its load event, in ms."""
    devtools, until = chromium.devtools, monotonic() + PATIENCE_S
    call = devtools.call
    context = call("Target.createBrowserContext", until)["browserContextId"]
    target = call("Target.createTarget", until, url="about:blank", browserContextId=context)["targetId"]
    session = call("Target.attachToTarget", until, targetId=target, flatten=True)["sessionId"]
    call("Page.enable", until, session)
    film = Film(devtools, session)
    devtools.listener = film.take
    call("Page.navigate", until, session, url=url)
    devtools.event("Page.loadEventFired", until, session)
    rest = monotonic() + REST_S
    while (now := monotonic()) < rest:
        devtools.hear(min(rest, now + REST_S))
    origin = call("Runtime.evaluate", until, session, expression="performance.timeOrigin", returnByValue=True)
    began = origin["result"]["value"] / 1e3
    pictures = film.pictures(target, [], until, (began, float("inf")))
    devtools.listener = None
    call("Target.disposeBrowserContext", until, browserContextId=context)
    devtools.forget()
    return speed_index_ms(pictures, began)


def filmed(url: str, loads: int) -> list[float | None]:
    """Give the Speed Index of some loads in one browser."""
    with local.started(local.program()) as chromium:
        chromium.warm_up()
        return [in_one_load(chromium, url) for _ in range(loads)]


def in_chromium(built: Path, folder: Path) -> float | None:
    """Give the median of some loads on a bed."""
    kept = folder / f"{built.name}.speed-index.json"
    if not kept.exists():
        bed = ["bed", str(built), "--network", NETWORK, "--protocol", PROTOCOL, "--"]
        kept.write_text(run(*bed, sys.executable, __file__, "--film", start_of(built)).splitlines()[0])
    known = [one for one in json.loads(kept.read_text()) if one is not None]
    return statistics.median(known) if known else None


def predicted(recording: Path) -> float | None:
    """Give the median of 21 runs."""
    on = ["--network", NETWORK, "--protocol", PROTOCOL, "--names", "looked-up", "--tls-flights", FLIGHTS]
    runs = json.loads(run("load", str(recording), *on, "--json"))["runs"]
    known = [one["speed_index_ms"] for one in runs if one["speed_index_ms"] is not None]
    return statistics.median(known) if known else None


def compare(sites: Sequence[str], folder: Path) -> None:
    """Print a table."""
    off = []
    for site in sites:
        built = folder / "built" / site
        recording = recorded(built, folder)
        here, there = in_chromium(built, folder), predicted(recording)
        shown = ["-" if ms is None else f"{ms:,.0f}" for ms in (here, there)]
        say(f"| {site} | {' | '.join(shown)} |")
        if here and there is not None:
            off.append(abs(there / here - 1))
    if off:
        say(f"{statistics.median(off):.1%} off at the median, {max(off):.0%} at worst, {len(off)} sites")


def main() -> None:
    """Compare; or, on a bed, film one page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--others", action="store_true", help="pages by others instead of our sites")
    parser.add_argument("--sites", nargs="+", help="some of them only")
    parser.add_argument(
        "--film", metavar="URL", help="print the Speed Index of some loads of this page, and no more"
    )
    given = parser.parse_args()
    if given.film:
        say(json.dumps(filmed(given.film, LOADS)))
        return
    if given.folder is None:
        parser.error("give a folder")
    sites = given.sites or (list(others.PAGES) if given.others else SITES)
    build(sites, "studies/browser/others.py" if given.others else "sites/build.py", given.folder)
    compare(sites, given.folder)


if __name__ == "__main__":
    main()
