"""What hints, preloads and priorities change, in Chromium and in the model.

    .venv/bin/python studies/browser/policies.py DIR

builds the sites of sites/, records each once on a bed, and loads each in Chromium as it is and with each
of the changes below. The model has the recording of the site as it is. DIR keeps everything; what is there is
not measured again. Writes policies.csv. See README.md.
"""

import argparse
import csv
import gzip
import json
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import others
from measure import FLIGHTS, SITES, build, kept_loads, recorded, run, say, start_of

from loadstone import Page

NETWORKS = ("10/1mbit,100ms",)
PROTOCOL = "h2"
CLEAR = 0.03
"""By so much of a load Chromium's own difference has to be apart from nothing for its sign to count."""
KINDS = ("style", "script", "font")
"""What is preloaded, as Fetch names what it is for."""


@dataclass(frozen=True)
class Change:
    """Something that is otherwise, in Chromium and in the model."""

    name: str
    hints: str = ""
    """Which objects a response 103 tells of, as `loadstone manifest --hint` has it."""
    policy: str = ""
    """Which response servers send next, if it is not the most urgent one."""
    preloads: bool = False
    """What the document does not name itself is preloaded by it."""


CHANGES = (
    Change("hints of what the document names", hints="embedded"),
    Change("hints of all", hints="all"),
    Change("preloads of what is found late", preloads=True),
    Change("servers without priorities", policy="round-robin"),
)


@dataclass(frozen=True)
class Measured:
    """What one change does to a site; times of load events in ms, each a median."""

    site: str
    network: str
    change: str
    chromium_before_ms: float
    chromium_after_ms: float
    model_before_ms: float
    model_after_ms: float

    @property
    def chromium(self) -> float:
        """Say by how much Chromium's loads are longer, in ms."""
        return self.chromium_after_ms - self.chromium_before_ms

    @property
    def model(self) -> float:
        """Say by how much the model's are longer."""
        return self.model_after_ms - self.model_before_ms

    @property
    def is_clear(self) -> bool:
        """Whether Chromium's own loads are clearly apart."""
        return abs(self.chromium) > CLEAR * self.chromium_before_ms


def found_late(page: Page) -> dict[int, str]:
    """Give the places of what the document's styles and scripts bring, each with a link that preloads it."""
    objects = json.loads(page.json)["objects"]
    late = {}
    for place, one in enumerate(objects[1:], 1):
        sent = dict(one.get("request_fields", []))
        brought = {need.get("why") for need in one.get("needs", [])} & {"style", "script", "import"}
        kind = sent.get("sec-fetch-dest")
        if brought and kind in KINDS and one.get("document") == objects[0]["url"] and "?" not in one["url"]:
            cors = " crossorigin" if sent["sec-fetch-mode"] == "cors" else ""
            late[place] = f'<link rel="preload" href="{one["url"]}" as="{kind}"{cors}>'
    return late


def with_preloads(built: Path, late: dict[int, str], folder: Path) -> Path:
    """Build the site again with preloads in its document."""
    made = folder / "preloading" / built.name
    if made.exists():
        return made
    made.mkdir(parents=True)
    site = json.loads((built / "site.json").read_text())
    for host in built.iterdir():
        if host.is_dir():
            (made / host.name).symlink_to(host.resolve())
    document = next(one for one in site["responses"] if one["url"] == site["start"])
    text = gzip.decompress((built / document["file"]).read_bytes()).decode()
    links = "".join(late.values())
    head = text.index(">", text.lower().index("<head")) + 1
    (made / "document.html.gz").write_bytes(gzip.compress((text[:head] + links + text[head:]).encode()))
    document["file"] = "document.html.gz"
    (made / "site.json").write_text(json.dumps(site))
    return made


def in_chromium(built: Path, network: str, options: list[str], path: Path) -> float:
    """Load a site in Chromium: when its load event came, at the median of six."""
    if not path.exists():
        words = ["bed", str(built), "--network", network, "--protocol", PROTOCOL, "--loads", "3", "--json"]
        path.write_text(run(*words, *options, "--", "chromium", start_of(built)))
    return float(statistics.median(load["onload_ms"] for load in kept_loads(path)))


def predicted(page: Path, network: str, options: list[str]) -> float:
    """Predict the load of a page: the median of 21 runs."""
    on = ["--network", network, "--protocol", PROTOCOL, "--names", "looked-up", "--tls-flights", FLIGHTS]
    median: float = json.loads(run("load", str(page), *on, *options, "--json"))["median_plt_ms"]
    return median


def measured(site: str, network: str, folder: Path) -> Iterator[Measured]:
    """Measure and predict all changes of one site."""
    built = folder / "built" / site
    recording = recorded(built, folder)
    page = Page.read(str(recording))

    def kept(what: str) -> Path:
        name = f"{site}.{network}.{what}.json"
        return folder / name.replace("/", "-")

    before = in_chromium(built, network, [], kept("as it is")), predicted(recording, network, [])
    for change in CHANGES:
        served, loaded, bed, model = built, recording, [], []
        if change.hints:
            manifest = folder / f"{site}.{change.hints}.manifest.json"
            manifest.write_text(run("manifest", str(recording), "--hint", change.hints))
            bed, model = ["--push-manifest", str(manifest), "--hints"], ["--hint", change.hints]
        if change.policy:
            bed = model = ["--policy", change.policy]
        if change.preloads:
            late = found_late(page)
            if not late:
                continue
            served, loaded = with_preloads(built, late, folder), folder / f"{site}.preloading.json"
            loaded.write_text(page.content.changed("preloaded", set(late)).to_json())
        chromium = in_chromium(served, network, bed, kept(change.name))
        after = predicted(loaded, network, model)
        yield Measured(site, network, change.name, before[0], chromium, before[1], after)


def summary(cells: list[Measured]) -> str:
    """Say how well the model tells what changes do."""
    clear = [one for one in cells if one.is_clear]
    if not clear:
        return "no change is clear in Chromium"
    signs = sum((one.chromium > 0) == (one.model > 0) for one in clear)
    sizes = [abs(one.model / one.chromium - 1) for one in clear]
    off = statistics.median(sizes)
    return f"signs right: {signs} of {len(clear)} clear ones; sizes off by {off:.0%} at the median"


def main() -> None:
    """Measure, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--others", action="store_true", help="pages by others instead of our sites")
    parser.add_argument("--sites", nargs="+", help="some of them only")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    sites = given.sites or (list(others.PAGES) if given.others else SITES)
    build(sites, "studies/browser/others.py" if given.others else "sites/build.py", given.folder)
    cells = []
    for site in sites:
        for network in NETWORKS:
            for cell in measured(site, network, given.folder):
                cells.append(cell)
                times = [cell.chromium_before_ms, cell.chromium, cell.model_before_ms, cell.model]
                say(f"| {cell.site} | {cell.change} | " + " | ".join(f"{ms:.0f}" for ms in times) + " |")
    with (given.folder / "policies.csv").open("w", newline="") as out:
        table = csv.DictWriter(out, [field.name for field in fields(Measured)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(cell) for cell in cells)
    for change in CHANGES:
        say(f"{change.name}: {summary([cell for cell in cells if cell.change == change.name])}")


if __name__ == "__main__":
    main()
