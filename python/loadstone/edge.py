"""An edge in front of origins: from its file and the options of `loadstone edge` to one that listens."""

import json
from collections.abc import Sequence
from typing import Any

from loadstone import files
from loadstone._native import LoadstoneError, Server, edge_file_json
from loadstone.files import InputError

SIMULATED = "simulated"
"""The table of an edge's file that says what only a simulation wants to know of it."""


def open_edge(path: str | None, origins: Sequence[str], given: dict[str, Any]) -> Server:
    """Listen; `given` are the fields that options set, and come before the file's."""
    said = {field: value for field, value in given.items() if value is not None}
    try:
        return Server.edge(path, list(origins), json.dumps(said))
    except LoadstoneError as error:
        raise InputError(error.args[0]) from None


def reload(server: Server) -> str:
    """Give an edge that runs its settings anew, and say what has come of it."""
    try:
        server.reload()
    except LoadstoneError as error:
        return f"{error.args[0]} (it goes on as it was)"
    return "the settings have been read again"


def read_simulated(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read an edge's file alone: its tables as they are, and apart from them what only a simulation wants."""
    try:
        made, own = json.loads(edge_file_json(files.read(path)))
    except LoadstoneError as error:
        raise InputError(f"{path}: {error.args[0]}") from None
    return made, own
