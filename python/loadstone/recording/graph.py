"""The page graph of a recording: what was fetched, computed and waited for, ready to be loaded."""

from loadstone import _native
from loadstone._native import LoadstoneError
from loadstone.files import InputError
from loadstone.recording.archive import HAR, Archive, LoadNote, trace_of

TEXTS = {"document", "stylesheet", "script"}
"""The types of exchanges whose texts are read."""


def graph_of(archive: Archive, number: int | None = None, *, keep_secrets: bool = False) -> _native.Page:
    """Make the page of a load; without its number, of all cold loads of a page together.

    The load that was filmed is the one that the others are compared with; without one, that whose load event
    came in the middle.
    """
    if number is not None:
        return _of_load(archive, _named(archive, number), keep_secrets)
    base, *others = _together(archive)
    page = _of_load(archive, base, keep_secrets)
    return page.merged([_of_load(archive, other, keep_secrets) for other in others])


def _of_load(archive: Archive, load: LoadNote, keep_secrets: bool) -> _native.Page:
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


def _named(archive: Archive, number: int) -> LoadNote:
    for load in archive.loads:
        if load.number == number:
            return load
    count = len(archive.loads)
    raise InputError(f"{archive.name}: there is no load {number}: choose one from 1 to {count}")


def _together(archive: Archive) -> list[LoadNote]:
    """Choose the loads that make the page: the base first, then others of the same URL."""
    complete = [load for load in archive.loads if load.onload_ms is not None and not load.warm]
    if not complete:
        raise InputError(f"{archive.name}: no load came to its end: record it again, with more --patience")
    complete.sort(key=lambda load: (load.onload_ms, load.number))
    middle = complete[(len(complete) - 1) // 2]
    # Only a film says in which steps the first view became complete.
    base = next((load for load in complete if load.filmed and load.url == middle.url), middle)
    others = (load for load in complete if load is not base and load.url == base.url)
    return [base, *sorted(others, key=lambda load: load.number)]
