"""Fetching URLs from real servers: what is wanted, the wait for it, and the table of what came."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from loadstone import _native, text
from loadstone._native import Fetch, LoadstoneError, Stopper
from loadstone.files import InputError

_MOMENT = 0.05
"""Seconds that Ctrl-C may wait."""
_SHOWN = 100
"""Lines of the table at most, and of failures beyond it."""
_SHA_SHOWN = 12
_URL_SHOWN = 70

Document = dict[str, Any]
T = TypeVar("T")


def listed(path: str) -> tuple[str, str]:
    """Give what a list of URLs is called, and its text."""
    return path, content(path).decode(errors="replace")


def content(path: str) -> bytes:
    """Read a file as it is; `-` is standard input."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read ({why.lower()})") from None


@dataclass(frozen=True)
class Fetched:
    """What came, and whether that is all because the user had enough."""

    came: Fetch
    interrupted: bool


def fetch(wanted: Document, data: bytes | None = None, cacert: bytes | None = None) -> Fetched:
    """Fetch what is wanted, by the fields of `Wanted` in crates/py; Ctrl-C ends it with what has come."""
    return Fetched(*until_stopped(lambda stopper: _native.fetch(json.dumps(wanted), stopper, data, cacert)))


def until_stopped(work: Callable[[Stopper], T]) -> tuple[T, bool]:
    """Do something in the engine that Ctrl-C ends with what has come, and say whether it did."""
    stopper = Stopper()
    interrupted = False
    # On a thread of its own: Ctrl-C reaches Python's first one only when that is not in the engine.
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(work, stopper)
        while not begun.done():
            try:
                wait([begun], _MOMENT)
            except KeyboardInterrupt:
                interrupted = True
                stopper.stop()
    try:
        return begun.result(), interrupted
    except LoadstoneError as error:
        raise InputError(error.args[0]) from None


def table(came: Fetch) -> str:
    """Write what came as a table, a line for each connection, and what it came to."""
    document = json.loads(came.to_json(_SHOWN))
    responses, connections = document["responses"], document["connections"]
    room = max(20, text.width() - 78)
    rows = [["url", "status", "bytes", "sha256", "conn", "asked", "sent", "first byte", "last byte"]]
    lines = [text.table([*rows, *(_row(response, room) for response in responses)])]
    if len(responses) < came.responses:
        lines.append(f"... and {came.responses - len(responses):,} more: --json has them all")
    for response in responses:
        if response["failure"]:
            lines.append(
                f"failed: {_words(response['url'], _URL_SHOWN)}: {text.printable(response['failure'])}"
            )
    lines += ["", *map(_connection, connections[:_SHOWN])] if connections else []
    if len(connections) > _SHOWN:
        lines.append(f"... and {len(connections) - _SHOWN:,} more connections")
    return "\n".join([*lines, "", _sum(came, document)])


def _row(response: Document, room: int) -> list[str]:
    marks = [response[mark] for mark in ("asked_ms", "sent_ms", "first_byte_ms", "last_byte_ms")]
    url = _words(response["url"], room - 2 if response["pushed"] else room)
    return [
        f"+ {url}" if response["pushed"] else url,
        "-" if response["status"] is None else str(response["status"]),
        f"{response['bytes']:,}",
        (response["sha256"] or "-")[:_SHA_SHOWN],
        "-" if response["connection"] is None else str(response["connection"]),
        *("-" if mark is None else f"{mark:,.1f}" for mark in marks),
    ]


def _connection(connection: Document) -> str:
    tls = f"TLS {connection['tls']}" if connection["tls"] else "no TLS"
    origin = _words(connection["origin"], _URL_SHOWN)
    said = f"connection {connection['conn']}: {origin} at {connection['address']}"
    if connection["established_ms"] is not None:
        said += f", {connection['protocol']}, {tls}, established at {connection['established_ms']:,.1f} ms"
        said += f", {text.size(connection['sent_bytes'])} sent"
    if connection["round_trip_ms"] is not None:
        said += f", PING {connection['round_trip_ms']:,.2f} ms"
    return said + (f"; {text.printable(connection['failure'])}" if connection["failure"] else "")


def _sum(came: Fetch, document: Document) -> str:
    whole = came.responses - came.failed
    said = f"{text.count(whole, 'response')}, {came.failed:,} failed"
    if not whole:
        return f"{said} in {text.ms(document['elapsed_ms'])}"
    return (
        f"{said}, {text.size(came.bytes)} in {text.ms(document['elapsed_ms'])}:"
        f" {document['requests_per_second']:,.0f} a second, {text.ms(document['cpu_ms'])} of the processor"
    )


def _words(words: str, room: int) -> str:
    return text.printable(text.shorten(words, room))
