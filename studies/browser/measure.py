"""How near predictions from one recording come to a real browser.

    .venv/bin/python studies/browser/measure.py DIR

builds the sites of sites/, records each once on a bed, loads each on other networks and in other protocols
with Chromium on a bed, and predicts these loads: from the recording, and from its HAR alone. With --others
the same for pages by others (others.py). DIR keeps everything; what is there already is not measured again.
Needs root or /dev/net/tun, Chromium and certutil.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import others

from loadstone.recording import Archive
from loadstone.recording.archive import HAR

ROOT = Path(__file__).parents[2]
LOADSTONE = [sys.executable, "-m", "loadstone"]
SITES = sorted(path.name for path in (ROOT / "sites").iterdir() if (path / "README.md").exists())
RECORDED_ON = ("50/10mbit,20ms", "h2")
NETWORKS = ("50/10mbit,20ms", "20/5mbit,200ms", "10/1mbit,100ms", "5/1mbit,60ms", "1.6mbit/768kbit,300ms")
PROTOCOLS = ("http/1.1", "h2")
FLIGHTS = "1970/4000/64/184"
"""As Chromium 156 and the servers of the bed have them: hellos of 1,925 to 2,021 bytes, and tickets."""
CLEAR = 0.03
"""How far apart two protocols have to be in Chromium for the better one to be clear."""


@dataclass(frozen=True)
class Measured:
    """A site on a network in a protocol; times of load events in ms, each a median."""

    site: str
    network: str
    protocol: str
    chromium_ms: float
    loads: int
    variation: float
    """The coefficient of variation of Chromium's loads."""
    recording_ms: float
    recording_low_ms: float
    recording_high_ms: float
    """The least and the largest of the runs."""
    har_ms: float

    def error(self, of: str) -> float:
        """Give by which share a prediction is off, with its sign."""
        predicted: float = getattr(self, f"{of}_ms")
        return predicted / self.chromium_ms - 1


def run(*words: str) -> str:
    """Run the command line; its output."""
    done = subprocess.run([*LOADSTONE, *words], capture_output=True, text=True, timeout=1200)
    if done.returncode:
        raise SystemExit(f"loadstone {' '.join(words)}: {done.stderr.strip()[-400:]}")
    return done.stdout


def start_of(built: Path) -> str:
    """Give the address of a site's page."""
    start: str = json.loads((built / "site.json").read_text())["start"]
    return start


def recorded(built: Path, folder: Path) -> Path:
    """Record a site, three cold loads."""
    path = folder / f"{built.name}.wacz"
    if not path.exists():
        network, protocol = RECORDED_ON
        bed = ["bed", str(built), "--network", network, "--protocol", protocol, "--"]
        run(*bed, *LOADSTONE, "record", start_of(built), "-o", str(path))
    return path


