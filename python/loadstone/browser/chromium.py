"""Chromium: with which switches it is started, and how it loads a page."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Protocol
from urllib.parse import quote

from loadstone.browser.devtools import BrowserError, Devtools
from loadstone.browser.injection import Prepare, injected
from loadstone.browser.timing import SCRIPT, PageTiming

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""What its program is called."""

_OFF = (
    *("AutofillServerCommunication", "CertificateTransparencyComponentUpdater", "DialMediaRouteProvider"),
    *("InterestFeedContentSuggestions", "MediaRouter", "OptimizationHints", "Translate"),
    # Pages of its own that it prepares for each new window: a second of processor time.
    *("PreloadTopChromeWebUI", "PreloadTopChromeWebUILessNavigations", "WebUIOmniboxPopup"),
    *("WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    # With it, what a document's first bytes ask for is sent before DevTools is told of requests.
    "RenderDocument",
)
SWITCHES = (
    *("--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-pings"),
    *("--disable-domain-reliability", "--disable-client-side-phishing-detection", "--metrics-recording-only"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    *("--disable-backgrounding-occluded-windows", "--disable-hang-monitor", "--disable-breakpad"),
    *("--password-store=basic", "--use-mock-keychain", "--mute-audio", "--disable-gpu"),
    *("--window-size=1366,768", "--force-device-scale-factor=1", f"--disable-features={','.join(_OFF)}"),
    # It would learn in one load how slow the network is, and hold requests back in the next.
    "--force-effective-connection-type=4G",
)
"""No services of its own, the same window every time, and no load that depends on the one before."""
_FIRST_PAGE = (
    "<!doctype html><style>h1{font-family:sans-serif}code{font-family:monospace}</style>"
    "<h1>A</h1><p>B <b>C</b> <i>D</i> <code>E</code><svg><circle r=9 /></svg>"
    "<img src=data:image/gif;base64,R0lGODlhAQABAAAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==>"
    "<script>fetch('data:,F').then(of=>of.text());requestAnimationFrame(()=>0)</script>"
)
"""Text in several fonts, pictures, a script."""
START_S, STOP_S = 30.0, 5.0
"""How long it may take to start, and to end."""
_MOMENT = 0.02


class Process(Protocol):
    """A program that is running, here or on a bed."""

    @property
    def is_finished(self) -> bool:
        """Say whether it has ended."""

    def signal(self, number: int) -> None:
        """Give it a signal."""

    def wait(self) -> int:
        """Wait for its end: its exit code."""


Start = Callable[[Sequence[str]], Process]
"""Starts a program with its arguments."""


def words(program: str, profile: Path, *, headless: bool, switches: Sequence[str] = ()) -> list[str]:
    """Give the command that starts it with a profile of its own, and with further switches."""
    shown = ["--headless"] if headless else []
    # Its sandbox refuses to work for root.
    rights = ["--no-sandbox"] if os.geteuid() == 0 else []
    return [program, *SWITCHES, *switches, *shown, *rights, f"--user-data-dir={profile}"]


@dataclass
class Chromium:
    """A Chromium that is running; ended with its `with` block."""

    process: Process
    devtools: Devtools

    @classmethod
    def start(
        cls, program: str, folder: Path, start: Start, *, headless: bool = True, switches: Sequence[str] = ()
    ) -> "Chromium":
        """Start it, with its profile and its pipes in a folder; `start` says where."""
        pipes = [folder / "to-chromium", folder / "from-chromium"]
        for pipe in pipes:
            os.mkfifo(pipe)
        # Opened for both, so that no end waits for the other.
        sends, gets = (os.open(pipe, os.O_RDWR | os.O_CLOEXEC) for pipe in pipes)
        # Chromium wants the descriptors 3 and 4.
        script = 'to=$1 from=$2 said=$3; shift 3; exec "$@" 3<"$to" 4>"$from" 2>"$said" >&2'
        command = words(program, folder / "profile", headless=headless, switches=switches)
        said = folder / "said"
        given = map(str, [*pipes, said, *command])
        process = start(["sh", "-c", script, "sh", *given, "--remote-debugging-pipe", "about:blank"])
        devtools = Devtools(sends, gets, lambda: process.is_finished)
        chromium = cls(process, devtools)
        try:
            devtools.call("Browser.getVersion", monotonic() + START_S)
        except BrowserError as error:
            chromium.end()
            lines = said.read_text(errors="replace").splitlines() if said.exists() else []
            raise BrowserError(f"{program} did not start: {lines[-1] if lines else error}") from None
        return chromium

    def __enter__(self) -> "Chromium":
        """Keep it until the block ends."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """End it."""
        self.end()

    def end(self) -> None:
        """End it, by force if it does not."""
        try:
            self.devtools.call("Browser.close", monotonic() + STOP_S)
        except BrowserError:
            self.process.signal(signal.SIGKILL)
        until = monotonic() + STOP_S
        while not self.process.is_finished and monotonic() < until:
            sleep(_MOMENT)
        self.process.signal(signal.SIGKILL)
        self.process.wait()
        self.devtools.close()

    def warm_up(self) -> None:
        """Load a page that needs no network: what is done only once makes the first load the slowest."""
        self.load(f"data:text/html,{quote(_FIRST_PAGE)}")

    def load(
        self, url: str, *, patience_s: float = 60.0, warm: bool = False, scripts: Sequence[str] = ()
    ) -> PageTiming:
        """Load a page, cold: with a cache, connections and cookies of its own, which are forgotten.

        If `warm`, it is loaded once before, with the same cache, and the second load is told. Each may take
        `patience_s` seconds; else it is a `BrowserError`. `scripts` run in its documents and workers, before
        anything else does.
        """
        call, until = self.devtools.call, monotonic() + patience_s
        context = call("Target.createBrowserContext", until)["browserContextId"]
        try:
            with injected(self.devtools, context, scripts) as prepare:
                timing = self._visit(url, context, until, prepare)
                if warm:
                    timing = self._visit(url, context, monotonic() + patience_s, prepare)
            return timing
        finally:
            call("Target.disposeBrowserContext", monotonic() + STOP_S, browserContextId=context)
            self.devtools.forget()

    def _visit(self, url: str, context: str, until: float, prepare: Prepare) -> PageTiming:
        call = self.devtools.call
        target = call("Target.createTarget", until, url="about:blank", browserContextId=context)["targetId"]
        attached = call("Target.attachToTarget", until, targetId=target, flatten=True)
        session = attached["sessionId"]
        call("Page.enable", until, session)
        prepare(session)
        if failed := call("Page.navigate", until, session, url=url).get("errorText"):
            raise BrowserError(f"{url}: {failed}")
        self.devtools.event("Page.loadEventFired", until, session)
        asked = call(
            "Runtime.evaluate", until, session, expression=SCRIPT, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in asked:
            raise BrowserError(f"{url}: its timing cannot be read: {asked['exceptionDetails'].get('text')}")
        call("Target.closeTarget", until, targetId=target)
        return PageTiming.of(json.loads(asked["result"]["value"]))
