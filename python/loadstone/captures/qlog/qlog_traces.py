"""Traces in qlog files: what one end of a connection noted of it, in the same form whatever the draft.

Read are JSON and JSON-SEQ (RFC 7464), also with one record a line, of the main schema from 0.3 on
(draft-ietf-quic-qlog-main-schema), and the tables of events of the drafts before.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from loadstone import files
from loadstone.captures import told_files
from loadstone.files import InputError

_BETWEEN = re.compile("[ \t\r\n\x1e]*")
"""What may stand between records; JSON-SEQ has a separator before each."""
_MS = {"us": 1e-3, "ms": 1.0}
_DELTAS = ("delta", "relative_to_previous_event")
_COLUMNS = {"event": "name", "event_type": "name", "relative_time": "time", "delta_time": "time"}
"""What the drafts before 0.3 call what events have."""
_CATEGORY = re.compile("^(?:.*:)?(?:recovery_)?")
"""What stands before the name of an event; drafts differ in it."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class NotedEvent:
    """An event: its name, without a category, and what it says.

    Its time is in ms since 1970, or since the trace began if this is not dated.
    """

    at_ms: float
    name: str
    data: Document


@dataclass(frozen=True)
class QlogTrace:
    """What was noted of a connection in one place: at the `client`, at the `server` or in the `network`."""

    vantage: str
    protocols: tuple[str, ...]
    events: Iterator[NotedEvent]
    """To be read before the next trace is asked for. Raises `InputError` where they are damaged."""


def are(paths: Sequence[str]) -> bool:
    """Say whether files are of qlog and no captures.

    Raises:
        InputError: if some are and others are not.
    """
    return told_files.are(paths, _is_qlog, "this is qlog")


def _is_qlog(beginning: bytes) -> bool:
    is_json = beginning.lstrip().startswith((b"{", b"\x1e"))
    return is_json and any(word in beginning for word in (b'"qlog_version"', b":qlog:file:"))


def traces(path: str) -> Iterator[QlogTrace]:
    """Give the traces of a file.

    Raises:
        InputError: if the file is no qlog, or is damaged before the events of a trace.
    """
    records = _records(path, files.read(path).decode(errors="replace"))
    head: Any = next(records, None)
    try:
        documents = head.get("traces") or [{**head["trace"], "events": records}]
        found = [_trace(path, document) for document in documents]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: it has no traces as qlog's drafts have them") from None
    yield from found


def _records(path: str, content: str) -> Iterator[Any]:
    """Give the values of JSON, JSON-SEQ, or a record a line."""
    decoder, at = json.JSONDecoder(), 0
    while (at := _begin(content, at)) < len(content):
        try:
            record, at = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            line = content.count("\n", 0, at) + 1
            raise InputError(
                f"{path}: line {line}: it is cut or damaged in the record that begins here"
            ) from None
        yield record


def _begin(content: str, at: int) -> int:
    found = _BETWEEN.match(content, at)
    return at if found is None else found.end()


def _trace(path: str, document: Document) -> QlogTrace:
    vantage, common = document.get("vantage_point") or {}, document.get("common_fields") or {}
    protocols = common.get("protocol_type", ())
    columns = [_COLUMNS.get(name.lower(), name.lower()) for name in document.get("event_fields", ())]
    return QlogTrace(
        vantage=str(vantage.get("type", "")).lower(),
        protocols=(protocols,) if isinstance(protocols, str) else tuple(protocols),
        events=_events(path, iter(document["events"]), columns, _clock(document, common)),
    )


@dataclass
class _Clock:
    """Makes times of what a trace says of them."""

    begun_ms: float
    unit_ms: float
    is_delta: bool

    def at(self, said: Any) -> float:
        time = self.begun_ms + float(said) * self.unit_ms
        if self.is_delta:
            self.begun_ms = time
        return time


def _clock(document: Document, common: Document) -> _Clock:
    how = common.get("time_format")
    is_delta = how in _DELTAS or "delta_time" in document.get("event_fields", ())
    begun = 0.0 if how == "absolute" else _reference(common.get("reference_time"))
    return _Clock(begun, _MS[(document.get("configuration") or {}).get("time_units", "ms")], is_delta)


def _reference(said: Any) -> float:
    """Give what times count from, in ms since 1970; 0 if that is not dated."""
    if isinstance(said, dict):
        said = said.get("wall_clock_time")
        return 0.0 if said is None else datetime.fromisoformat(said).timestamp() * 1e3
    return float(said or 0)


def _events(path: str, noted: Iterator[Any], columns: list[str], clock: _Clock) -> Iterator[NotedEvent]:
    # Some programs end their tables with an empty one.
    for number, said in enumerate(filter(None, noted), 1):
        try:
            event = dict(zip(columns, said, strict=False)) if columns else said
            name = _CATEGORY.sub("", event["name"].lower())
            noted_event = NotedEvent(clock.at(event["time"]), name, event.get("data") or {})
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            raise InputError(f"{path}: event {number}: it has no time and name as in qlog's drafts") from None
        yield noted_event
