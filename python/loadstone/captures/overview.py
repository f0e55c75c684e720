"""What a folder of tables says at first sight: how much there was, round trips, what was sent again."""

from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from loadstone import text
from loadstone.captures.tables import CONNECTIONS, QLOG, SOCKETS

_QUANTILES = (0.1, 0.5, 0.9, 0.99)
_DISTRIBUTED = {
    "rtt_ms": "rtt_mean_ms_down",
    "server_rtt_ms": "rtt_mean_ms_up",
    "bytes_down": "bytes_down",
    "duration_ms": "duration_ms",
}
_COUNTS = ("data_packets", "data_bytes", "retransmitted_packets", "retransmitted_bytes", "spurious")
_CAUSES = {
    "fast": "acknowledgements showed a loss",
    "tail_loss_probes": "tail loss probes",
    "timeouts": "timeouts",
    "syn_retransmissions": "of SYNs",
}


def overview(folder: str) -> dict[str, Any]:
    """Give the counts and quantiles of the connections in a folder."""
    both_ways = {name: [f"{name}_{way}" for way in ("up", "down")] for name in (*_COUNTS, *_CAUSES)}
    columns = ["captured_at", *chain(*both_ways.values()), *_DISTRIBUTED.values()]
    # `read_table` would load pandas, where that is installed.
    connections = pq.ParquetFile(Path(folder) / f"{CONNECTIONS}.parquet").read(columns)
    sides = pc.value_counts(connections["captured_at"].drop_null()).to_pylist()
    return {
        **{name: sum(pc.sum(connections[way]).as_py() or 0 for way in both_ways[name]) for name in both_ways},
        "captured_at": {
            side["values"]: side["counts"] for side in sorted(sides, key=lambda side: -side["counts"])
        },
        "quantiles": {name: _quantiles(connections[column]) for name, column in _DISTRIBUTED.items()},
    }


def _quantiles(values: pa.ChunkedArray) -> dict[str, float | None]:
    found = pc.quantile(values, list(_QUANTILES)).to_pylist()
    return {f"p{share * 100:g}": value for share, value in zip(_QUANTILES, found, strict=True)}


def in_words(read: dict[str, Any], summed: dict[str, Any]) -> str:
    """Show what was read, and what it says."""
    lines = [text.shorten(text.harmless(comment), 200) for comment in read["comments"]]
    if read.get(SOCKETS):
        lines += _sockets(read)
    elif read.get(QLOG):
        lines += _traces(read, summed)
    else:
        lines += _packets(read, summed)
    lines += ["", *_distributions(summed["quantiles"]), "", *_again(summed)]
    return "\n".join(lines)


def _sockets(read: dict[str, Any]) -> list[str]:
    files, connections = text.count(len(read["files"]), "file"), text.count(read["connections"], "connection")
    return [f"{files} that `ss` printed; {connections} of TCP, each as it was told of last"]


def _traces(read: dict[str, Any], summed: dict[str, Any]) -> list[str]:
    files, connections = text.count(len(read["files"]), "file"), text.count(read["connections"], "connection")
    by = " and ".join(f"{count:,} at the {side}" for side, count in sorted(summed["captured_at"].items()))
    return [f"{files} of qlog; {connections}" + (f", noted {by}" if by else "")]


def _packets(read: dict[str, Any], summed: dict[str, Any]) -> list[str]:
    seconds = ((read["end_ms"] or 0) - (read["start_ms"] or 0)) / 1e3
    lines = [
        f"{text.count(len(read['files']), 'file')}, {text.count(read['packets'], 'packet')}, "
        f"{text.size(read['bytes'])} in {seconds:,.1f} s; "
        f"{text.count(read['connections'], 'connection')} of TCP "
        f"with {text.count(read['tcp_packets'], 'packet')}"
    ]
    if read["quic_connections"]:
        lines.append(
            f"{text.count(read['quic_connections'], 'connection')} of QUIC "
            f"with {text.count(read['quic_packets'], 'datagram')}"
        )
    if summed["captured_at"]:
        side, count = next(iter(summed["captured_at"].items()))
        known = sum(summed["captured_at"].values())
        where = "in between" if side == "between" else f"at the {side}"
        lines.append(f"captured {where}, as {count:,} of {known:,} handshakes show")
    return lines


def _distributions(quantiles: dict[str, dict[str, float | None]]) -> list[str]:
    said = {
        "rtt_ms": "round trip to the client, ms",
        "server_rtt_ms": "round trip to the server, ms",
        "bytes_down": "bytes to the client",
        "duration_ms": "duration, ms",
    }
    rows = [["of connections", *next(iter(quantiles.values()))]]
    rows += [[said[name], *(_shown(name, value) for value in of.values())] for name, of in quantiles.items()]
    return text.table(rows).splitlines()


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return text.size(round(value)) if name.startswith("bytes") else f"{value:,.1f}"


def _again(summed: dict[str, Any]) -> list[str]:
    packets, again = summed["data_packets"], summed["retransmitted_packets"]
    share = 100 * again / packets if packets else 0.0
    causes = ", ".join(f"{summed[name]:,} {said}" for name, said in _CAUSES.items())
    return [
        f"sent again: {again:,} of {text.count(packets, 'packet')} with data ({share:.2f} %)",
        f"  {causes}; {summed['spurious']:,} for nothing, as the receivers say",
    ]
