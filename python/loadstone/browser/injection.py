"""Scripts that run first in each document and worker of a page, whatever process they are in."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from loadstone.browser.devtools import BrowserError, Devtools

_OF_THE_BROWSER = ("service_worker", "shared_worker")
"""Workers that are no single page's."""
_SOON_S = 30.0
_ATTACH: dict[str, Any] = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
_DETACH: dict[str, Any] = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}

Prepare = Callable[[str], None]
"""Prepares the session of a page before it goes anywhere."""


@contextmanager
def injected(devtools: Devtools, context: str, scripts: Sequence[str]) -> Iterator[Prepare]:
    """Run scripts in what is opened in a browser context meanwhile; each page has to be prepared."""
    if not scripts:
        yield lambda _: None
        return

    def post(method: str, session: str, **given: Any) -> None:
        devtools.post(method, monotonic() + _SOON_S, session, **given)

    def prepare(session: str, kind: str = "page") -> None:
        post("Target.setAutoAttach", session, **_ATTACH)
        for script in scripts:
            if kind in ("page", "iframe"):
                post("Page.addScriptToEvaluateOnNewDocument", session, source=script, runImmediately=True)
            else:
                post("Runtime.evaluate", session, expression=script)

    def take(event: dict[str, Any]) -> None:
        if event["method"] != "Target.attachedToTarget" or not event["params"]["waitingForDebugger"]:
            return
        target, session = event["params"]["targetInfo"], event["params"]["sessionId"]
        if target.get("browserContextId", context) == context:
            if target["type"] == "iframe":
                post("Page.enable", session)
            prepare(session, target["type"])
        post("Runtime.runIfWaitingForDebugger", session)

    of_browser = [{"type": kind} for kind in _OF_THE_BROWSER]
    before, devtools.listener = devtools.listener, take
    try:
        devtools.call("Target.setAutoAttach", monotonic() + _SOON_S, **_ATTACH, filter=of_browser)
        yield prepare
    finally:
        devtools.listener = before
        # If it has ended, the next call says so.
        with suppress(BrowserError):
            devtools.call("Target.setAutoAttach", monotonic() + _SOON_S, **_DETACH)
