"""An edge in front of origins: from `edge.toml` and the options of `loadstone edge` to its settings."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone import files, options, serving, toml
from loadstone._native import LoadstoneError, Server
from loadstone.files import InputError

SIMULATED = "simulated"
"""The table of an edge's file that says what only a simulation wants to know of it."""


def settings(path: str | None, origins: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """Make the settings of an edge; `given` are the fields that options set, and come before the file's."""
    made = {} if path is None else _read(path)
    named = _table(path, made, "origins")
    for origin in origins:
        name, sign, url = origin.partition("=")
        if not sign:
            raise InputError(f"--origin: '{origin}' is no NAME=URL, as in a.test=http://127.0.0.1:8080")
        named[name] = url
    front = _table(path, made, "front")
    front.setdefault("listen", options.LISTEN)
    return serving.nested(given, made)


def _read(path: str) -> dict[str, Any]:
    """Read an edge's file, and the files that it names, whose paths count from its folder."""
    made, _ = read_simulated(path)
    front, behind = _table(path, made, "front"), _table(path, made, "behind")
    certificate, key = _beside(path, front, "cert"), _beside(path, front, "key")
    if identity := serving.identity(certificate, key):
        front["identity"] = identity
    if authorities := _beside(path, behind, "cacert"):
        behind["authorities"] = files.read(authorities).decode(errors="replace")
    return made


def read_simulated(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read an edge's file alone: its tables as they are, and apart from them what only a simulation wants."""
    made = toml.read(path, "the settings of an edge")
    for name in ("front", "origins"):
        _table(path, made, name)
    for name in ("behind", "cache"):
        if name in made:
            _table(path, made, name)
    own = _table(path, made, SIMULATED)
    known = ("backhaul", "hit_rate", "request_us")
    if unknown := [name for name in own if name not in known]:
        raise InputError(f"{path}: {SIMULATED}.{unknown[0]}: there is no such field: take {', '.join(known)}")
    return made, made.pop(SIMULATED)


def _table(path: str | None, made: dict[str, Any], name: str) -> dict[str, Any]:
    """Give a table of the file; an empty one if it has none."""
    table = made.setdefault(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {name}: a table is wanted: write [{name}] above its fields")
    return table


def _beside(path: str, table: dict[str, Any], name: str) -> str | None:
    """Take the path of a file out of a table."""
    named = table.pop(name, None)
    if named is None:
        return None
    if not isinstance(named, str):
        raise InputError(f"{path}: {name}: the path of a file is wanted, in quotation marks")
    return str(Path(path).parent / named)


def open_edge(path: str | None, made: dict[str, Any], given: dict[str, Any]) -> Server:
    """Listen; `given` are the fields that options set."""
    try:
        return Server.edge(json.dumps(made, default=str))
    except LoadstoneError as error:
        why, field = error.args
        raise InputError(f"{_place(path, field, given)}: {why}" if field else why) from None


def _place(path: str | None, field: str, given: dict[str, Any]) -> str:
    """Say where a field was set: by an option, or in the file."""
    if path is not None and given.get(field) is None:
        return f"{path}: {field}"
    return options.edge_option(field) or f"--origin: {field}"


def ways(server: Server, made: dict[str, Any]) -> list[str]:
    """Say which names lead where, a line for each."""
    is_plain = made["front"].get("transport") == "plaintext"
    how = f"{server.protocols[0]}, by prior knowledge" if is_plain else ", ".join(server.protocols)
    scheme = "http" if is_plain else "https"
    lines = [
        f"{scheme}://{name if ':' in name else f'{name}:{server.port}'}/ from {url}"
        for name, url in made["origins"].items()
    ]
    return [how, *lines, f"listening on {server.address}"]