def har_alone(recording: Path) -> Path:
    """Give what the HAR of the middle load says, as a file of its own, with the texts of documents."""
    archive = Archive.read(str(recording))
    loads = sorted((load.onload_ms or 0, load.number) for load in archive.loads)
    middle = loads[(len(loads) - 1) // 2][1]
    page = f"page_{middle}"
    bodies = {one.url: one.body for one in archive.exchanges if one.load == middle}
    har = json.loads(archive.extra(HAR))
    log = har["log"]
    log["entries"] = [entry for entry in log["entries"] if entry["pageref"] == page]
    log["pages"] = [one for one in log["pages"] if one["id"] == page]
    for entry in log["entries"]:
        if entry["_resourceType"] == "document" and (body := bodies.get(entry["request"]["url"])):
            entry["response"]["content"]["text"] = body.decode(errors="replace")
    path = recording.with_suffix(".har")
    path.write_text(json.dumps(har))
    return path


def in_chromium(built: Path, network: str, protocol: str, blocks: int, folder: Path) -> list[float]:
    """Load a site in Chromium: when its load events were."""
    name = f"{built.name}.{network}.{protocol}.json".replace("/", "-")
    path = folder / name
    if not path.exists():
        bed = ["bed", str(built), "--network", network, "--protocol", protocol, "--loads", str(blocks)]
        path.write_text(run(*bed, "--json", "--", "chromium", start_of(built)))
    return [load["onload_ms"] for load in kept_loads(path)]


def kept_loads(path: Path) -> list[dict[str, Any]]:
    """Give the loads of a file that `loadstone bed --loads --json` has made."""
    said = json.loads(path.read_text())
    return [*said["variants"][0]["loads"], *said["noise_floor"]["loads"]]


def predicted(page: Path, network: str, protocol: str) -> tuple[float, float, float]:
    """Predict the load of a page by 21 runs: their median, the least and the largest."""
    on = ["--network", network, "--protocol", protocol, "--names", "looked-up", "--tls-flights", FLIGHTS]
    said = json.loads(run("load", str(page), *on, "--json"))
    times = [one["plt_ms"] for one in said["runs"]]
    return said["median_plt_ms"], min(times), max(times)


def build(sites: Sequence[str], program: str, folder: Path) -> None:
    """Build sites by a program."""
    words = [sys.executable, str(ROOT / program), *sites, "-o", str(folder / "built")]
    subprocess.run(words, check=True, capture_output=True)


def measured(sites: Sequence[str], blocks: int, folder: Path) -> Iterator[Measured]:
    """Measure and predict all cells."""
    for site in sites:
        built = folder / "built" / site
        recording = recorded(built, folder)
        har = har_alone(recording)
        for network in NETWORKS:
            for protocol in PROTOCOLS:
                times = in_chromium(built, network, protocol, blocks, folder)
                yield Measured(
                    site,
                    network,
                    protocol,
                    statistics.median(times),
                    len(times),
                    statistics.stdev(times) / statistics.mean(times),
                    *predicted(recording, network, protocol),
                    predicted(har, network, protocol)[0],
                )


def ranks(values: Sequence[float]) -> list[float]:
    """Give the rank of each value."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [float(order.index(at)) for at in range(len(values))]


def right_signs(cells: Sequence[Measured], of: str) -> tuple[int, int]:
    """Count for how many pairs the better protocol is named rightly, of those where Chromium's is clear."""
    times = {(cell.site, cell.network, cell.protocol): cell for cell in cells}
    right = clear = 0
    for cell in cells:
        other = times.get((cell.site, cell.network, "h2"))
        if cell.protocol != "http/1.1" or other is None:
            continue
        apart = cell.chromium_ms / other.chromium_ms - 1
        if abs(apart) > CLEAR:
            clear += 1
            first, second = getattr(cell, f"{of}_ms"), getattr(other, f"{of}_ms")
            right += (first > second) == (apart > 0)
    return right, clear


def summary(cells: Sequence[Measured], of: str) -> str:
    """Say how far predictions are off."""
    errors = sorted(abs(cell.error(of)) for cell in cells)
    signed = statistics.median(cell.error(of) for cell in cells)
    rank = statistics.correlation(
        ranks([cell.chromium_ms for cell in cells]), ranks([getattr(cell, f"{of}_ms") for cell in cells])
    )
    right, clear = right_signs(cells, of)
    p90 = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
    return (
        f"| {of} | {signed:+.1%} | {statistics.median(errors):.1%} | {p90:.1%} | {errors[-1]:.1%} "
        f"| {rank:.3f} | {right} of {clear} |"
    )


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure, and write the cells and what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--others", action="store_true", help="pages by others instead of our sites")
    parser.add_argument("--sites", nargs="+", help="some of them only")
    parser.add_argument("--blocks", type=int, default=2, help="loads of each, beside one more in each block")
    parser.add_argument("--record-only", action="store_true", help="record the sites, and measure nothing")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    known = list(others.PAGES) if given.others else SITES
    sites = given.sites or known
    if unknown := sorted({*sites} - {*known}):
        parser.error(f"there is no {unknown[0]}: the sites are {', '.join(known)}")
    build(sites, "studies/browser/others.py" if given.others else "sites/build.py", given.folder)
    if given.record_only:
        for site in sites:
            say(str(recorded(given.folder / "built" / site, given.folder)))
        return
    cells = []
    with (given.folder / "cells.csv").open("w", newline="") as out:
        table = csv.DictWriter(out, [field.name for field in fields(Measured)], lineterminator="\n")
        table.writeheader()
        for cell in measured(sites, given.blocks, given.folder):
            cells.append(cell)
            rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(cell).items()}
            table.writerow(rounded)
            out.flush()
            errors = f"{cell.error('recording'):+6.1%} {cell.error('har'):+6.1%}"
            say(f"{cell.site:14}{cell.network:24}{cell.protocol:9}{cell.chromium_ms:8.0f} ms {errors}")
    say("| predicted from | signed median | median | p90 | worst | rank correlation | better protocol |")
    say("|---|---|---|---|---|---|---|")
    say(summary(cells, "recording"))
    say(summary(cells, "har"))
    covered = sum(cell.recording_low_ms <= cell.chromium_ms <= cell.recording_high_ms for cell in cells)
    say(f"Within the runs' range lies Chromium's median in {covered} of {len(cells)} cells.")


if __name__ == "__main__":
    main()
