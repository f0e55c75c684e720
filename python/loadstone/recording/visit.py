"""One load of a page in a browser that is recorded: from the navigation until the network is quiet."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic, time
from typing import Any

from loadstone.browser.devtools import BrowserError, Devtools, LateError
from loadstone.recording import tracing
from loadstone.recording.archive import LoadNote
from loadstone.recording.bodies import Bodies
from loadstone.recording.film import REST_S, Film, steps
from loadstone.recording.network_log import Hop, NetworkLog
from loadstone.recording.painting import ASK, Painting
from loadstone.recording.sessions import Session, Sessions
from loadstone.recording.tracing import Span

BUSY_S = 10.0
"""How long after the load event it is waited for a quiet network, at most."""
MOST_EVENTS = 2_000_000
"""Of one load; what comes then is not kept."""
_BODIES_S = 20.0
"""How long it is waited for bodies after the load, and for what pictures say."""
_STOP_S, _MOMENT_S = 5.0, 0.5
_NOT_KEPT = ("Runtime.", "Tracing.", "IO.", "Page.screencast")
"""What scripts say on the console is their own; pictures are the film's."""
_LONGEST_TEXT = 4096
"""Of URLs with data in them, and of messages over websockets."""


@dataclass(frozen=True)
class Patience:
    """How long a load may take, in seconds."""

    load_s: float = 60.0
    settle_s: float = 2.0
    """Without news from the network after the load event, until it is taken for quiet."""


@dataclass
class Visited:
    """What is known of one load."""

    note: LoadNote
    events: Sequence[dict[str, Any]]
    """As DevTools said them, with what the session is with."""
    hops: Sequence[Hop]
    bodies: Bodies
    span: Span
    began: float
    """When the navigation began; DevTools' moment."""
    clock: float
    """What to add to DevTools' moments for seconds since 1970."""
    loaded: float | None
    content_loaded: float | None
    first_paint: float | None
    painting: Painting

    def correct(self) -> None:
        """Take from the trace when the load event began, and how busy the machine was till then.

        DevTools tells only when the load event ended.
        """
        if self.loaded is not None:
            begun = tracing.load_event(self.span.events, self.note.main_frame, self.loaded)
            if begun is not None and begun >= self.began:
                self.loaded = begun
                self.note = replace(self.note, onload_ms=(begun - self.began) * 1e3)
            self.note = replace(self.note, wall_per_cpu=tracing.wall_per_cpu(self.span.events, self.loaded))


