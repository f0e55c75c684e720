"""The sessions of a load: its page, frames in processes of their own, and workers.

All are attached to by themselves, and wait until everything is prepared. A service or shared worker is not
the page's alone: the browser attaches to it. Pages that a page opens, or has loaded ahead, are closed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from loadstone.browser.devtools import BrowserError, Devtools

STACK_DEPTH = 32
"""How many asynchronous steps back Chromium says by what a request was made.

Without them it names the parser for images that scripts make, and nothing for what timers do.
"""
STACK_FRAMES = 8
"""How many calls of each step it keeps. It notes them for every error that a script makes as well: 200, as it
does of itself, made a page of Swagger UI 40 % later."""
_OF_THE_BROWSER = {"service_worker", "shared_worker"}
_PAGES = {"page", "iframe"}
_LEFT_OUT = ("browser", "browser_ui", "tab", "background_page", "webview", "other")
_BUFFERS = {"maxTotalBufferSize": 1 << 29, "maxResourceBufferSize": 1 << 27, "maxPostDataSize": 1 << 20}
_SOON_S = 30.0
Event = dict[str, Any]


@dataclass
class Session:
    """One session, and what it is with."""

    name: str
    kind: str
    """As DevTools says: page, iframe, worker, service_worker, ..."""
    target: str
    is_idle: bool = field(init=False)
    """Whether no load is disturbed by what it is asked."""

    def __post_init__(self) -> None:
        """Begin idle if it is a worker, which has no load of its own."""
        self.is_idle = self.kind not in _PAGES


class Sessions:
    """Attaches to all that is in a browser context, and lets it go on."""

    def __init__(self, devtools: Devtools, context: str, scripts: Sequence[str] = ()) -> None:
        """`scripts` run in each of its documents and workers, before anything else does."""
        self._devtools = devtools
        self._context = context
        self._scripts = scripts
        self._main: str | None = None
        self.known: dict[str, Session] = {}

    def open(self, until: float) -> Session:
        """Open an empty page, with everything prepared; events have to come to `take`."""
        call = self._devtools.call
        left_out = [{"type": kind, "exclude": True} for kind in _LEFT_OUT]
        self._main = None
        call("Target.setAutoAttach", until, **_ATTACH, filter=[*left_out, {}])
        target = call("Target.createTarget", until, url="about:blank", browserContextId=self._context)
        while (page := self._of(target["targetId"])) is None:
            if not self._devtools.hear(until):
                raise BrowserError("no page could be opened in time")
        return page

    def take(self, event: Event) -> None:
        """Take an event; those of targets are answered."""
        params = event["params"]
        if event["method"] == "Target.attachedToTarget":
            target = params["targetInfo"]
            if target.get("browserContextId", self._context) == self._context:
                self._attached(params["sessionId"], target, event.get("sessionId"))
        elif event["method"] == "Target.detachedFromTarget":
            self.known.pop(params["sessionId"], None)

    def _of(self, target: str) -> Session | None:
        return next((one for one in self.known.values() if one.target == target), None)

    def _attached(self, name: str, target: dict[str, Any], parent: str | None) -> None:
        session = Session(name, target["type"], target["targetId"])
        if session.kind == "page" and self._main is not None:
            self._post("Target.closeTarget", None, targetId=session.target)
            return
        # What a page attaches to as well as the browser has a second session.
        if (session.kind in _OF_THE_BROWSER and parent is not None) or self._of(session.target):
            self._post("Runtime.runIfWaitingForDebugger", name)
            self._post("Target.detachFromTarget", None, sessionId=name)
            return
        if session.kind == "page":
            self._main = session.target
        self.known[name] = session
        self._prepare(session)

    def _prepare(self, session: Session) -> None:
        name = session.name
        self._post("Network.enable", name, **_BUFFERS)
        self._post("Target.setAutoAttach", name, **_ATTACH)
        self._post("Runtime.enable", name)
        self._post("Runtime.setMaxCallStackSizeToCapture", name, size=STACK_FRAMES)
        self._post("Runtime.setAsyncCallStackDepth", name, maxDepth=STACK_DEPTH)
        if session.kind in _PAGES:
            self._post("Page.enable", name)
            self._post("Page.setLifecycleEventsEnabled", name, enabled=True)
            self._post("Inspector.enable", name)
            for script in self._scripts:
                self._post("Page.addScriptToEvaluateOnNewDocument", name, source=script, runImmediately=True)
        else:
            for script in self._scripts:
                self._post("Runtime.evaluate", name, expression=script)
        self._post("Runtime.runIfWaitingForDebugger", name)

    def _post(self, method: str, name: str | None, **given: Any) -> None:
        self._devtools.post(method, monotonic() + _SOON_S, name, **given)


_ATTACH: dict[str, Any] = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
