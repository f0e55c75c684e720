"""What a capture has of one page load of one client: connections, requests with their heads, packets."""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from loadstone import text
from loadstone.captures import tables
from loadstone.files import InputError

SILENCE_MS = 10_000.0
"""Where requests do not say that they navigate, another page begins after so long without any."""
_MARGIN_MS = 1_000.0
"""Packets belong to a page from so long before its first request, at most, until so long after its last."""
_MOST_NAMED = 5
"""As many clients are named in an error."""
_OWN_PREFIX = 64
"""Addresses of IPv6 that a machine gives itself have so many bits in common (RFC 4291, section 2.5.1)."""


@dataclass(frozen=True)
class CapturedRequest:
    """A request with its response, as it was captured."""

    exchange: dict[str, Any]
    """Its row of `exchanges.parquet`."""
    connection: dict[str, Any]
    """The row of its connection."""
    request: list[tuple[str, str]]
    """The fields of its head, with HTTP/2's pseudo-fields."""
    response: list[tuple[str, str]]
    request_head_bytes: int
    response_head_bytes: int

    @property
    def sent_ms(self) -> float:
        """Give when it was sent, in ms since 1970."""
        sent: float = self.exchange["request_ms"]
        return sent

    @property
    def answered_ms(self) -> float | None:
        """Give when the first of the response was there, in ms since 1970."""
        wait: float | None = self.exchange["response_wait_ms"]
        return None if wait is None else self.sent_ms + (self.exchange["request_time_ms"] or 0.0) + wait

    @property
    def ended_ms(self) -> float:
        """Give when the last of the response was there; of the request, where there is none."""
        exchange = self.exchange
        parts = ("request_time_ms", "response_wait_ms", "response_time_ms")
        return self.sent_ms + sum(exchange[part] or 0.0 for part in parts)

    def field(self, name: str) -> str | None:
        """Give the first value of a field of the request."""
        return next((value for own, value in self.request if own == name), None)

    @property
    def navigates(self) -> bool:
        """Whether the browser says that it goes to another page by it (Fetch Metadata)."""
        return self.field("sec-fetch-mode") == "navigate" and self.field("sec-fetch-dest") == "document"


@dataclass(frozen=True)
class ClientCapture:
    """What was captured at one client."""

    clients: tuple[str, ...]
    """Its addresses."""
    connections: pl.DataFrame
    """Of the page, in the order of the capture."""
    requests: list[CapturedRequest]
    """In the order in which they were sent; none where only a HAR beside the capture has them."""
    packets: pl.DataFrame
    """Of these connections, in the order of time."""
    pages: int
    """How many page loads the capture has of the client."""
    unread: int
    """Connections of the client with data, of whose requests nothing can be read."""

    @classmethod
    def read(
        cls,
        folder: str,
        heads: Sequence[dict[str, Any]],
        named: Sequence[str],
        page: int | None,
        *,
        readable: bool = True,
    ) -> "ClientCapture":
        """Take a client's page out of the tables in a folder and the heads of exchanges.

        `readable` asks for requests that can be read.

        Raises:
            InputError: if it was not captured at a client, if there are several and none was named, or if no
                request can be read.
        """
        connections = client_connections(folder, named, "--page")
        clients = tuple(connections["client"].unique(maintain_order=True).to_list())
        requests = _requests(folder, heads, connections)
        spoken = {request.connection["connection"] for request in requests}
        silent = connections.filter((pl.col("bytes_down") > 0) & ~pl.col("connection").is_in(spoken))
        if readable and not requests:
            raise InputError(_why_unread(connections))
        pages = page_loads(requests)
        if page is not None and not 1 <= page <= max(len(pages), 1):
            raise InputError(f"--page-number {page}: the capture has {text.count(len(pages), 'page load')}")
        chosen = pages[(page or 1) - 1] if pages else []
        if readable:
            connections = connections.filter(
                pl.col("connection").is_in({each.connection["connection"] for each in chosen})
            )
        packets = _packets(folder, connections, chosen if readable else [])
        return cls(clients, connections, chosen, packets, len(pages), silent.height)


def _table(folder: str, name: str) -> pl.DataFrame:
    return pl.read_parquet(Path(folder) / f"{name}.parquet")


def client_connections(folder: str, named: Sequence[str], option: str) -> pl.DataFrame:
    """Give a client's connections in a folder of tables, in the order of the capture, for an option's sake.

    Raises:
        InputError: if it was not captured at a client, or if there are several and none was named.
    """
    connections = _of_client(_table(folder, tables.CONNECTIONS).sort("connection"), named, option)
    _check_side(connections, option)
    return connections


