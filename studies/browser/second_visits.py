"""Second visits: which requests they make, and how much sooner they are over, in Chromium and in the model.

    .venv/bin/python studies/browser/second_visits.py DIR

builds the sites of sites/, records each three times cold with a second visit after each, and loads each on
other networks in Chromium, cold and with what the first visit has left. The model has the recordings of the
cold loads alone. Requests are told apart by URL without query and by whether the answer is 304. Writes
second_visits.csv. See README.md.
"""

import argparse
import csv
import json
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import FLIGHTS, LOADSTONE, RECORDED_ON, SITES, build, kept_loads, run, say, start_of

from loadstone import Page
from loadstone.recording import Archive
from loadstone.recording.archive import HAR

NETWORKS = ("10/1mbit,100ms", "1.6mbit/768kbit,300ms")
PROTOCOL = "h2"
SECONDS = 1
"""What is about between a load and the next one of the same browser."""
CLEAR = 0.05
"""By so much cold and second visits of Chromium have to be apart for their sign to count."""

Requests = Counter[tuple[str, bool]]


@dataclass(frozen=True)
class Asked:
    """What the visits of one site ask for."""

    site: str
    first: int
    """How many requests the first visit makes, at the median."""
    chromium: int
    """How many Chromium's second visit makes, that one which the model's is nearest to."""
    model: int
    differ: int
    """How many requests only one of the two makes."""
    chromium_differ: int
    """By how many Chromium's own second visits differ from one another, at most."""


@dataclass(frozen=True)
class SecondVisit:
    """How long both visits to a site take."""

    site: str
    network: str
    chromium_first_ms: float
    chromium_second_ms: float
    model_first_ms: float
    model_second_ms: float

    @property
    def chromium(self) -> float:
        """Say how much Chromium's second visit saves, in ms."""
        return self.chromium_first_ms - self.chromium_second_ms

    @property
    def model(self) -> float:
        """Say how much the model's saves, in ms."""
        return self.model_first_ms - self.model_second_ms

    @property
    def is_clear(self) -> bool:
        """Whether Chromium's own visits are clearly apart."""
        return abs(self.chromium) > CLEAR * self.chromium_first_ms


def recorded(built: Path, folder: Path) -> Path:
    """Record a site, three cold loads with a second visit after each."""
    path = folder / f"{built.name}.visits.wacz"
    if not path.exists():
        network, protocol = RECORDED_ON
        bed = ["bed", str(built), "--network", network, "--protocol", protocol, "--"]
        run(*bed, *LOADSTONE, "record", start_of(built), "--warm", "-o", str(path))
    return path


def named(url: str, status: int | None) -> tuple[str, bool]:
    """Tell a request from others: by its URL without a query, and by whether the answer is 304."""
    return url.split("?")[0], status == 304


def is_of_network(entry: dict[str, Any]) -> bool:
    """Whether a server was asked, and neither a cache nor a service worker."""
    return not entry.get("_fromCache") and not entry["response"].get("_fetchedViaServiceWorker")


def apart(one: Requests, other: Requests) -> int:
    """Count the requests that only one of two visits makes."""
    return ((one - other) + (other - one)).total()


def asked(site: str, recording: Path) -> Asked:
    """Hold the requests of the model's second visit against Chromium's."""
    archive = Archive.read(str(recording))
    entries = json.loads(archive.extra(HAR))["log"]["entries"]

    def sent(number: int) -> Requests:
        of_load = [one for one in entries if one["pageref"] == f"page_{number}" and is_of_network(one)]
        return Counter(named(one["request"]["url"], one["response"]["status"]) for one in of_load)

    page = Page.read(str(recording)).content
    visited = json.loads(page.visited_after(page, SECONDS).to_json())["objects"]
    model = Counter(named(one["url"], one.get("status")) for one in visited if not one.get("cached"))
    first = sorted(sent(one.number).total() for one in archive.loads if not one.warm)
    second = [sent(one.number) for one in archive.loads if one.warm]
    nearest = min(second, key=lambda one: apart(one, model))
    return Asked(
        site,
        first[len(first) // 2],
        nearest.total(),
        model.total(),
        apart(nearest, model),
        max(apart(one, other) for one in second for other in second),
    )


def in_chromium(built: Path, network: str, folder: Path, *, is_second: bool) -> float:
    """Load a site in Chromium: when its load event came, at the median."""
    name = f"{built.name}.{network}.{'second' if is_second else 'first'}.json".replace("/", "-")
    path = folder / name
    if not path.exists():
        words = ["bed", str(built), "--network", network, "--protocol", PROTOCOL, "--loads", "2", "--json"]
        path.write_text(run(*words, *(["--warm"] if is_second else []), "--", "chromium", start_of(built)))
    return float(statistics.median(load["onload_ms"] for load in kept_loads(path)))


def predicted(page: Path, network: str, *, is_second: bool) -> float:
    """Predict the load of a page: the median of 21 runs."""
    on = ["--network", network, "--protocol", PROTOCOL, "--names", "looked-up", "--tls-flights", FLIGHTS]
    visit = ["--visit-after", str(SECONDS)] if is_second else []
    median: float = json.loads(run("load", str(page), *on, *visit, "--json"))["median_plt_ms"]
    return median


def measured(sites: list[str], folder: Path) -> Iterator[SecondVisit]:
    """Measure and predict the visits."""
    for site in sites:
        built, recording = folder / "built" / site, folder / f"{site}.visits.wacz"
        for network in NETWORKS:
            chromium = [in_chromium(built, network, folder, is_second=second) for second in (False, True)]
            model = [predicted(recording, network, is_second=second) for second in (False, True)]
            yield SecondVisit(site, network, *chromium, *model)


def summary(visits: list[SecondVisit]) -> str:
    """Say how well the model tells what a second visit saves."""
    clear = [one for one in visits if one.is_clear]
    signs = sum((one.chromium > 0) == (one.model > 0) for one in clear)
    sizes = sorted(abs(one.model / one.chromium - 1) for one in clear)
    errors = sorted(abs(one.model_second_ms / one.chromium_second_ms - 1) for one in visits)
    return (
        f"signs right: {signs} of {len(clear)}; saved time off by {statistics.median(sizes):.0%}; "
        f"the second visit itself by {statistics.median(errors):.1%} (medians), at worst {errors[-1]:.0%}"
    )


def main() -> None:
    """Measure, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sites", nargs="+", default=SITES, help="some of them only")
    parser.add_argument("--requests-only", action="store_true", help="load nothing on other networks")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    build(given.sites, "sites/build.py", given.folder)
    for site in given.sites:
        one = asked(site, recorded(given.folder / "built" / site, given.folder))
        counts = [one.first, one.chromium, one.model, one.differ, one.chromium_differ]
        say(f"| {one.site} | " + " | ".join(map(str, counts)) + " |")
    if given.requests_only:
        return
    visits = []
    for visit in measured(given.sites, given.folder):
        visits.append(visit)
        times = [visit.chromium_first_ms, visit.chromium_second_ms]
        times += [visit.model_first_ms, visit.model_second_ms]
        say(f"| {visit.site} | {visit.network} | " + " | ".join(f"{ms:.0f}" for ms in times) + " |")
    with (given.folder / "second_visits.csv").open("w", newline="") as out:
        table = csv.DictWriter(out, list(asdict(visits[0])))
        table.writeheader()
        table.writerows(asdict(visit) for visit in visits)
    say(summary(visits))


if __name__ == "__main__":
    main()
