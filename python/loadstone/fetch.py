"""Fetching URLs from real servers: what is wanted, the wait for it, and the table of what came."""

import ipaddress
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Priority:
    """How urgent a response is: 0, the most urgent, to 7; incremental if its pieces are of use."""

    urgency: int = 3
    incremental: bool = False

    @classmethod
    def parse(cls, written: str) -> "Priority":
        """Read `U` or `Ui`."""
        digits = written.removesuffix("i")
        if digits not in list("01234567"):
            raise InputError(f"'{written}' is no priority: write 0 (most urgent) to 7, and i if incremental")
        return cls(int(digits), written.endswith("i"))


def urls(given: Sequence[str], priorities: Sequence[str], listed: str | None) -> list[tuple[str, Priority]]:
    """Give the URLs of the command line, then those of a file, with their priorities.

    One priority is that of all URLs; several are those of the URLs in their order. What follows a URL
    in the file comes first.
    """
    wanted: list[tuple[str, Priority | None]] = [(url, None) for url in given]
    wanted += [] if listed is None else _read(listed)
    if not wanted:
        raise InputError("there is no URL: give one, or a file with --urls")
    parsed = [Priority.parse(priority) for priority in priorities]
    if len(parsed) > len(wanted):
        raise InputError(f"--priority: {len(parsed)} for {text.count(len(wanted), 'URL')}: give one for each")
    if len(parsed) == 1:
        parsed *= len(wanted)
    parsed += [Priority()] * (len(wanted) - len(parsed))
    return [(url, own or parsed[at]) for at, (url, own) in enumerate(wanted)]


def _read(path: str) -> list[tuple[str, Priority | None]]:
    """Read a file of URLs, one a line, each with its priority behind it if it has one."""
    wanted: list[tuple[str, Priority | None]] = []
    for number, line in enumerate(content(path).decode(errors="replace").splitlines(), 1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        if len(words) > 2:
            raise InputError(f"{path}, line {number}: write a URL and, if it has one, its priority")
        try:
            wanted.append((words[0], Priority.parse(words[1]) if len(words) == 2 else None))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    return wanted


def content(path: str) -> bytes:
    """Read a file as it is; `-` is standard input."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read ({why.lower()})") from None


def header(written: str) -> tuple[str, str]:
    """Read `name: value`."""
    name, colon, value = written.partition(":")
    if not colon or not name:
        raise InputError(f"--header: '{written}' is no header: write 'name: value'")
    return name, value.strip()


def place(written: str) -> tuple[str, int, str]:
    """Read `HOST:PORT:ADDRESS`, where an address of IPv6 may stand in brackets."""
    host, _, rest = written.partition(":")
    port, _, address = rest.partition(":")
    try:
        number = int(port)
        if not host or not 0 < number < 1 << 16:
            raise ValueError
        return host, number, str(ipaddress.ip_address(address.removeprefix("[").removesuffix("]")))
    except ValueError:
        why = f"'{written}' is no HOST:PORT:ADDRESS, as in a.test:443:127.0.0.1"
        raise InputError(f"--resolve: {why}") from None


@dataclass(frozen=True)
class Fetched:
    """What came, and whether that is all because the user had enough."""

    came: Fetch
    interrupted: bool


def fetch(wanted: Document, data: bytes | None = None, cacert: bytes | None = None) -> Fetched:
    """Fetch what is wanted, by the fields of `Wanted` in crates/py; Ctrl-C ends it with what has come."""
    stopper = Stopper()
    interrupted = False
    # On a thread of its own: Ctrl-C reaches Python's first one only when that is not in the engine.
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(_native.fetch, json.dumps(wanted), stopper, data, cacert)
        while not begun.done():
            try:
                wait([begun], _MOMENT)
            except KeyboardInterrupt:
                interrupted = True
                stopper.stop()
    try:
        return Fetched(begun.result(), interrupted)
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
    lines += ["", *map(_connection, connections[:_SHOWN])]
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
    return (
        f"{text.count(came.responses, 'response')}, {came.failed:,} failed, {text.size(came.bytes)}"
        f" in {text.ms(document['elapsed_ms'])}: {document['requests_per_second']:,.0f} a second,"
        f" {text.ms(document['cpu_ms'])} of the processor"
    )


def _words(words: str, room: int) -> str:
    return text.printable(text.shorten(words, room))
