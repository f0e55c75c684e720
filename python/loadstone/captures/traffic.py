"""What captures say of a server's users, as section 3 of `yahoo` does: distributions, groups of clients."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from loadstone.captures import tables
from loadstone.captures.places import Places
from loadstone.files import InputError

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
PREFIX, SERVER = "prefix", "server"
_PREFIX_LENGTHS = {4: 24, 6: 48}
MOST_GROUPS = 100
"""Groups that are told of: those with most connections."""

_KNEE_WIDTH = 1.02
"""Durations within two percent are alike."""
_KNEE_SHARE = 0.01
_KNEE_TIMES_MORE = 5
"""A knee has this share of connections at least, and so many times more than its neighbours."""

DISTRIBUTIONS = {
    "rtt_ms": "round trip, ms",
    "bytes_down": "bytes to the client",
    "duration_ms": "duration, ms",
    "retransmitted_pct": "sent again, % of packets",
    "requests": "requests of a connection",
    "response_bytes": "bytes of a response",
    "gap_ms": "gap before a request, ms",
    "transfer_rtts": "a response in round trips",
    "first_transfer_rtts": "the first response in round trips",
}
"""What is told as a distribution, in words."""


@dataclass(frozen=True)
class Traffic:
    """What there is in a folder of tables."""

    connections: pl.DataFrame
    """A row for each, with `rtt_ms`, `retransmitted_pct`, `requests`, `prefix` and what is known of it."""
    exchanges: pl.DataFrame
    """A row for each that was answered, with its connection's `rtt_ms` and `rto_ms`, and `transfer_rtts`."""
    places: tuple[str, ...]
    """What is known of clients: columns of the user's tables."""
    comments: tuple[str, ...] = ()
    """What the captures say of themselves."""

    @classmethod
    def read(cls, folder: str, networks: Sequence[str] = ()) -> "Traffic":
        """Read the tables in a folder, and what the user knows of networks.

        Raises:
            InputError: if a table is missing or damaged.
        """
        places = Places.read(networks)
        connections = _with_places(_derived(table(folder, tables.CONNECTIONS)), places)
        exchanges = table(folder, tables.EXCHANGES).filter("answered")
        counts = exchanges.group_by("connection").agg(pl.len().alias("requests"))
        connections = connections.join(counts, on="connection", how="left", maintain_order="left")
        of_connection = connections.select("connection", "rtt_ms", "rto_ms", "initial_window_down")
        exchanges = exchanges.join(of_connection, on="connection", how="left", maintain_order="left")
        exchanges = exchanges.with_columns(transfer_rtts=pl.col("response_time_ms") / pl.col("rtt_ms"))
        comments = tables.document(folder).get("comments", [])
        return cls(connections, exchanges, tuple(places.columns), tuple(comments))

    def values(self) -> dict[str, pl.Series]:
        """Give what is told as distributions, by name."""
        first = self.exchanges.filter(pl.col("exchange") == 1)
        of_connections = ("rtt_ms", "bytes_down", "duration_ms", "retransmitted_pct", "requests")
        of_exchanges = ("response_bytes", "gap_ms", "transfer_rtts")
        return {
            **{name: self.connections[name] for name in of_connections},
            **{name: self.exchanges[name] for name in of_exchanges},
            "first_transfer_rtts": first["transfer_rtts"],
        }

    def document(self, by: str | None = None) -> dict[str, Any]:
        """Give all figures; groups of clients by a column, by prefix if none is given."""
        return {
            "comments": list(self.comments),
            "connections": self.connections.height,
            "exchanges": self.exchanges.height,
            "distributions": {name: quantiles(values) for name, values in self.values().items()},
            "shares": self.shares(),
            "knees": knees(self.connections["duration_ms"]),
            "windows": self.windows().to_dicts(),
            "by": by or PREFIX,
            "groups": self.groups(by or PREFIX).to_dicts(),
        }

    def shares(self) -> dict[str, float | None]:
        """Give the shares that the study names, in percent."""
        connections, exchanges = self.connections, self.exchanges
        bodies = exchanges["response_bytes"]
        gaps = exchanges["gap_ms"].drop_nulls()
        large = bodies.filter(bodies >= 60_000)
        beyond_rto = exchanges.select(pl.col("gap_ms") > pl.col("rto_ms")).to_series().drop_nulls()
        again = connections["retransmitted_pct"].drop_nulls()
        return {
            "connections_rtt_400_ms_or_more": _percent(connections["rtt_ms"].drop_nulls() >= 400),
            "connections_below_64_kb": _percent(connections["bytes_down"] < 64_000),
            "connections_nothing_sent_again": _percent(again == 0),
            "connections_over_10_pct_sent_again": _percent(again > 10),
            "connections_with_one_request": _percent(connections["requests"].drop_nulls() == 1),
            "responses_below_25_kb": _percent(bodies < 25_000),
            "responses_60_kb_or_more": _percent(bodies >= 60_000),
            "bytes_in_responses_60_kb_or_more": _share(large.sum(), bodies.sum()),
            "gaps_below_1_s": _percent(gaps < 1_000),
            "gaps_above_rto": _percent(beyond_rto),
        }

    def windows(self) -> pl.DataFrame:
        """Give how long responses took in round trips, by the initial window where it is known."""
        known = self.exchanges.drop_nulls(["initial_window_down", "transfer_rtts"])
        first = pl.col("transfer_rtts").filter(pl.col("exchange") == 1)
        again = pl.col("retransmitted_packets").sum()
        return (
            known.group_by(pl.col("initial_window_down").alias("initial_window"))
            .agg(
                pl.len().alias("responses"),
                pl.col("transfer_rtts").median().alias("p50_rtts"),
                pl.col("transfer_rtts").quantile(0.8, "linear").alias("p80_rtts"),
                first.quantile(0.8, "linear").alias("first_p80_rtts"),
                again.alias("retransmitted_packets"),
            )
            .sort("initial_window")
        )

    def groups(self, by: str) -> pl.DataFrame:
        """Give round trips and what was sent again, by group of clients: those with most connections.

        Raises:
            InputError: if there is no such column.
        """
        if by not in (known := (PREFIX, SERVER, *self.places)):
            raise InputError(f"--by {by}: not known of these connections: {', '.join(known)}")
        spread = [
            pl.col(column).quantile(share, "linear").alias(f"{column}_p{share * 100:g}")
            for column in ("rtt_ms", "retransmitted_pct")
            for share in (0.1, 0.5, 0.9)
        ]
        grouped = self.connections.group_by(pl.col(by).alias("group")).agg(
            pl.len().alias("connections"), *spread
        )
        return grouped.sort(["connections", "group"], descending=[True, False]).head(MOST_GROUPS)


