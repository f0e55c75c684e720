"""A page with its network, made of a client's capture: by the requests in it, or by a HAR beside it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadstone import _native, experiment, har_servers, pages, variants
from loadstone.captures import captured_har, captured_waterfall, tables
from loadstone.captures.client_capture import ClientCapture
from loadstone.captures.inferred_network import InferredNetwork
from loadstone.captures.tables_folder import CAPTURE
from loadstone.experiment import Cell, UsualLoad
from loadstone.files import InputError
from loadstone.origin import LEAST_LOSS_PCT
from loadstone.pages import Page
from loadstone.typed import Waterfall

PAGE, SCENARIO = "captured.page.json", "scenario.json"
"""What the page and the scenario are called in the folder."""


@dataclass(frozen=True)
class Asked:
    """What of a capture a page is made of."""

    clients: Sequence[str] = ()
    """The client's addresses; none where the capture has one client."""
    number: int | None = None
    """Which page load of the client, from 1."""
    har: str | None = None
    """The HAR beside the capture, which has the page."""
    keep_secrets: bool = False


@dataclass(frozen=True)
class CapturedPage:
    """A page, the network on which it was loaded, and what a simulation of both gives."""

    page: Page
    capture: ClientCapture
    network: InferredNetwork
    network_text: str
    """The same as an argument for `--network`."""
    random_loss_pct: float
    cell: Cell
    """The load on the inferred network; its page has the hosts where they are."""
    simulated: UsualLoad
    """The simulated loads."""
    hosts: dict[str, list[str]]
    """The addresses at which each host was, as far as that is known."""
    har_is_of_it: bool
    """Whether a HAR beside the capture names servers of it: both are of one load."""
    keep_secrets: bool

    @property
    def begun_ms(self) -> float:
        """Give when the load began, in ms since 1970: with its first connection, else its first request."""
        first = self.capture.requests[0]
        begun: float = first.connection["start_ms"] if first.exchange["exchange"] == 1 else first.sent_ms
        return begun

    @property
    def waterfall(self) -> Waterfall | None:
        """Give when each object was asked for and came; nothing where no request could be read."""
        requests = self.capture.requests
        if not requests:
            return None
        return captured_waterfall.waterfall(requests, self.begun_ms, keep_secrets=self.keep_secrets)

    @property
    def captured_ms(self) -> float | None:
        """Give how long the load took: from its first connection to its last byte; else as a HAR says."""
        requests = self.capture.requests
        if not requests:
            recorded: float | None = self.page.notes.get("load_ms")
            return recorded if self.har_is_of_it else None
        return max(each.ended_ms for each in requests) - self.begun_ms

    def document(self, *, with_waterfall: bool = False) -> dict[str, Any]:
        """Give it for programs."""
        network = self.network
        up_pct = 100 * network.again_up / network.segments_up if network.segments_up else 0.0
        return {
            "clients": list(self.capture.clients),
            "pages": self.capture.pages,
            "objects": self.page.summary()["objects"],
            "protocols": self.page.protocols,
            "unread_connections": self.capture.unread,
            "network": self.network_text,
            "down_bps": network.down_bps,
            "down_is_full": network.down_is_full,
            "up_bps": network.up_bps,
            "round_trips_ms": dict(network.round_trips_ms),
            "hosts": self.hosts,
            "packets_down": network.segments,
            "lost_down_pct": network.lost_pct,
            "sent_again_up_pct": up_pct,
            "random_loss_pct": self.random_loss_pct,
            "waited_ms": network.waited_ms,
            "queue_bytes": network.queue_bytes,
            "captured_ms": self.captured_ms,
            "simulated_ms": self.simulated.plt_ms,
            "simulated_range_ms": self.simulated.range_ms,
            **({"waterfall": self.waterfall} if with_waterfall else {}),
        }

    def write(self, folder: str | None) -> None:
        """Write page and scenario into a folder, if there is one."""
        if folder is None:
            return
        described = tables.document(folder) | {"page": self.document()}
        written = (
            (PAGE, self.page.json),
            (SCENARIO, self.cell.scenario.to_json()),
            (CAPTURE, json.dumps(described)),
        )
        for name, made in written:
            path = Path(folder, name)
            try:
                path.write_text(json.dumps(json.loads(made), indent=1) + "\n")
            except OSError as error:
                raise InputError(f"{path}: {error.strerror or error}: give another -o") from None