@dataclass
class _Milestones:
    """Moments of the main frame; DevTools'."""

    navigated: float | None = None
    documents: list[str] = field(default_factory=list)
    """That the page went to, one after another; the last one is it."""
    loads: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of documents: their load event, and when we heard of it by our clock."""
    content_loaded: float | None = None
    first_paint: float | None = None
    clock: float | None = None
    has_crashed: bool = False
    frames: set[str] = field(default_factory=set)

    @property
    def loaded(self) -> float | None:
        """Give the load event of the document that the page came to."""
        return self._load[0] if self._load else None

    @property
    def loaded_at(self) -> float | None:
        """Say when we heard of it."""
        return self._load[1] if self._load else None

    @property
    def _load(self) -> tuple[float, float] | None:
        return self.loads.get(self.documents[-1]) if self.documents else None


class Visit:
    """Loads a page, and takes what is said meanwhile."""

    def __init__(self, devtools: Devtools, sessions: Sessions) -> None:
        """Load in a browser context, which has the cache."""
        self._devtools = devtools
        self._sessions = sessions
        self._log = NetworkLog()
        self._bodies = Bodies(devtools, self._log)
        self._kept: list[dict[str, Any]] = []
        self._seen = _Milestones()
        self._heard = 0.0
        self._main = ""
        self._is_over = False
        self._painting = Painting()
        self._film: Film | None = None

    def load(self, number: int, url: str, patience: Patience, *, warm: bool, filmed: bool = False) -> Visited:
        """Load a page; if nothing comes of it at all, it is a `BrowserError`."""
        devtools, until = self._devtools, monotonic() + patience.load_s
        devtools.forget()
        devtools.listener = self._take
        try:
            page = self._sessions.open(until)
            self._main = page.target
            if filmed:
                self._film = Film(devtools, page.name)
            started, begins = time(), monotonic()
            self._navigate(url, page, until)
            ended = self._wait(until, patience)
            ends = monotonic()
            title = self._finish(page, is_there=ended != "crashed")
        finally:
            devtools.listener = None
        hops = self._log.hops()
        seen = self._seen
        span = Span({self._main, *seen.frames}, begins * 1e6, ends * 1e6)
        began = seen.navigated if seen.navigated is not None else begins
        onload = None if seen.loaded is None else (seen.loaded - began) * 1e3
        lost = sum(hop.is_lost for hop in hops)
        note = LoadNote(number, url, warm, started, onload, ended, title, self._main, lost, filmed=filmed)
        clock = seen.clock if seen.clock is not None else started - begins
        moments = began, clock, seen.loaded, seen.content_loaded, seen.first_paint
        return Visited(note, self._kept, hops, self._bodies, span, *moments, self._painting)

    def _navigate(self, url: str, page: Session, until: float) -> None:
        try:
            answer = self._devtools.call("Page.navigate", until, page.name, url=url)
        except LateError:
            raise BrowserError(
                f"{url}: no answer came in time: try again, or with a longer --patience"
            ) from None
        if failed := answer.get("errorText"):
            raise BrowserError(f"{url}: {failed}")
        if answer.get("isDownload"):
            raise BrowserError(f"{url}: it is no page but a download")

    def _wait(self, until: float, patience: Patience) -> str:
        """Wait until the load event is over and the network quiet; say how it ended."""
        seen = self._seen
        while True:
            now = monotonic()
            if seen.has_crashed:
                return "crashed"
            if seen.loaded_at is None:
                if now >= until:
                    return "late"
                self._devtools.hear(until)
                continue
            quiet = max(seen.loaded_at, self._heard) + patience.settle_s
            most = seen.loaded_at + max(BUSY_S, patience.settle_s)
            if now >= min(quiet, most):
                return "quiet" if quiet <= most else "busy"
            self._devtools.hear(min(quiet, most))

    def _finish(self, page: Session, *, is_there: bool) -> str:
        """Wait for bodies, and close the page: its title."""
        self._is_over = True
        patience = _BODIES_S if is_there else _MOMENT_S
        title, call = "", self._devtools.call
        if is_there:
            self._bodies.ask_for_streams(monotonic() + patience)
        self._bodies.wait(patience)
        until = monotonic() + patience
        try:
            if is_there:
                self._bodies.ask_again(self._log.hops(), page.name, self._main, until)
                asked = {"expression": ASK, "returnByValue": True, "awaitPromise": True}
                self._painting = Painting.of(call("Runtime.evaluate", until, page.name, **asked))
                said = call("Target.getTargetInfo", monotonic() + _STOP_S, targetId=self._main)
                title = str(said["targetInfo"].get("title", ""))
                self._develop(monotonic() + _BODIES_S)
            call("Target.closeTarget", monotonic() + _STOP_S, targetId=self._main)
        except BrowserError:
            # The page is there no more: what has come is kept. If it is the browser, that is found out soon.
            pass
        return title

    def _develop(self, until: float) -> None:
        """Say in which steps the view became complete until the load event."""
        seen = self._seen
        if self._film is None or seen.loaded is None or seen.clock is None or seen.navigated is None:
            return
        began = seen.navigated + seen.clock
        between = began, seen.loaded + seen.clock + REST_S
        pictures = self._film.pictures(self._main, self._painting.boxes, until, between)
        self._painting = replace(self._painting, steps=steps(pictures, began))

    # --- what is said ---

    def _take(self, event: dict[str, Any]) -> None:
        method, params = event["method"], event["params"]
        self._sessions.take(event)
        if self._film is not None:
            self._film.take(event)
        session = self._sessions.known.get(event.get("sessionId") or "")
        if self._is_over or method.startswith(_NOT_KEPT):
            return
        if session is None and not method.startswith("Target."):
            return
        if len(self._kept) < MOST_EVENTS:
            self._kept.append(_kept(event, session))
        if session is None:
            return
        if method.startswith("Network."):
            self._of_network(method, params, session, event)
        else:
            self._of_page(method, params, session)

    def _of_network(self, method: str, params: Any, session: Session, event: dict[str, Any]) -> None:
        now, seen = monotonic(), self._seen
        self._log.take(event, now)
        if method in ("Network.requestWillBeSent", "Network.dataReceived"):
            self._heard = now
        if method == "Network.requestWillBeSent":
            self._sent(params, session)
        elif method == "Network.loadingFinished":
            self._bodies.hold(params["requestId"], session.name)
            if session.is_idle:
                self._bodies.ask(session.name, now + _BODIES_S)
        elif method == "Network.loadingFailed" and params["requestId"] in seen.documents[1:]:
            # It was a download, or nothing: the page stays where it was.
            seen.documents.remove(params["requestId"])
        if params.get("frameId"):
            seen.frames.add(params["frameId"])

    def _sent(self, params: Any, session: Session) -> None:
        seen, request = self._seen, params["request"]
        if seen.clock is None and "wallTime" in params:
            seen.clock = params["wallTime"] - params["timestamp"]
        if request.get("hasPostData") and "postData" not in request and not request.get("postDataEntries"):
            self._bodies.ask_sent(params["requestId"], session.name, monotonic() + _BODIES_S)
        if params.get("type") == "Document" and params.get("frameId") == self._main:
            if params["loaderId"] not in seen.documents:
                seen.documents.append(params["loaderId"])
            if seen.navigated is None:
                seen.navigated = params["timestamp"]

    def _of_page(self, method: str, params: Any, session: Session) -> None:
        seen = self._seen
        if method == "Inspector.targetCrashed" and session.target == self._main:
            seen.has_crashed = True
        elif method == "Page.javascriptDialogOpening":
            until = monotonic() + _STOP_S
            self._devtools.post("Page.handleJavaScriptDialog", until, session.name, accept=True)
        elif method == "Page.frameAttached":
            seen.frames.add(params["frameId"])
        if session.target != self._main:
            if (
                method == "Page.lifecycleEvent"
                and params["name"] == "load"
                and params["frameId"] == session.target
            ):
                # A frame may go before the page is done.
                session.is_idle = True
                self._bodies.ask(session.name, monotonic() + _BODIES_S)
            return
        if method == "Page.domContentEventFired":
            seen.content_loaded = params["timestamp"]
        elif method == "Page.lifecycleEvent":
            self._reached(params)

    def _reached(self, params: Any) -> None:
        """Take an event of the life of a document."""
        if params.get("frameId") == self._main:
            if params["name"] == "load":
                # Not `loadEventFired`, which does not say of which document.
                self._seen.loads[params["loaderId"]] = params["timestamp"], monotonic()
            elif params["name"] == "firstContentfulPaint":
                self._seen.first_paint = params["timestamp"]


def _kept(event: dict[str, Any], session: Session | None) -> dict[str, Any]:
    """Give an event as it is kept: with what its session is with."""
    kept = {"method": event["method"], "params": _shortened(event["method"], event["params"])}
    if session is not None:
        kept |= {"sessionId": session.name, "type": session.kind, "targetId": session.target}
    return kept


def _shortened(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method in ("Network.requestWillBeSent", "Network.responseReceived"):
        part = "request" if "request" in params else "response"
        url = params[part].get("url", "")
        if url.startswith("data:") and len(url) > _LONGEST_TEXT:
            return {**params, part: {**params[part], "url": url[:_LONGEST_TEXT]}}
    elif method.startswith("Network.webSocketFrame") and "response" in params:
        text = params["response"].get("payloadData", "")
        if len(text) > _LONGEST_TEXT:
            response = {**params["response"], "payloadData": text[:_LONGEST_TEXT], "payloadLength": len(text)}
            return {**params, "response": response}
    return params
