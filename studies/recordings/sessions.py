"""How well recorded loads are met by simulated ones: .venv/bin/python studies/recordings/sessions.py FOLDER.

FOLDER has HARs that are named SITE.NETWORK.SESSION.har[.gz], such as those of "5G in the wild"
(github.com/SIGCOMM21-5G/artifact): the same sites, loaded again and again by phones.
"""

import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

from loadstone import experiment, pages, variants
from loadstone.pages import Page
from loadstone.recorded import Recording


@dataclass(frozen=True)
class Session:
    """One load of a site, as it was recorded."""

    site: str
    network: str
    page: Page
    recording: Recording
    load_ms: float

    @classmethod
    def of(cls, path: Path) -> "Session | None":
        """Read one; `None` if it does not tell enough."""
        site, network, *_ = path.name.split(".")
        page = pages.read(str(path))
        recording = Recording.of(page)
        if recording is None or recording.cell is None or recording.load_ms is None:
            return None
        return cls(site, network, page, recording, recording.load_ms)

    def simulated_on(self, other: "Session") -> float:
        """Simulate this session's page on the network of another, whose hosts are as far as there."""
        told = other.page.notes["handshakes_ms"]
        hosts = {host: told[host] for host in self.page.notes["handshakes_ms"] if host in told}
        nearest = min(told.values())
        known = {**hosts, "": nearest} if hosts and min(hosts.values()) > nearest else hosts
        content = self.page.content.at_distances({host: ms for host, ms in known.items() if host})
        cell = other.recording.cell
        assert cell is not None
        fields = {**experiment.SPREAD, **variants.recorded(self.page), "network": cell.network}
        made = experiment.cell(replace(self.page, content=content), fields)
        outcomes = experiment.execute(made.jobs(made.runs(None), made.seed), None)
        return statistics.median(outcome.plt_ms for outcome in outcomes)


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{line}\n")


def main(folder: str) -> None:
    """Print two tables."""
    found = [Session.of(path) for path in sorted(Path(folder).glob("*.har*"))]
    sessions = [session for session in found if session is not None]
    say("| network | loads | median error | 90th percentile | within 25 % | median, signed |")
    say("|---|---:|---:|---:|---:|---:|")
    for network in sorted({session.network for session in sessions}):
        errors = [
            session.simulated_on(session) / session.load_ms - 1
            for session in sessions
            if session.network == network
        ]
        say(f"| {network} | {row(errors)} |")
    say("")
    say("| of a load in 5G | predicted from | pairs | median error | 90th percentile |")
    say("|---|---|---:|---:|---:|")
    of_5g = [session for session in sessions if session.network == "5g"]
    of_4g = [session for session in sessions if session.network == "4g"]
    for name, pairs in (
        ("another session's page, simulated on this session's network", pairs_of(of_5g)),
        ("a 4G page, simulated on this session's network", list(across(of_4g, of_5g))),
    ):
        errors = [one.simulated_on(other) / other.load_ms - 1 for one, other in pairs]
        say(f"| | {name} | {short(errors)} |")
    errors = [one.load_ms / other.load_ms - 1 for one, other in pairs_of(of_5g)]
    say(f"| | another session's load time, as it is | {short(errors)} |")


def pairs_of(sessions: Sequence[Session]) -> list[tuple[Session, Session]]:
    """Give each two sessions of a site."""
    return [(one, other) for one, other in permutations(sessions, 2) if one.site == other.site]


def across(ones: Sequence[Session], others: Sequence[Session]) -> Iterable[tuple[Session, Session]]:
    """Give each session with each other of its site."""
    return ((one, other) for one in ones for other in others if one.site == other.site)


def row(errors: Sequence[float]) -> str:
    """Show errors: how many, median, 90th percentile, share within 25 %, signed median."""
    sizes = sorted(abs(error) for error in errors)
    within = sum(size <= 0.25 for size in sizes) / len(sizes)
    return f"{short(errors)} | {within:.0%} | {statistics.median(errors):+.1%}"


def short(errors: Sequence[float]) -> str:
    """Show errors: how many, median, 90th percentile."""
    sizes = sorted(abs(error) for error in errors)
    last = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
    return f"{len(sizes)} | {statistics.median(sizes):.1%} | {last:.1%}"


if __name__ == "__main__":
    main(sys.argv[1])
