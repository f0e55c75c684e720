"""Loads of a page from servers that are there already, the path to them, and what the simulator says."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from loadstone import experiment
from loadstone._native import LoadstoneError, Outcome, Replayer, Stopper
from loadstone.experiment import Cell, Chosen
from loadstone.files import InputError
from loadstone.pages import Page

PROBES = 5
"""Handshakes by which the path is measured before a load, and after it."""
CHANGED_SHARE, CHANGED_MS = 0.1, 1.0
"""A path has changed if its round trip has, by more than this share and by more than so many ms."""
LEAST_LOSS_PCT = 0.1
"""What is less is taken for none: a load has a few thousand segments at most."""
_MOMENT = 0.05
"""Seconds that Ctrl-C may wait."""

Document = dict[str, Any]


class ServerError(Exception):
    """The servers cannot be loaded from: why, and what to do."""


@dataclass(frozen=True)
class Asked:
    """What servers are asked for, and how."""

    origins: Sequence[str]
    cacert: bytes | None
    insecure: bool
    timeout: float
    pause: float
    all_methods: bool
    keep_secrets: bool


@dataclass(frozen=True)
class Probed:
    """What probes of the path found."""

    round_trips_ms: list[float]
    syn_retransmissions: int

    @property
    def median_ms(self) -> float:
        """Give the round trip, with what queues and busy machines add."""
        return statistics.median(self.round_trips_ms)

    @property
    def least_ms(self) -> float:
        """Give the round trip of the path alone: queues and machines that stand still only add to it."""
        return min(self.round_trips_ms)

    def document(self) -> Document:
        """Give it as documents have it."""
        return {
            "round_trips_ms": self.round_trips_ms,
            "median_ms": self.median_ms,
            "syn_retransmissions": self.syn_retransmissions,
        }


@dataclass(frozen=True)
class RealLoad:
    """A load from the servers, and the path to them meanwhile."""

    outcome: Outcome
    before: Probed
    after: Probed
    measured: Document
    """What was measured beside it, by `document` of crates/py/src/replay.rs."""

    @property
    def connections(self) -> list[Document]:
        """Give the connections in the order of opening."""
        connections: list[Document] = self.measured["connections"]
        return connections

    @property
    def round_trip_ms(self) -> float:
        """Give the least round trip to the page's first server: queues are no part of the path."""
        return min(self.before.least_ms, self.after.least_ms)

    @property
    def rate_bps(self) -> int | None:
        """Give the rate of the link at least: that of the load's busiest moment."""
        rate: int | None = self.measured["rate_bps"]
        return rate

    @property
    def has_changed(self) -> bool:
        """Say whether the path was another one after the load."""
        by = abs(self.after.least_ms - self.before.least_ms)
        return by > CHANGED_MS and by > CHANGED_SHARE * self.before.least_ms

    @property
    def lost_down_pct(self) -> tuple[float, float]:
        """Give the share of segments that were lost on the way down, at least and at most."""
        came = self._sum("data_segments_down")
        return _percent(self._sum("holes_down"), came), _percent(self._sum("out_of_order_down"), came)

    @property
    def sent_again_pct(self) -> float:
        """Give the share of the client's segments that were sent again."""
        return _percent(self._sum("retransmissions_up"), self._sum("data_segments_up"))

    def random_loss_pct(self, of_queues: float) -> float:
        """Give the share of segments that were certainly lost, but for so many that queues drop."""
        lost = self._sum("holes_down") + self._sum("retransmissions_up") - of_queues
        return _percent(lost, self._sum("data_segments_down") + self._sum("data_segments_up"))

    @property
    def network(self) -> str | None:
        """Describe rate and round trip as `--network` does; `None` if too little came to tell a rate."""
        if self.rate_bps is None:
            return None
        round_trips = self.distances_ms
        nearest = min(round_trips.values()) if round_trips else self.round_trip_ms
        return f"{self.rate_bps / 1e6:.3f}mbit,{nearest:.2f}ms"

    @property
    def distances_ms(self) -> dict[str, float]:
        """Give the round trip to each host that was connected to: the least to its address."""
        least: dict[str, float] = {}
        for connection in self.connections:
            if (ms := connection["round_trip_ms"]) is not None:
                least[connection["address"]] = min(ms, least.get(connection["address"], ms))
        if self.connections:
            # The page's first connection goes to the server that was probed.
            first = self.connections[0]["address"]
            least[first] = min(self.round_trip_ms, least.get(first, self.round_trip_ms))
        return {
            connection["host"]: least[connection["address"]]
            for connection in self.connections
            if connection["address"] in least
        }

    def _sum(self, name: str) -> int:
        return sum(connection[name] for connection in self.connections)


@dataclass(frozen=True)
class Simulated:
    """What the simulator says of a load on the path that was measured."""

    network: str
    plt_ms: float | None
    why_not: str | None = None


