"""The sessions of a load: its page, frames in processes of their own, and workers.

All are attached to by themselves, and wait until everything is prepared. A service or shared worker is not the
page's alone: the browser attaches to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from loadstone.browser.devtools import Devtools

_OF_THE_BROWSER = {"service_worker", "shared_worker"}
_PAGES = {"page", "iframe"}
_LEFT_OUT = ("browser", "browser_ui", "tab", "background_page", "webview", "other")
_BUFFERS = {"maxTotalBufferSize": 1 << 29, "maxResourceBufferSize": 1 << 27, "maxPostDataSize": 1 << 20}
_SOON_S = 30.0
Event = dict[str, Any]


@dataclass(frozen=True)
class Session:
    """One session, and what it is with."""

    name: str
    kind: str
    """As DevTools says: page, iframe, worker, service_worker, ..."""
    target: str
    url: str


class Sessions:
    """Attaches to all of a load, and lets it go on."""

    def __init__(self, devtools: Devtools, context: str, scripts: Sequence[str]) -> None:
        """For what is in a browser context; `scripts` run in each of its documents and workers, first."""
        self._devtools = devtools
        self._context = context
        self._scripts = scripts
        self.known: dict[str, Session] = {}

    def attach(self) -> None:
        """Begin: all that comes into the browser now is attached to."""
        left_out = [{"type": kind, "exclude": True} for kind in _LEFT_OUT]
        self._auto_attach(self._devtools.call, None, filter=[*left_out, {}])

    def take(self, event: Event) -> None:
        """Take an event; those of targets are answered."""
        params = event["params"]
        if event["method"] == "Target.attachedToTarget":
            target = params["targetInfo"]
            if target.get("browserContextId", self._context) == self._context:
                self._attached(params["sessionId"], target, event.get("sessionId"))

    def page(self, target: str) -> Session | None:
        """Give the session of a page, once it is there."""
        return next((one for one in self.known.values() if one.target == target), None)

    def _attached(self, name: str, target: dict[str, Any], parent: str | None) -> None:
        session = Session(name, target["type"], target["targetId"], target["url"])
        is_second = (session.kind in _OF_THE_BROWSER) == (parent is not None) or self.page(session.target)
        if is_second and session.kind != "page":
            self._post("Runtime.runIfWaitingForDebugger", name)
            self._post("Target.detachFromTarget", None, sessionId=name)
            return
        self.known[name] = session
        self._post("Network.enable", name, **_BUFFERS)
        self._auto_attach(self._post, name)
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

    def _auto_attach(self, way: Callable[..., Any], name: str | None, **more: Any) -> None:
        until = monotonic() + _SOON_S
        given = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, **more}
        if name is None:
            way("Target.setAutoAttach", until, name, **given)
        else:
            way("Target.setAutoAttach", name, **given)

    def _post(self, method: str, name: str | None, **given: Any) -> None:
        self._devtools.post(method, monotonic() + _SOON_S, name, **given)