def quantiles(values: pl.Series) -> dict[str, float | None]:
    """Give count, mean and quantiles of values; those that are not known are left out."""
    known = values.drop_nulls()
    spread = {f"p{share * 100:g}": known.quantile(share, "linear") for share in QUANTILES}
    mean = known.mean()
    return {"count": known.len(), "mean": float(mean) if isinstance(mean, int | float) else None, **spread}


def knees(durations_ms: pl.Series) -> list[dict[str, float]]:
    """Give durations that far more connections have than others near them: time-outs of servers, mostly.

    Durations are put into classes of two percent; a knee is a class with a hundredth of all connections, and
    with five times as many as the mean of the four classes around it.
    """
    known = durations_ms.filter(durations_ms >= 100)
    classes = (known.log(_KNEE_WIDTH)).floor().cast(pl.Int64)
    counts = {int(at): int(count) for at, count in classes.value_counts().iter_rows()}
    found = []
    for at, count in sorted(counts.items()):
        around = [counts.get(at + away, 0) for away in (-3, -2, 2, 3)]
        # What falls between two classes is in both.
        if (
            count >= max(counts.get(at - 1, 0), counts.get(at + 1, 0))
            and count > _KNEE_TIMES_MORE * sum(around) / 4
        ):
            within = count + counts.get(at - 1, 0) + counts.get(at + 1, 0)
            if within >= _KNEE_SHARE * durations_ms.len():
                found.append(
                    {"duration_ms": _KNEE_WIDTH ** (at + 0.5), "pct": 100 * within / durations_ms.len()}
                )
    return found


def table(folder: str, name: str) -> pl.DataFrame:
    """Read a table of a folder.

    Raises:
        InputError: if it is missing, damaged or of another version.
    """
    path, remedy = Path(folder) / f"{name}.parquet", "make the tables again: loadstone capture"
    try:
        found = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path}: missing or damaged: {remedy}") from None
    if missing := [column for column in tables.schema(name).names if column not in found.columns]:
        raise InputError(f"{path}: of another version, without {missing[0]}: {remedy}")
    return found


def _derived(connections: pl.DataFrame) -> pl.DataFrame:
    """Add what follows: the whole round trip, the RTO, and which part of packets was sent again."""
    to_client, to_server = pl.col("rtt_mean_ms_down"), pl.col("rtt_mean_ms_up")
    # At an end, what the other direction measures is how long that end took to answer.
    rtt = (
        pl.when(pl.col("captured_at") == "server")
        .then(to_client)
        .when(pl.col("captured_at") == "client")
        .then(to_server)
        .otherwise(to_client + to_server)
    )
    deviation = pl.max_horizontal("rtt_deviation_ms_down", "rtt_deviation_ms_up").fill_null(0)
    again = 100 * pl.col("retransmitted_packets_down") / pl.col("data_packets_down")
    return connections.with_columns(
        rtt_ms=rtt,
        # As the study has it: without a floor.
        rto_ms=rtt + 4 * deviation,
        retransmitted_pct=pl.when(pl.col("data_packets_down") > 0).then(again),
    )


def _with_places(connections: pl.DataFrame, places: Places) -> pl.DataFrame:
    # Traces of qlog need not say whose they are.
    clients = connections["client"].drop_nulls().unique(maintain_order=True).to_list()
    known = [{"client": client, PREFIX: _prefix(client), **places.of(client)} for client in clients]
    schema = dict.fromkeys(("client", PREFIX, *places.columns), pl.String)
    return connections.with_columns(pl.col("client").cast(pl.String)).join(
        pl.DataFrame(known, schema=schema), on="client", how="left", maintain_order="left"
    )


def _prefix(address: str) -> str:
    version = ipaddress.ip_address(address).version
    return str(ipaddress.ip_network(f"{address}/{_PREFIX_LENGTHS[version]}", strict=False))


def _percent(holds: pl.Series) -> float | None:
    return _share(holds.sum(), holds.len())


def _share(part: float | Decimal, whole: float | Decimal) -> float | None:
    return 100 * float(part) / float(whole) if whole else None