@dataclass(frozen=True)
class Replayed:
    """A page's loads from servers."""

    cell: Cell
    servers: list[tuple[str, str, str]]
    """Host, server and address of each host of the page."""
    left_out: list[str]
    """Requests that were not sent, since they may change something."""
    loads: list[RealLoad]
    simulated: list[Simulated | None]
    """One for each load; `None` where the path's rate is not known."""


def replay(
    page: Page,
    chosen: Chosen,
    asked: Asked,
    runs: int | None,
    seed: int | None,
    show: Callable[[int, int], None],
) -> Replayed:
    """Load the page `runs` times from its servers, one load after the other, and simulate each of them.

    Raises `ServerError` if a server cannot be reached.
    """
    if chosen.get("variant.names") == "looked-up":
        raise InputError("--names: a replay knows the addresses of its servers: leave it out")
    if (tls := chosen.get("variant.tls")) == "none":
        raise InputError("--tls: the origin's URL says whether there is TLS: give one with http://")
    try:
        content, left_out = page.content.replayed(
            all_methods=asked.all_methods, keep_secrets=asked.keep_secrets
        )
    except LoadstoneError as error:
        raise InputError(f"{page.name}: {error.args[0]}") from None
    page = replace(page, content=content)
    # Whether there is TLS is the origins' to say, and which version the server's if it is not given.
    chosen = {**chosen, "variant.names": "cached"}
    cell = experiment.cell(page, chosen)
    wanted = {"origins": [*asked.origins], "tls": tls, "insecure": asked.insecure, "timeout": asked.timeout}
    jobs = cell.jobs(cell.runs(runs), cell.seed if seed is None else seed)
    with _Worker() as worker:
        replayer = worker.do(
            lambda stopper: Replayer(cell.scenario, json.dumps(wanted), stopper, asked.cacert)
        )
        loads = []
        for number, (_, one_seed) in enumerate(jobs):
            if number:
                time.sleep(asked.pause)
            loads.append(_load(replayer, cell, one_seed, worker))
            show(number + 1, len(jobs))
    simulated = [_simulate(page, chosen, load) for load in loads]
    return Replayed(cell, replayer.servers, left_out, loads, simulated)


def _load(replayer: Replayer, cell: Cell, seed: int, worker: "_Worker") -> RealLoad:
    before = Probed(*worker.do(lambda stopper: replayer.probe(PROBES, stopper)))
    outcome, measured = worker.do(lambda stopper: replayer.load(cell.scenario, seed, stopper))
    after = Probed(*worker.do(lambda stopper: replayer.probe(PROBES, stopper)))
    return RealLoad(outcome, before, after, json.loads(measured))


def _simulate(page: Page, chosen: Chosen, load: RealLoad) -> Simulated | None:
    if (network := load.network) is None or not load.outcome.completed:
        return None
    known = load.distances_ms
    nearest = min(known.values())
    # A recording's own distances are those of its servers, not of these.
    hosts = {host for _, host in page.content.names_and_hosts()}
    content = page.content.at_distances({host: known.get(host, nearest) for host in hosts})
    page = replace(page, content=content)
    fields = {
        name: value for name, value in {**chosen, "variant.tls": _tls(load)}.items() if value is not None
    }
    try:
        simulated = experiment.usual_load(page, {**fields, "network": network})
        # What a full queue drops the simulator drops by itself: at random is lost what was lost besides.
        loss = load.random_loss_pct(simulated.sent_again)
        if loss >= LEAST_LOSS_PCT:
            network = f"{network},loss={loss:.1f}%"
            simulated = experiment.usual_load(page, {**fields, "network": network})
    except InputError as error:
        return Simulated(network, None, str(error))
    return Simulated(network, simulated.plt_ms)


def _tls(load: RealLoad) -> str | None:
    """Give what the connections went through; `None`, by the page's schemes, if only some had TLS."""
    spoken = [connection["tls"] for connection in load.connections if connection["protocol"] is not None]
    if None not in spoken:
        return statistics.mode(spoken) if spoken else None
    return "none" if set(spoken) == {None} else None


def _percent(part: float, of: int) -> float:
    return 100 * part / of if of else 0.0


class _Worker:
    """A thread for what takes long: Ctrl-C reaches Python's first one only when that is not in the engine."""

    def __enter__(self) -> "_Worker":
        self._pool, self._stopper = ThreadPoolExecutor(1), Stopper()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopper.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def do(self, task: Callable[[Stopper], Any]) -> Any:
        begun = self._pool.submit(task, self._stopper)
        while not begun.done():
            wait([begun], _MOMENT)
        try:
            return begun.result()
        except LoadstoneError as error:
            why, field = error.args
            if field or why.startswith("--"):
                raise InputError(f"{experiment.OPTIONS.get(field, field)}: {why}" if field else why) from None
            raise ServerError(why) from None
