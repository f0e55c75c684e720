"""The trace of a browser: begun once, before the first load, and cut into loads afterwards.

Chromium traces all of its processes, its own pages as well. What is kept of a load are the events of the
processes that had one of its frames, while it lasted.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.browser.devtools import BrowserError, Devtools
from loadstone.recording.masking import HEADS

CATEGORIES = (
    *("-*", "devtools.timeline", "disabled-by-default-devtools.timeline", "disabled-by-default-lighthouse"),
    *("blink.user_timing", "v8.execute"),
)
"""Tasks, parsing, scripts, timers, style, layout, requests; what pages time, and when promises react.

`toplevel` and `v8` name the same tasks once more: three times as many events. Of `loading`, a fifth of all,
nothing is needed.
"""
_PIECE = 1 << 20
MOST_BYTES = 1 << 30
"""Of a whole trace, as text."""
_METADATA = "M"
_PAGE_THREAD = "CrRendererMain"
_PHASES = re.compile(r"V8\.GC_|Parallel scavenge|\w*WeaknessProcessor ")
"""Of collecting garbage: `MinorGC` and `MajorGC` say how long it took."""
Event = dict[str, Any]


def begin(devtools: Devtools, until: float) -> None:
    """Begin to trace."""
    config = {"recordMode": "recordAsMuchAsPossible", "includedCategories": list(CATEGORIES)}
    devtools.call("Tracing.start", until, transferMode="ReturnAsStream", traceConfig=config)


def end(devtools: Devtools, until: float) -> Iterator[Event]:
    """End it, and give its events one by one."""
    done: list[Event] = []
    before = devtools.listener

    def listen(event: Event) -> None:
        if event["method"] == "Tracing.tracingComplete":
            done.append(event["params"])
        elif before is not None:
            before(event)

    devtools.listener = listen
    try:
        devtools.call("Tracing.end", until)
        while not done:
            if not devtools.hear(until):
                raise BrowserError("Tracing.end: nothing came in time")
    finally:
        devtools.listener = before
    yield from events(lambda: _piece(devtools, done[0]["stream"], until))


def _piece(devtools: Devtools, stream: str, until: float) -> str | None:
    read = devtools.call("IO.read", until, handle=stream, size=_PIECE)
    data: str = read["data"]
    return None if read["eof"] and not data else data


def events(more: Callable[[], str | None]) -> Iterator[Event]:
    """Give the events of a trace that comes in pieces of text, without holding all of it."""
    decoder, text, total = json.JSONDecoder(), "", 0
    has_begun = False
    while (piece := more()) is not None:
        total += len(piece)
        if total > MOST_BYTES:
            raise BrowserError(f"the trace is longer than {MOST_BYTES >> 20} MiB: record fewer loads")
        text += piece
        if not has_begun:
            opening = text.find("[")
            if opening < 0:
                continue
            text, has_begun = text[opening + 1 :], True
        at = 0
        while (begins := text.find("{", at)) >= 0:
            if "]" in text[at:begins]:
                return
            try:
                event, at = decoder.raw_decode(text, begins)
            except json.JSONDecodeError:
                # The rest of it comes with the next piece.
                break
            yield event
        text = text[at:]
        if text.lstrip().startswith("]"):
            return


@dataclass
class Span:
    """What of a trace is a load's."""

    frames: set[str]
    """All its frames, by the names that DevTools and the trace have for them."""
    begins: float
    """Microseconds on the clock of the trace, which is the system's monotonic one."""
    ends: float
    events: list[Event] = field(default_factory=list)
    processes: set[int] = field(default_factory=set)


def cut(trace: Iterable[Event], spans: Iterable[Span]) -> None:
    """Give each load the events of its processes while it lasted, with the names of those."""
    loads = list(spans)
    named: list[Event] = []
    for event in trace:
        if event.get("ph") == _METADATA:
            named.append(event)
            continue
        at = event.get("ts", 0)
        for load in loads:
            if load.begins <= at <= load.ends and not _PHASES.match(event.get("name", "")):
                load.events.append(event)
                _note_process(event, load)
    for load in loads:
        of_load = [one for one in load.events if one.get("pid") in load.processes]
        load.events = [one for one in named if one.get("pid") in load.processes] + of_load


def load_event(events: Iterable[Event], frame: str, ended: float) -> float | None:
    """Say when the load event began that ended then: the last one of a frame before; in seconds.

    DevTools tells only of its end, when all that listens to it has run.
    """
    begun = [
        one["ts"] / 1e6
        for one in events
        if one.get("name") == "loadEventStart" and (one.get("args") or {}).get("frame") == frame
    ]
    return max((one for one in begun if one <= ended), default=None)


def wall_per_cpu(events: Sequence[Event], until: float) -> float | None:
    """Say how often longer the tasks of the pages' threads took than the processor worked on them.

    Counts what began before that moment, which is in seconds.
    """
    threads = {
        (one.get("pid"), one.get("tid"))
        for one in events
        if one.get("name") == "thread_name" and (one.get("args") or {}).get("name") == _PAGE_THREAD
    }
    tasks = [
        one
        for one in events
        if one.get("name") == "RunTask"
        and (one.get("pid"), one.get("tid")) in threads
        and one["ts"] / 1e6 < until
        and "tdur" in one
    ]
    worked = sum(one["tdur"] for one in tasks)
    return sum(one["dur"] for one in tasks) / worked if worked > 0 else None


def has_head(event: Event) -> bool:
    """Say whether an event has a head of a request or response in it."""
    data = (event.get("args") or {}).get("data")
    return isinstance(data, dict) and not data.keys().isdisjoint(HEADS)


def _note_process(event: Event, load: Span) -> None:
    """Take the process of an event that names one of the load's frames."""
    data = (event.get("args") or {}).get("data")
    if not isinstance(data, dict):
        return
    if data.get("frame") in load.frames:
        in_browser = event.get("name") in _OF_THE_BROWSER
        process = data.get("processId") if in_browser else event.get("pid")
        if isinstance(process, int):
            load.processes.add(process)


_OF_THE_BROWSER = {"FrameCommittedInBrowser", "ProcessReadyInBrowser", "FrameDeletedInBrowser"}
"""Said by the browser's process of another one."""