def _of_client(connections: pl.DataFrame, named: Sequence[str], option: str) -> pl.DataFrame:
    """Give the connections of the client that is meant: of the only one, if none is named."""
    with_data = connections.filter(pl.col("bytes_down") > 0)
    if with_data.is_empty():
        raise InputError(f"{option}: no server sent anything in this capture: capture a page load")
    amounts = with_data.group_by("client").agg(pl.len().alias("connections"), pl.col("bytes_down").sum())
    amounts = amounts.sort("bytes_down", "client", descending=[True, False])
    said = ", ".join(
        f"{address} ({text.count(count, 'connection')}, {text.size(size)})"
        for address, count, size in amounts.head(_MOST_NAMED).iter_rows()
    )
    for address in named:
        if connections.filter(pl.col("client") == address).is_empty():
            raise InputError(f"--client {address}: the capture has no connection of it: take one of {said}")
    addresses = list(named) or amounts["client"].to_list()
    if not named and not are_one(addresses):
        many = text.count(len(addresses), "client")
        remedy = (
            "name one by --client, for instance of" if option == "--page" else "give captures of one, not of"
        )
        raise InputError(f"{option}: the capture has {many}: {remedy} {said}")
    return connections.filter(pl.col("client").is_in(addresses))


def are_one(addresses: Iterable[str]) -> bool:
    """Say whether addresses may be those of one machine: one of IPv4, and of IPv6 those of one network."""
    networks = {
        ipaddress.ip_network((address, _OWN_PREFIX if ":" in address else 32), strict=False)
        for address in addresses
    }
    versions = [network.version for network in networks]
    return len(versions) == len(set(versions))


def _check_side(connections: pl.DataFrame, option: str) -> None:
    """Refuse what was not captured at the client."""
    sides = connections["captured_at"].drop_nulls().value_counts(sort=True)
    if sides.is_empty() or sides["captured_at"][0] == "client":
        return
    side, count = sides.row(0)
    where = "at the server" if side == "server" else "between client and server"
    known = int(sides["count"].sum())
    raise InputError(
        f"{option}: captured {where}, as {count} of {text.count(known, 'handshake')} show: what reached the "
        "client, and when, is not in it: capture at the client"
    )


def _why_unread(connections: pl.DataFrame) -> str:
    secret = connections.filter(pl.col("server_port") == 443).height
    if secret:
        return (
            f"--page: no request can be read, since {text.count(secret, 'connection')} went through TLS: "
            "give its secrets by --keys (SSLKEYLOGFILE) and whole packets (tcpdump -s 0), or a HAR of the "
            "load by --har"
        )
    return (
        "--page: no request can be read: the capture has no heads of HTTP: capture whole packets "
        "(tcpdump -s 0), or give a HAR of the load by --har"
    )


def _requests(
    folder: str, heads: Sequence[dict[str, Any]], connections: pl.DataFrame
) -> list[CapturedRequest]:
    """Give the client's requests that can be read, in the order in which they were sent."""
    rows = {row["connection"]: row for row in connections.iter_rows(named=True)}
    exchanges = _table(folder, tables.EXCHANGES)
    exchanges = exchanges.filter(pl.col("connection").is_in([*rows]))
    by_place = {(row["connection"], row["exchange"]): row for row in exchanges.iter_rows(named=True)}
    found = [
        CapturedRequest(
            by_place[place],
            rows[place[0]],
            [(name, value) for name, value in each["request"]],
            [(name, value) for name, value in each["response"]],
            each["request_head_bytes"],
            each["response_head_bytes"],
        )
        for each in heads
        if (place := (each["connection"], each["exchange"])) in by_place
        and by_place[place]["method"] != "CONNECT"
    ]
    return sorted(
        found, key=lambda each: (each.sent_ms, each.exchange["connection"], each.exchange["exchange"])
    )


def page_loads(requests: Sequence[CapturedRequest]) -> list[list[CapturedRequest]]:
    """Cut requests into page loads: where the browser says that it navigates, else where it was silent."""
    says = any(request.navigates for request in requests)
    pages: list[list[CapturedRequest]] = []
    until = float("-inf")
    for request in requests:
        if says:
            # Redirects of a navigation are navigations too.
            begins = request.navigates and not (pages and all(_is_redirect(each) for each in pages[-1]))
        else:
            begins = request.sent_ms - until > SILENCE_MS
        if begins or not pages:
            pages.append([])
        pages[-1].append(request)
        until = max(until, request.ended_ms)
    return pages


def _is_redirect(request: CapturedRequest) -> bool:
    return 300 <= (request.exchange["status"] or 0) < 400


def _packets(folder: str, connections: pl.DataFrame, requests: Sequence[CapturedRequest]) -> pl.DataFrame:
    """Give the packets of connections while a page was loaded; all, where no request says when."""
    # A capture may have more packets than there is memory for.
    packets = pl.scan_parquet(Path(folder) / f"{tables.PACKETS}.parquet")
    packets = packets.filter(pl.col("connection").is_in(connections["connection"].to_list()))
    if requests:
        first = min(each.sent_ms for each in requests)
        opened = connections.filter(pl.col("start_ms") >= first - SILENCE_MS)["start_ms"].min()
        begin = min(first - _MARGIN_MS, opened if isinstance(opened, float) else first)
        end = max(each.ended_ms for each in requests) + _MARGIN_MS
        packets = packets.filter(pl.col("at_ms").is_between(begin, end))
    return packets.collect().sort("at_ms", maintain_order=True)
