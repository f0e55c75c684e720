"""Loads through an edge in both worlds, by studies/edge: what the cache makes of requests is alike."""

import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import kernel
from conftest import ROOT
from loadstone import Page
from loadstone.simulated_edge import Passage

sys.path.insert(0, str(ROOT / "studies/edge"))
from edge_cells import KINDS
from ways import LiveLoads, Way

OBJECTS = {"hit": 4, "revalidation": 3, "miss": 2}
"""Objects of each kind on a page of two hosts."""
OUTCOMES = {200: "miss", 304: "revalidated"}
"""What a server's answer says of an edge's cache."""
COLD, WARM = 0, 1


def page() -> Page:
    """Make a page whose document is a hit; hosts take turns."""
    kinds = [kind for kind, count in OBJECTS.items() for _ in range(count)]
    objects = [
        {"url": f"https://{'ab'[at % 2]}.test/{at}", "bytes": 3000 + at, "response_fields": KINDS[kind]}
        for at, kind in enumerate(kinds)
    ]
    made = Page.of({"objects": objects}, "kinds")
    asked, _ = made.content.replayed()
    return Page(made.name, asked)


def simulated(way: Way, passage: Passage, folder: Path) -> Counter[str]:
    """Say what the simulated cache made of requests: as servers answered them, and else a hit."""
    scenario, capture, tables = folder / "scenario.json", folder / "server.pcapng", folder / "tables"
    scenario.write_text(way.scenario(page(), passage).scenario.to_json())
    words = ["--scenario", str(scenario), "--runs", "1", "--pcap", str(capture), "--pcap-at", "server"]
    assert kernel.run("load", *words).code == 0
    assert kernel.run("capture", str(capture), "-o", str(tables)).code == 0
    behind = pl.read_parquet(tables / "exchanges.parquet").filter(pl.col("kind") == "http/1.1")
    came = Counter(OUTCOMES[status] for status in behind["status"])
    return came + Counter(hit=sum(OBJECTS.values()) - came.total())


def live(loads: LiveLoads, load: int) -> Counter[str]:
    """Say what the edge noted of the requests of one load."""
    count = sum(OBJECTS.values())
    entries = sorted(loads.log, key=lambda entry: str(entry["time"]))
    assert len(entries) == count * len(loads.plt_ms)
    return Counter(entry["cache"] for entry in entries[count * load : count * (load + 1)])


@pytest.mark.usefixtures("access")
@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_requests_reach_servers_and_the_cache_in_both_worlds_alike(protocol: str, tmp_path: Path) -> None:
    way = Way(protocol, "20mbit,10ms", "100mbit,20ms")
    loads = way.live(page(), 2)
    assert live(loads, COLD) == simulated(way, Passage.COLD, tmp_path) == {"miss": 9}
    warm = {"hit": 4, "revalidated": 3, "miss": 2}
    assert live(loads, WARM) == simulated(way, Passage.WARM, tmp_path) == warm
    # Over the backhaul went eleven bodies with their heads, over the access link eighteen.
    behind, front = loads.seen["backhaul"]["down"]["bytes"], loads.seen["link"]["down"]["bytes"]
    assert 11 * 3000 < behind < 14 * 3000 < 18 * 3000 < front
