"""A recorded load beside the same load simulated, on the network that the recording tells of."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from loadstone import experiment, text, variants
from loadstone._native import Outcome
from loadstone.experiment import Cell
from loadstone.pages import ONLOAD, Page

_QUEUE = "500ms"
"""No recording says how deep queues were; a phone network's are deep (docs/networks.md)."""

_OWN = ("server", "page_itself")
"""The parts of an account that no network has to do with."""


@dataclass(frozen=True)
class Recording:
    """What a HAR says of the load that it has recorded, as far as that can be simulated."""

    place: str
    """Which page of the file it is, in words, if the file has several."""
    spoken: str | None
    """What the hosts spoke, in words."""
    load_ms: float | None
    """When the load event was, or the paint up to which loads are measured."""
    cell: Cell | None
    """The load on the network as inferred; `None` if the file does not say enough."""

    @classmethod
    def of(cls, page: Page) -> "Recording | None":
        """Take what a page's notes say; `None` if it is no recording."""
        notes = page.notes
        if not notes:
            return None
        load_ms = notes["load_ms"] if page.metric == ONLOAD else page.paint(page.metric)["ms"]
        spoken, cell = variants.spoken(page), None
        if load_ms is not None and (known := inferred(page)):
            apart, network = known
            fields = variants.recorded(page) if page.protocols else {}
            cell = experiment.cell(apart, {**experiment.SPREAD, **fields, "network": network})
        place = f" (page {notes['page']} of {notes['pages']} in the file)" if notes["pages"] > 1 else ""
        return cls(place, spoken, load_ms, cell) if spoken or load_ms is not None else None

    def simulated(self, threads: int | None) -> "Recorded":
        """Put the same load simulated beside it: the median of 21 runs."""
        cell = self.cell
        outcomes = [] if cell is None else experiment.execute(cell.jobs(cell.runs(None), cell.seed), threads)
        completed = sorted((one for one in outcomes if one.completed), key=lambda one: one.plt_ms)
        middle = completed[(len(completed) - 1) // 2] if completed else None
        if middle is None:
            return Recorded(self, None, {})
        return Recorded(self, middle.plt_ms, _own_ms(middle))


def inferred(page: Page) -> tuple[Page, str] | None:
    """Give the network that a recording tells of, and the page with its hosts where they are on it.

    The network is that of the nearest host and of the fastest half second; other hosts are farther away
    by as much as their handshakes took longer. `None` if the file does not say enough.
    """
    kbit, round_trips = page.notes.get("down_kbit"), page.notes.get("handshakes_ms")
    if kbit is None or not round_trips:
        return None
    apart = replace(page, content=page.content.at_distances(round_trips))
    rate = f"{kbit / 1000:.1f}mbit" if kbit >= 1000 else f"{kbit}kbit"
    return apart, f"{rate},{min(round_trips.values()):.1f}ms,queue={_QUEUE}"


@dataclass(frozen=True)
class Recorded:
    """A recorded load, and what the simulation of it gave."""

    recording: Recording
    simulated_ms: float | None
    """Of the median run; `None` if it cannot be simulated, or none was completed."""
    own_ms: dict[str, float]
    """By host, the most first: time on that run's critical path that is no network's."""

    @property
    def error(self) -> float | None:
        """Say by how much the simulation misses the recorded time, as a share of it."""
        if self.simulated_ms is None or not self.recording.load_ms:
            return None
        return self.simulated_ms / self.recording.load_ms - 1

    @property
    def own_share(self) -> float | None:
        """Say how much of the simulated load is the servers' and the page's own time."""
        return sum(self.own_ms.values()) / self.simulated_ms if self.simulated_ms else None

    def document(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "spoken": self.recording.spoken,
            "load_ms": self.recording.load_ms,
            "network": self.recording.cell and self.recording.cell.network,
            "simulated_ms": self.simulated_ms,
            "error": self.error,
            "own_share": self.own_share,
            "own_ms": self.own_ms,
        }

    def lines(self, page: str) -> list[str]:
        """Say it in words, a sentence each."""
        recording = self.recording
        said = [recording.spoken] if recording.spoken else []
        said += [text.ms(recording.load_ms)] if recording.load_ms is not None else []
        if recording.cell is not None and self.error is not None and self.own_share is not None:
            network = f"simulated on the network as inferred ({recording.cell.network})"
            said.append(f"{network} {text.ms(self.simulated_ms)} ({100 * self.error:+.0f} %)")
            own = f"{100 * self.own_share:.0f} % of that is the servers' and the page's own time"
            most = [
                f"{text.printable(host)} {100 * ms / (self.simulated_ms or 1):.0f} %"
                for host, ms in list(self.own_ms.items())[:3]
            ]
            saved = f"no protocol can save more than {100 * (1 - self.own_share):.0f} %"
            return [
                f"{page}{recording.place}, as recorded: {'; '.join(said)}.",
                f"{own}: {saved}. By host: {', '.join(most)}.",
            ]
        return [f"{page}{recording.place}, as recorded: {'; '.join(said)}."]


def _own_ms(outcome: Outcome) -> dict[str, float]:
    """Add up by host what no network has to do with."""
    path = outcome.path()
    times: dict[str, float] = {}
    for name, part, begin, end in zip(
        path["name"], path["part"], path["from_ms"], path["to_ms"], strict=True
    ):
        if part in _OWN:
            host = urlsplit(name.split(" ")[0]).netloc or name
            times[host] = times.get(host, 0.0) + end - begin
    return dict(sorted(times.items(), key=lambda item: -item[1]))
