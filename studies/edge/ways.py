"""How a page is loaded in both worlds: by which protocol, over which links, through an edge or straight.

Live it is `loadstone load --origin` on a bed, with `loadstone edge` between two links; simulated it is what
`compare --edge` simulates.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone import Page, experiment
from loadstone.simulated_edge import Passage, SimulatedEdge

LOADSTONE = [sys.executable, "-m", "loadstone"]
FIRST = ["chrt", "-f", "5"]
"""Real-time priority for what is measured: other work on the machine waits."""
CACHE = 256_000_000
PAUSE_S = 1.0
"""Between two loads on one bed: so long ago has a warm edge served the page, in the simulator, too."""
PATIENCE_S = 600
VARIED = 21
SPREAD: experiment.Chosen = {"spread.network": 1, "spread.times": 0}
"""What simulated loads differ by, in percent: links, and when programs wake up."""


@dataclass(frozen=True)
class Way:
    """How a page is loaded."""

    protocol: str
    network: str
    backhaul: str | None = None
    """The network behind the edge; straight to the servers, if it is `None`."""
    tls: str = "1.3"
    """What is in front of an edge, and `none` straight."""
    congestion: str = "cubic"
    """The congestion control of servers and edge."""

    def scenario(
        self, page: Page, passage: Passage = Passage.COLD, more: experiment.Chosen | None = None
    ) -> experiment.Cell:
        """Give the load that is simulated, with more of its fields."""
        chosen: dict[str, Any] = {
            "network": self.network,
            "variant.protocol": self.protocol,
            "variant.tls": self.tls,
            "variant.tcp.cc": self.congestion,
        }
        if self.backhaul is not None:
            edge = edge_of(page, self.backhaul)
            chosen |= {**edge.front, "topology": edge.topology(passage, page)}
        return experiment.cell(page, {**chosen, **(more or {})})

    def simulated(self, page: Page, passage: Passage = Passage.COLD) -> float:
        """Give the simulated load time, in ms."""
        cell = self.scenario(page, passage)
        [outcome] = experiment.execute(cell.jobs(1, cell.seed), 1)
        assert outcome.completed
        return outcome.plt_ms

    def varied(self, page: Page, passage: Passage = Passage.COLD) -> list[float]:
        """Give the simulated times of loads whose links differ, in ms."""
        cell = self.scenario(page, passage, SPREAD)
        return [outcome.plt_ms for outcome in experiment.execute(cell.jobs(VARIED, cell.seed), 1)]

    def live(self, page: Page, loads: int) -> "LiveLoads":
        """Load it so many times on a bed of its own; the first load finds a cold edge."""
        with tempfile.TemporaryDirectory(prefix="loadstone-study-") as folder:
            return self._on_bed(page, loads, Path(folder))

    def _on_bed(self, page: Page, loads: int, folder: Path) -> "LiveLoads":
        file, log = folder / "studied.page.json", folder / "edge.log"
        file.write_text(page.json)
        load = [*FIRST, *LOADSTONE, "load", str(file), "--origin", "recorded", "--protocol", self.protocol]
        load += ["--runs", str(loads), "--pause", str(PAUSE_S), "--exact", "--json"]
        bed = [*LOADSTONE, "bed", str(file), "--network", self.network, "--cc", self.congestion, "--json"]
        if self.backhaul is not None:
            settings = folder / "edge.toml"
            settings.write_text(_settings(edge_of(page, self.backhaul), log))
            edge = shlex.join([*FIRST, *LOADSTONE, "edge", str(settings)])
            bed += ["--backhaul", self.backhaul]
            bed += ["--edge-command", f"{edge} --cert $SERVER_CERT --key $SERVER_KEY"]
            first = hosts_of(page)[0]
            listens = f"until (: </dev/tcp/{first}/443) 2>/dev/null; do sleep 0.05; done"
            load = ["bash", "-c", f"{listens}; exec {shlex.join([*load, '--tls', self.tls])}"]
        done = subprocess.run([*bed, "--", *load], capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise RuntimeError(f"{page.name}, {self}: {done.stderr or done.stdout}")
        loaded, seen = map(json.loads, done.stdout.splitlines())
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        times = [run["plt_ms"] for run in loaded["runs"]]
        return LiveLoads(times, seen, [entry for entry in entries if "method" in entry])


@dataclass(frozen=True)
class LiveLoads:
    """What the loads on one bed gave."""

    plt_ms: list[float]
    seen: dict[str, Any]
    """What the links saw, as `loadstone bed --json` has it."""
    log: list[dict[str, Any]]
    """The requests in the edge's access log."""

    @property
    def dropped(self) -> int:
        """Count the packets that queues dropped, in all loads on the bed."""
        links = self.seen["link"], self.seen["backhaul"] or {}
        return sum(way["dropped"] for link in links for way in link.values())

    @property
    def paused_ms(self) -> float:
        """Say how long the machine stood still."""
        paused: float = self.seen["machine"]["paused_ms"]
        return paused


def hosts_of(page: Page) -> list[str]:
    """Give a page's hosts, that of its document first."""
    return [*dict.fromkeys(host for _, host in page.content.names_and_hosts())]


def edge_of(page: Page, backhaul: str) -> SimulatedEdge:
    """Give the edge of a page's hosts, which has a cache; as the live loads that are kept had it."""
    origins = {host: f"http://{host}" for host in hosts_of(page)}
    return SimulatedEdge("edge.toml", origins, backhaul, CACHE, growth="at-once")


def _settings(edge: SimulatedEdge, log: Path) -> str:
    """Give the same edge as its file."""
    origins = "\n".join(f'"{name}" = "{url}"' for name, url in edge.origins.items())
    front = f'[front]\nlisten = "0.0.0.0:443"\naccess_log = "{log}"\n'
    kept = f'[cache]\nbytes = {edge.cache}\n[behind]\ngrowth = "{edge.growth}"\n'
    return f"{front}[origins]\n{origins}\n{kept}"
