"""Tables of the connections in captures, as Parquet files in a folder.

    capture.json              which files were read, and what was in them
    connections.parquet       a row for each connection of TCP
    exchanges.parquet         a row for each request and its response
    retransmissions.parquet   a row for each segment that was sent again
    quic.parquet              a row for each connection of QUIC
    periods.parquet           a row for each direction of a connection and each period of its life, if asked
    packets.parquet           a row for each packet of one connection, if asked; of all, for a page

Captures are read as a stream: what is open takes memory, not what has been read.
"""

import functools
import json
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone import files
from loadstone._native import LoadstoneError, PacketTables, packet_columns_json
from loadstone.captures import socket_dumps
from loadstone.captures.qlog import qlog_traces
from loadstone.captures.tables_folder import CAPTURE
from loadstone.files import STANDARD, InputError

CONNECTIONS, EXCHANGES, RETRANSMISSIONS = "connections", "exchanges", "retransmissions"
QUIC = "quic"
TABLES = (CONNECTIONS, EXCHANGES, RETRANSMISSIONS, QUIC)
PERIODS, PACKETS = "periods", "packets"
ON_DEMAND = (PERIODS, PACKETS)
SOCKETS, QLOG = "sockets", "qlog"
"""Say in the description that no packets were read, but what a kernel told of sockets, or what ends noted."""

IDLE_S = 900
"""A connection without a packet for so long is over."""
MOST_OPEN = 1_000_000
"""Connections that are open at a time."""

_PACKETS = 200_000
"""Packets between two looks at the clock."""
_ROWS = 20_000
"""Rows that are written at once."""
_ARROW = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64(), "string": pa.large_string()}

Progress = Callable[[int, int], None]


@functools.cache
def schema(table: str) -> pa.Schema:
    """Give the columns of a table; what each one is stands in its metadata."""
    columns = json.loads(packet_columns_json())[table]
    return pa.schema(
        pa.field(column["name"], _ARROW[column["kind"]], metadata={"help": column["help"]})
        for column in columns
    )


