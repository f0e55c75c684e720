"""The page graph of a recording: what was fetched, computed and waited for, ready to be loaded."""

from loadstone import _native
from loadstone._native import LoadstoneError
from loadstone.files import InputError
from loadstone.recording.archive import HAR, Archive, LoadNote, trace_of

TEXTS = {"document", "stylesheet", "script"}
"""The types of exchanges whose texts are read."""


def graph_of(archive: Archive, number: int | None = None, *, keep_secrets: bool = False) -> _native.Page:
    """Make the page of a load; without its number, of the one whose load event came in the middle of all."""
    load = _chosen(archive, number)
    texts = {
        one.request: one.body
        for one in archive.exchanges
        if one.load == load.number and one.resource_type.lower() in TEXTS
    }
    try:
        return _native.Page.from_recording(
            archive.extra(HAR),
            archive.extra(trace_of(load.number)),
            texts,
            load.number,
            keep_secrets=keep_secrets,
        )
    except LoadstoneError as error:
        raise InputError(f"{archive.name}: load {load.number}: {error.args[0]}") from None


def _chosen(archive: Archive, number: int | None) -> LoadNote:
    if number is not None:
        for load in archive.loads:
            if load.number == number:
                return load
        count = len(archive.loads)
        raise InputError(f"{archive.name}: there is no load {number}: choose one from 1 to {count}")
    complete = [load for load in archive.loads if load.onload_ms is not None and not load.warm]
    if not complete:
        raise InputError(f"{archive.name}: no load came to its end: record it again, with more --patience")
    complete.sort(key=lambda load: (load.onload_ms, load.number))
    return complete[(len(complete) - 1) // 2]
