"""What a client's capture says of the servers of a page, for surveys: how busy each was, and how far."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from loadstone.captures import tables
from loadstone.captures.client_capture import client_connections


@dataclass(frozen=True)
class CapturedServer:
    """A server of a page, by its name where that is known, else by its address."""

    name: str
    addresses: tuple[str, ...]
    requests: int
    """Requests that were answered; under TLS that was not decrypted, turns."""
    bytes: int
    """Bytes of data, both ways."""
    rtt_ms: float | None
    """The least handshake, else the least from data to its acknowledgement."""


def captured_servers(folder: str) -> tuple[list[CapturedServer], float | None]:
    """Give the servers in a folder of tables in the order of the capture, and how long all took, in ms.

    Raises:
        InputError: if it was not captured at one client.
    """
    connections = client_connections(folder, (), "--survey")
    exchanges = pl.read_parquet(Path(folder) / f"{tables.EXCHANGES}.parquet")
    exchanges = exchanges.filter("answered" if exchanges.height else pl.lit(value=True))
    ends = exchanges.filter(pl.col("connection").is_in(connections["connection"].to_list()))
    counts = ends.group_by("connection").agg(pl.len().alias("requests"))
    named = connections.with_columns(name=_names(folder, connections))
    rows = named.join(counts, on="connection", how="left", maintain_order="left")
    grouped = rows.group_by("name", maintain_order=True).agg(
        pl.col("server").unique(maintain_order=True).alias("addresses"),
        pl.col("requests").fill_null(0).sum(),
        (pl.col("bytes_down") + pl.col("bytes_up")).sum().alias("bytes"),
        pl.coalesce(pl.col("server_handshake_ms").min(), pl.col("rtt_min_ms_up").min()).alias("rtt_ms"),
    )
    servers = [
        CapturedServer(row["name"], tuple(row["addresses"]), row["requests"], row["bytes"], row["rtt_ms"])
        for row in grouped.filter(pl.col("bytes") > 0).iter_rows(named=True)
    ]
    return servers, _duration(connections, ends)


def _names(folder: str, connections: pl.DataFrame) -> pl.Series:
    """Name each connection's server: as TLS was asked for it, else as the page that was made calls it."""
    page: dict[str, Any] = tables.document(folder).get("page", {})
    hosts = {address: host for host, addresses in page.get("hosts", {}).items() for address in addresses}
    rows = connections.select("server_name", "server").iter_rows()
    return pl.Series([name or hosts.get(server, server) for name, server in rows], dtype=pl.String)


def _duration(connections: pl.DataFrame, exchanges: pl.DataFrame) -> float | None:
    parts = ("request_time_ms", "response_wait_ms", "response_time_ms")
    ended = exchanges.select(pl.sum_horizontal("request_ms", *parts).max()).item()
    begun = connections.filter(pl.col("bytes_down") > 0)["start_ms"].min()
    return float(ended) - float(begun) if ended is not None and isinstance(begun, float) else None
