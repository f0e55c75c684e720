"""A server of one's own: from the options of `loadstone serve` to its setting, and its life."""

import json
import os
import re
import signal
import ssl
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from loadstone import experiment, files, options, pages
from loadstone._native import LoadstoneError, RecordedSite, Server, Stopper, manifest_json
from loadstone.files import InputError, Kind

CERTIFICATE = Kind("certificate in PEM", b"-----BEGIN CERTIFICATE-----")
PUSH = "variant.foresight.push"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A signal may be taken by another thread, and does not end a wait of this one.
_MOMENT = 0.1
_AT_ONCE = 2.0
"""Seconds in which a server ends that is told to do so at once."""
# No one reads more lines than a screen has.
_MOST_HOSTS = 20


def setting(
    source: str | None, listen: str, given: dict[str, Any], *, keep_secrets: bool = False
) -> dict[str, Any]:
    """Make the setting of a server; `given` are the fields that options set."""
    made = nested({"front.listen": listen, **given})
    if source is not None and Path(source).is_dir():
        made["directory"] = source
    elif source is not None:
        made["page"] = json.loads(pages.read(source, keep_secrets=keep_secrets).json)
    return made


def nested(fields: dict[str, Any], inside: dict[str, Any] | None = None) -> dict[str, Any]:
    """Put fields, which are named by their paths, into the groups that they are in; `None` is left out."""
    made: dict[str, Any] = inside or {}
    for name, value in fields.items():
        if value is not None:
            *groups, field = name.split(".")
            place = made
            for group in groups:
                place = place.setdefault(group, {})
            place[field] = value
    return made


def manifest_text(path: str | None) -> str | None:
    """Read what is pushed with which responses, as JSON."""
    found = manifest(path)
    return None if found is None else json.dumps(found)


def manifest(path: str | None) -> Any:
    """Read what is pushed with which responses."""
    if path is None:
        return None
    try:
        return json.loads(files.read(path))
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: lists or objects lie too deeply in one another: write fewer") from None


def written_manifest(page: pages.Page, given: dict[str, Any]) -> str:
    """Write a manifest of what the servers of a page push or hint at, one response to a line."""
    is_hinted = given["hint"] is not None or given["preconnect"] is not None
    usual = {} if is_hinted else {PUSH: "dependencies"}
    cell = experiment.cell(page, {**usual, **experiment.chosen(given)})
    found = json.loads(manifest_json(cell.scenario))
    lines = [f"{json.dumps(url)}: {json.dumps(listed)}" for url, listed in found.items()]
    return "{" + ",\n ".join(lines) + "}"


def identity(certificate: str | None, key: str | None) -> dict[str, str] | None:
    """Read a chain of certificates and its key."""
    if certificate is None or key is None:
        if certificate is None and key is None:
            return None
        raise InputError("--cert and --key belong together: give both, or neither")
    read = {"chain": certificate, "key": key}
    return {name: files.read(path).decode(errors="replace") for name, path in read.items()}


def open_server(made: dict[str, Any], site: RecordedSite | None = None) -> Server:
    """Listen; `site` is a recording with bodies, if that is what is served."""
    try:
        return Server(json.dumps(made), site)
    except LoadstoneError as error:
        why, field = error.args
        raise InputError(f"{options.serving_option(field)}: {why}" if field else why) from None


def authority(server: Server) -> str:
    """Give the certificate that clients have to trust, in PEM."""
    if server.root is None:
        raise InputError("--save-ca: no certificate was made here: leave out --save-ca")
    return ssl.DER_cert_to_PEM_cert(server.root)


def ways(server: Server, made: dict[str, Any], site: RecordedSite | None = None) -> list[str]:
    """Say how the server can be reached, a line for each way."""
    listen: str = made["front"]["listen"]
    is_plain = made["front"].get("transport") == "plaintext"
    host = listen.rpartition(":")[0]
    host = "localhost" if host in ("", "0.0.0.0", "[::]") else host
    how = f"{server.protocols[0]}, by prior knowledge" if is_plain else ", ".join(server.protocols)
    scheme = "http" if is_plain else "https"
    lines = [f"{scheme}://{host}:{server.port}/  {how}"]
    recorded = _authorities(made.get("page", {"objects": []})) if site is None else site.hosts
    hosts = _names(recorded)
    lines += [
        f"{scheme}://{name}:{server.port}/  for clients that resolve it so" for name in hosts[:_MOST_HOSTS]
    ]
    if len(hosts) > _MOST_HOSTS:
        lines.append(f"and {len(hosts) - _MOST_HOSTS} more hosts of the recording")
    return [*lines, f"listening on {server.address}"]


def _authorities(page: dict[str, Any]) -> list[str]:
    """Give the hosts of a page's objects, in its order."""
    authorities = (item["url"].split("://", 1)[1].split("/")[0].split("?")[0] for item in page["objects"])
    return [authority.rpartition("@")[2].lower() for authority in authorities]


def _names(hosts: Sequence[str]) -> list[str]:
    """Give the names of hosts without their ports, each once."""
    return list(dict.fromkeys(re.sub(r":[0-9]+$", "", name) for name in hosts))


def run(server: Server, reload: Callable[[], None] | None = None) -> int:
    """Serve until a signal comes, then leave; at a second one end. Gives how many connections were cut.

    SIGHUP asks for `reload`, if there is one; it ends what has none.
    """
    leave, end = Stopper(), Stopper()
    to_stop = [leave, end]
    is_asked = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if to_stop:
            to_stop.pop(0).stop()

    result: list[int | LoadstoneError] = []
    thread = threading.Thread(target=lambda: result.append(_outcome(lambda: server.run(leave, end))))
    former = {number: signal.signal(number, stop) for number in _SIGNALS}
    if reload is not None:
        former[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda _number, _frame: is_asked.set())
    try:
        thread.start()
        while thread.is_alive():
            thread.join(_MOMENT)
            if reload is not None and is_asked.is_set():
                is_asked.clear()
                reload()
            if not to_stop and not _ends(thread):
                # It waits for the reader of the access log: only that keeps it from ending.
                os._exit(1)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    [outcome] = result
    if isinstance(outcome, LoadstoneError):
        raise InputError(outcome.args[0])
    return outcome


def _ends(thread: threading.Thread) -> bool:
    """Say whether a server that was told to end at once does."""
    thread.join(_AT_ONCE)
    return not thread.is_alive()


def _outcome(serve: Callable[[], int]) -> int | LoadstoneError:
    """Bring an error to the thread that can say it."""
    try:
        return serve()
    except LoadstoneError as error:
        return error