def read(
    paths: Sequence[str],
    folder: str,
    progress: Progress,
    *,
    idle_s: int = IDLE_S,
    threads: int | None = None,
    periods: bool = False,
    packets_of: int | None = None,
    keys: Sequence[str] = (),
    heads: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Read captures, in this order, into tables in a folder; give what was in them.

    `packets_of` is the number of a connection whose packets are told as well. With `heads`, which takes the
    heads of exchanges, the packets of all are: heads have secrets in them, and are not written.

    A file that is damaged or cut is read up to there; `unread` says so. Ctrl-C ends the reading: what was
    read until then is in the tables, and the interrupt goes on. `keys` are files with secrets of TLS.

    Raises:
        InputError: if a file is no capture, if the folder cannot be written, or if there is no connection of
            that number.
    """
    if told := SOCKETS if socket_dumps.are(paths) else QLOG if qlog_traces.are(paths) else None:
        if periods or keys or packets_of is not None or heads is not None:
            raise InputError(f"{paths[0]}: there are no packets in it: ask for its tables alone")
        return _read_told(paths, folder, told)
    _check(paths)
    is_page = heads is not None
    tables = PacketTables(idle_s, MOST_OPEN, threads, periods, packets_of, is_page)
    for path in keys:
        _add_keys(tables, path)
    on_demand = ((PERIODS, periods), (PACKETS, is_page or packets_of is not None))
    asked = [name for name, is_asked in on_demand if is_asked]
    with _Writers(folder, (*TABLES, *asked)) as writers:
        interrupted, unread = None, []
        try:
            unread = _read_all(paths, tables, writers, progress)
        except KeyboardInterrupt as interrupt:
            interrupted = interrupt
        more = True
        while more:
            more = tables.finish(_ROWS)
            writers.write(tables)
        if heads is not None:
            heads += json.loads(tables.take_heads_json())
        document = {"files": list(paths), **json.loads(tables.totals_json()), "unread": unread}
        document["interrupted"] = interrupted is not None
        if packets_of is not None and interrupted is None and not writers.rows[PACKETS]:
            raise InputError(
                f"connection {packets_of}: there is none of this number: take one of {CONNECTIONS}.parquet"
            )
        writers.finish(document)
    if interrupted is not None:
        if is_page:
            # No page will be made of them.
            Path(folder, f"{PACKETS}.parquet").unlink(missing_ok=True)
        raise interrupted
    return document


def _read_told(paths: Sequence[str], folder: str, told: str) -> dict[str, Any]:
    """Read in place of packets what somebody told of connections: tables as far as that reaches."""
    unread: list[dict[str, str]] = []
    if told == SOCKETS:
        rows = {CONNECTIONS: socket_dumps.rows(paths), EXCHANGES: []}
    else:
        from loadstone.captures.qlog import qlog_rows

        found = qlog_rows.rows(paths)
        rows, unread = {CONNECTIONS: found.connections, EXCHANGES: found.exchanges}, found.unread
    totals = json.loads(PacketTables(IDLE_S, 1, 1).totals_json())
    document = {"files": list(paths), **totals, "connections": len(rows[CONNECTIONS]), "unread": unread}
    document |= {"interrupted": False, told: True}
    with _Writers(folder, TABLES) as writers:
        for table, of_table in rows.items():
            writers.write_rows(table, _from_rows(of_table, schema(table)))
        writers.finish(document)
    return document


def _from_rows(rows: Sequence[dict[str, Any]], fields: pa.Schema) -> pa.Table:
    """Make a table of rows; columns that they do not have are missing."""
    whole = [field.name for field in fields if field.type == pa.int64()]
    of_table = [row | {name: int(row[name]) for name in whole if row.get(name) is not None} for row in rows]
    return pa.Table.from_pylist(of_table, fields)


def _check(paths: Sequence[str]) -> None:
    """Refuse what is no capture before anything is read."""
    for path in paths:
        if path != STANDARD:
            _open(PacketTables(IDLE_S, 1, 1), path)


def _add_keys(tables: PacketTables, path: str) -> None:
    try:
        tables.add_keys(files.read(path))
    except LoadstoneError as error:
        raise InputError(f"{path}: {error.args[0]}") from None


def _open(tables: PacketTables, path: str) -> None:
    try:
        tables.open(path)
    except LoadstoneError as error:
        raise InputError(f"{path}: {error.args[0]}") from None


def _read_all(
    paths: Sequence[str], tables: PacketTables, writers: "_Writers", progress: Progress
) -> list[dict[str, str]]:
    """Read all files; give which of them could not be read to the end, and why."""
    sizes = [0 if path == STANDARD else Path(path).stat().st_size for path in paths]
    unread = []
    for number, path in enumerate(paths):
        _open(tables, path)
        before, more = sum(sizes[:number]), True
        while more:
            try:
                more = tables.read(_PACKETS)
            except LoadstoneError as error:
                more = False
                unread.append({"file": path, "why": error.args[0]})
            if tables.rows() >= _ROWS:
                writers.write(tables)
            progress(before + tables.position(), sum(sizes))
    return unread


class _Writers:
    """The files of a folder while they are written: they get their names when all of them are complete."""

    def __init__(self, folder: str, tables: Sequence[str]) -> None:
        self._folder, self._tables = Path(folder), tables
        self._mark = f".loadstone-{secrets.token_hex(6)}"
        self._writers: dict[str, pq.ParquetWriter] = {}
        self.rows = dict.fromkeys(tables, 0)
        """How many were written, by table."""

    def __enter__(self) -> "_Writers":
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for table in self._tables:
                self._writers[table] = pq.ParquetWriter(self._part(table), schema(table), compression="zstd")
        except OSError as error:
            self.__exit__()
            raise InputError(f"{self._folder}: {error.strerror or error}: give another -o") from None
        return self

    def _part(self, table: str) -> Path:
        return self._folder / f"{self._mark}-{table}.part"

    def write(self, tables: PacketTables) -> None:
        """Write the rows that are there."""
        for table in self._writers:
            parts = (_table(table, part) for part in tables.take(table))
            self.write_rows(table, pa.concat_tables(parts))

    def write_rows(self, table: str, rows: pa.Table) -> None:
        """Write rows of one table."""
        if rows.num_rows:
            self._writers[table].write_table(rows)
            self.rows[table] += rows.num_rows

    def finish(self, document: dict[str, Any]) -> None:
        """Give all files their names, and say last what they are."""
        for table, writer in self._writers.items():
            writer.close()
            self._part(table).replace(self._folder / f"{table}.parquet")
        # Those of other captures would be taken for these ones'.
        for table in {*ON_DEMAND} - {*self._writers}:
            (self._folder / f"{table}.parquet").unlink(missing_ok=True)
        description = self._part(CAPTURE)
        description.write_text(json.dumps(document, indent=2) + "\n")
        description.replace(self._folder / CAPTURE)

    def __exit__(self, *_: object) -> None:
        for table, writer in self._writers.items():
            writer.close()
            self._part(table).unlink(missing_ok=True)
        self._part(CAPTURE).unlink(missing_ok=True)


def _table(name: str, columns: Sequence[tuple[str, bytes, bytes, bytes | None]]) -> pa.Table:
    """Make a table of the buffers of its columns, without a copy."""
    fields = schema(name)
    rows = _rows(fields, columns)
    arrays = [
        pa.Array.from_buffers(
            field.type,
            rows,
            [pa.py_buffer(known), *([] if ends is None else [pa.py_buffer(ends)]), pa.py_buffer(values)],
        )
        for field, (_, known, values, ends) in zip(fields, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=fields)


def _rows(fields: pa.Schema, columns: Sequence[tuple[str, bytes, bytes, bytes | None]]) -> int:
    """Give how many rows there are: by a column of which each value takes eight bytes."""
    first = next(at for at, field in enumerate(fields) if field.type == pa.int64())
    return len(columns[first][2]) // 8


def document(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Give what `read` said of the tables in a folder.

    Raises:
        InputError: if there are none.
    """
    path = Path(folder) / CAPTURE
    try:
        said: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        raise InputError(
            f"{folder}: there are no tables of captures: loadstone capture FILE -o {folder}"
        ) from None
    return said