def captured_page(
    folder: str, heads: Sequence[dict[str, Any]], asked: Asked, threads: int | None
) -> CapturedPage:
    """Make a page with its network of the tables in a folder and the heads of exchanges.

    Raises:
        InputError: if the capture does not say enough.
    """
    beside = None if asked.har is None else pages.read(asked.har, keep_secrets=asked.keep_secrets)
    try:
        capture = ClientCapture.read(folder, heads, asked.clients, asked.number, readable=beside is None)
    finally:
        # In a folder of tables are the packets of one connection, if any: they are drawn.
        Path(folder, f"{tables.PACKETS}.parquet").unlink(missing_ok=True)
    page = beside or _page(capture, keep_secrets=asked.keep_secrets)
    of_har = {} if asked.har is None else har_servers.addresses_of(pages.path_of(asked.har))
    hosts = _hosts_of_requests(capture) if beside is None else {**of_har, **_asked_for(capture)}
    network = InferredNetwork.of(capture)
    har_is_of_it = any(not addresses.isdisjoint(network.round_trips_ms) for addresses in of_har.values())
    distances = _distances(page, hosts, network)
    nearest_ms = min(distances.values(), default=min(network.round_trips_ms.values()))
    page = replace(page, content=page.content.at_distances(distances))
    fields: experiment.Chosen = {
        **experiment.SPREAD,
        **page.usual,
        **variants.recorded(page),
        "network": network.in_words(nearest_ms),
    }
    simulated = experiment.usual_load(page, fields, threads)
    loss = network.random_loss_pct(simulated.sent_again)
    if loss >= LEAST_LOSS_PCT:
        fields = {**fields, "network": network.in_words(nearest_ms, loss)}
        simulated = experiment.usual_load(page, fields, threads)
    else:
        loss = 0.0
    text, cell = fields["network"], experiment.cell(page, fields)
    known = {host: sorted(addresses) for host, addresses in sorted(hosts.items())}
    return CapturedPage(
        page, capture, network, text, loss, cell, simulated, known, har_is_of_it, asked.keep_secrets
    )


def _page(capture: ClientCapture, *, keep_secrets: bool) -> Page:
    made = json.dumps(captured_har.har(capture.requests)).encode()
    try:
        return Page("captured", _native.Page.from_har(made, None, keep_secrets=keep_secrets))
    except _native.LoadstoneError as error:
        raise InputError(
            f"--page: no page can be made of the requests in this capture: {error.args[0]}"
        ) from None


def _hosts_of_requests(capture: ClientCapture) -> dict[str, set[str]]:
    """Give the addresses of the servers at which each host of the capture was."""
    hosts: dict[str, set[str]] = {}
    for request in capture.requests:
        hosts.setdefault(captured_har.authority(request), set()).add(request.connection["server"])
    return hosts


def _asked_for(capture: ClientCapture) -> dict[str, set[str]]:
    """Give the addresses of the servers that TLS was asked for, by their names."""
    hosts: dict[str, set[str]] = {}
    for name, address in capture.connections.select("server_name", "server").drop_nulls().iter_rows():
        hosts.setdefault(name, set()).add(address)
    return hosts


def _distances(page: Page, hosts: dict[str, set[str]], network: InferredNetwork) -> dict[str, float]:
    """Give the round trip to each host of the page: to the nearest of its addresses, else as a HAR says."""
    distances, captured = {}, network.round_trips_ms
    for host in {host for _, host in page.content.names_and_hosts()}:
        if known := [captured[each] for each in hosts.get(host, ()) if each in captured]:
            distances[host] = min(known)
    recorded: dict[str, float] = page.notes.get("handshakes_ms", {})
    if not distances and recorded:
        # The HAR is of another load: its hosts lie as far apart as there, the nearest where it is now.
        farther = min(captured.values()) - min(recorded.values())
        return {host: ms + farther for host, ms in recorded.items()}
    return {**recorded, **distances}
