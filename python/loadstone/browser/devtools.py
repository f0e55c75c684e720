"""The DevTools protocol over a pipe: calls, answers and events are JSON texts, each ended by a zero byte."""

import json
import os
import select
from collections import deque
from time import monotonic
from typing import Any

_PIECE = 1 << 20
_LONGEST = 1 << 28
"""Bytes of a message: far more than the timing of any page has."""
_MOST_EVENTS = 10_000
"""Events that are kept until somebody waits for them; older ones are forgotten."""


class BrowserError(Exception):
    """A browser did not do what it was told, or not in time."""


class Devtools:
    """A connection to a browser: one call at a time."""

    def __init__(self, sends: int, gets: int) -> None:
        """Talk over two descriptors, which are closed with `close`."""
        self._sends = sends
        self._gets = gets
        self._last = 0
        self._begun = bytearray()
        self._whole: deque[dict[str, Any]] = deque()
        self._events: deque[dict[str, Any]] = deque(maxlen=_MOST_EVENTS)

    def close(self) -> None:
        """Say nothing more: the browser ends."""
        os.close(self._sends)
        os.close(self._gets)

    def call(self, method: str, until: float, session: str | None = None, **given: Any) -> dict[str, Any]:
        """Call a method, and give its result. `until` is a moment of `time.monotonic`."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": given}
        if session is not None:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0", until, method)
        while True:
            got = self._message(until, method)
            if got.get("id") == self._last:
                if error := got.get("error"):
                    raise BrowserError(f"{method}: {error.get('message', error)}")
                result: dict[str, Any] = got["result"]
                return result
            if "id" not in got:
                self._events.append(got)

    def event(self, method: str, until: float, session: str) -> dict[str, Any]:
        """Wait for an event of a session, and give what it says; it may have come since its call."""
        while True:
            while self._events:
                got = self._events.popleft()
                if got["method"] == method and got.get("sessionId") == session:
                    said: dict[str, Any] = got["params"]
                    return said
            got = self._message(until, method)
            if "id" not in got:
                self._events.append(got)

    def forget(self) -> None:
        """Forget events for which nobody waits any more."""
        self._events.clear()

    def _send(self, data: bytes, until: float, what: str) -> None:
        while data:
            _, ready, _ = select.select([], [self._sends], [], max(until - monotonic(), 0))
            if not ready:
                raise BrowserError(f"{what}: the browser does not listen")
            data = data[os.write(self._sends, data[: select.PIPE_BUF]) :]

    def _message(self, until: float, what: str) -> dict[str, Any]:
        while not self._whole:
            ready, _, _ = select.select([self._gets], [], [], max(until - monotonic(), 0))
            if not ready:
                raise BrowserError(f"{what}: nothing came in time")
            piece = os.read(self._gets, _PIECE)
            if not piece:
                raise BrowserError(f"{what}: the browser has ended")
            self._begun += piece
            *whole, rest = self._begun.split(b"\0")
            self._begun = bytearray(rest)
            if len(rest) > _LONGEST:
                raise BrowserError(f"{what}: the browser says too much at once")
            self._whole.extend(json.loads(one) for one in whole)
        return self._whole.popleft()
