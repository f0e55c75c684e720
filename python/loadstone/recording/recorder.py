"""Records pages: starts Chromium, loads each so many times, and makes the archive of what it said.

The browser traces all the time, so each load costs the same. Each run is cold: it has a cache, connections
and cookies of its own.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from loadstone import __version__
from loadstone.browser import local
from loadstone.browser.chromium import STOP_S, Chromium
from loadstone.browser.devtools import BrowserError, EndedError
from loadstone.files import InputError
from loadstone.recording import archive, har_file, tracing
from loadstone.recording.archive import Archive
from loadstone.recording.exchange import RecordedExchange
from loadstone.recording.graph import graph_of
from loadstone.recording.har_file import HarLoad
from loadstone.recording.masking import Mask
from loadstone.recording.network_log import exchange_of
from loadstone.recording.sessions import Sessions
from loadstone.recording.visit import Patience, Visit, Visited

_TRACE_S = 120.0
"""How long it may take to begin the trace, and to get it."""


@dataclass(frozen=True)
class Order:
    """What is to be recorded."""

    urls: Sequence[str]
    runs: int = 1
    """Cold loads of each."""
    warm: bool = False
    """Load each a second time with the same cache."""
    patience: Patience = field(default_factory=Patience)
    keep_secrets: bool = False
    scripts: Sequence[str] = ()
    """Run in each document and worker before anything else does."""
    switches: Sequence[str] = ()
    """With which Chromium is started, besides those that it always has."""


@dataclass
class Recording:
    """What came of it."""

    archive: Archive
    failed: Sequence[str]
    """Why loads did not come to an end, each in a line."""
    interrupted: bool = False


Progress = Callable[[int, int], None]


def record(program: str, order: Order, progress: Progress = lambda done, total: None) -> Recording:
    """Record pages; loads that are finished are kept whatever happens to later ones."""
    visited: list[Visited] = []
    failed: list[str] = []
    interrupted = False
    with local.started(program, order.switches) as chromium:
        browser = chromium.devtools.call("Browser.getVersion", monotonic() + STOP_S)["product"]
        chromium.warm_up()
        tracing.begin(chromium.devtools, monotonic() + _TRACE_S)
        try:
            _loads(chromium, order, visited, failed, progress)
        except KeyboardInterrupt:
            interrupted = True
        if visited:
            try:
                trace = tracing.end(chromium.devtools, monotonic() + _TRACE_S)
                tracing.cut(trace, [one.span for one in visited])
                for one in visited:
                    one.correct()
            except BrowserError as error:
                failed.append(f"no trace: {error}")
    if not visited:
        if interrupted:
            raise KeyboardInterrupt
        raise InputError(failed[0] if failed else "nothing was loaded")
    return Recording(_archive(visited, browser, order), failed, interrupted)


def _loads(
    chromium: Chromium, order: Order, visited: list[Visited], failed: list[str], progress: Progress
) -> None:
    each = 2 if order.warm else 1
    total, done = len(order.urls) * order.runs * each, 0
    for url in order.urls:
        for run in range(order.runs):
            # The others say how long computing takes where no pictures are taken.
            filmed = order.runs > 1 and run == order.runs - 1
            try:
                _cold(chromium, url, order, visited, filmed=filmed)
            except EndedError as error:
                failed.append(f"{url}: {error}")
                return
            except BrowserError as error:
                failed.append(str(error))
            done += each
            progress(done, total)


def _cold(chromium: Chromium, url: str, order: Order, visited: list[Visited], *, filmed: bool) -> None:
    """Load a page with a cache of its own, and once more with it if that is wished."""
    call = chromium.devtools.call
    context = call("Target.createBrowserContext", monotonic() + STOP_S)["browserContextId"]
    call("Browser.setDownloadBehavior", monotonic() + STOP_S, behavior="deny", browserContextId=context)
    sessions = Sessions(chromium.devtools, context, order.scripts)
    try:
        for warm in [False, True] if order.warm else [False]:
            visit = Visit(chromium.devtools, sessions)
            number, filming = len(visited) + 1, filmed and not warm
            visited.append(visit.load(number, url, order.patience, warm=warm, filmed=filming))
    finally:
        call("Target.disposeBrowserContext", monotonic() + STOP_S, browserContextId=context)
        chromium.devtools.forget()


# --- what is made of it ---


def _archive(visited: Sequence[Visited], browser: str, order: Order) -> Archive:
    mask = None if order.keep_secrets else Mask()
    exchanges: list[RecordedExchange] = []
    packed: dict[str, bytes] = {}
    for one in visited:
        number = one.note.number
        exchanges += _exchanges(one, mask)
        packed[archive.events_of(number)] = archive.packed(_lines(one, mask))
        packed[archive.trace_of(number)] = archive.packed(_trace(one, mask))
    har = har_file.har([_of_har(one) for one in visited], __version__, browser, mask)
    packed[archive.HAR] = archive.packed(har)
    notes = [one.note for one in visited]
    made = Archive("", notes, exchanges, browser, order.keep_secrets, packed)
    try:
        graph = graph_of(made, keep_secrets=order.keep_secrets)
    except InputError:
        # No load came to its end. The rest is worth keeping.
        return made
    return made.with_extra(archive.GRAPH, graph.to_json().encode())


def _exchanges(one: Visited, mask: Mask | None) -> Sequence[RecordedExchange]:
    found = []
    for hop in one.hops:
        if hop.is_of_network:
            body, sent = one.bodies.of(hop), one.bodies.of_request(hop)
            made = exchange_of(hop, one.note.number, one.clock, body, sent)
            found.append(made if mask is None else mask.exchange(made))
    return found


def _lines(one: Visited, mask: Mask | None) -> bytes:
    events = one.events if mask is None else map(mask.event, one.events)
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def _trace(one: Visited, mask: Mask | None) -> bytes:
    events = one.span.events
    if mask is not None:
        events = [mask.event(event) if tracing.has_head(event) else event for event in events]
    return json.dumps({"traceEvents": events}).encode()


def _of_har(one: Visited) -> HarLoad:
    title = one.note.title or one.note.url
    moments = one.content_loaded, one.loaded, one.first_paint, one.painting
    return HarLoad(one.note.number, title, one.hops, one.began, one.clock, *moments)
