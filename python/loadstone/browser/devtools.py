"""The DevTools protocol over a pipe: calls, answers and events are JSON texts, each ended by a zero byte."""

import json
import os
import select
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any

_PIECE = 1 << 20
_LONGEST = 1 << 28
"""Bytes of a message: far more than the timing of any page has."""
_MOST_EVENTS = 10_000
"""Events that are kept until somebody waits for them; older ones are forgotten."""
_LOOK_S = 0.5
"""How often it is looked whether the browser is there."""

Message = dict[str, Any]


class BrowserError(Exception):
    """A browser did not do what it was told, or not in time."""


class EndedError(BrowserError):
    """The browser has ended: nothing more will come of it."""


class LateError(BrowserError):
    """Nothing came in time."""


class Devtools:
    """A connection to a browser: calls that are waited for, calls that are not, and events."""

    def __init__(self, sends: int, gets: int, has_ended: Callable[[], bool] = lambda: False) -> None:
        """Talk over two descriptors, which are closed with `close`.

        `has_ended` says whether the browser is there no more, where the pipe does not: its other end may be
        open elsewhere.
        """
        self._has_ended = has_ended
        self._sends = sends
        self._gets = gets
        self._last = 0
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._whole: deque[bytes] = deque()
        self._events: deque[Message] = deque(maxlen=_MOST_EVENTS)
        self._posted: dict[int, Callable[[Message], None]] = {}
        self.listener: Callable[[Message], None] | None = None
        """Gets every event as it comes, also those for which somebody waits."""

    def close(self) -> None:
        """Say nothing more: the browser ends."""
        os.close(self._sends)
        os.close(self._gets)

    def call(self, method: str, until: float, session: str | None = None, **given: Any) -> dict[str, Any]:
        """Call a method, and give its result. `until` is a moment of `time.monotonic`."""
        number = self._call(method, until, session, given)
        while True:
            got = self._message(until, method)
            if got.get("id") == number:
                if error := got.get("error"):
                    raise BrowserError(f"{method}: {error.get('message', error)}")
                result: dict[str, Any] = got["result"]
                return result
            self._take(got)

    def post(
        self,
        method: str,
        until: float,
        session: str | None = None,
        answered: Callable[[Message], None] = lambda _: None,
        **given: Any,
    ) -> None:
        """Call a method without waiting; its answer, with `result` or `error`, is given when it comes.

        It comes while somebody waits for something else, or with `hear`.
        """
        self._posted[self._call(method, until, session, given)] = answered

    def event(self, method: str, until: float, session: str) -> dict[str, Any]:
        """Wait for an event of a session, and give what it says; it may have come since its call."""
        while True:
            while self._events:
                got = self._events.popleft()
                if got["method"] == method and got.get("sessionId") == session:
                    said: dict[str, Any] = got["params"]
                    return said
            self._take(self._message(until, method))

    def hear(self, until: float) -> bool:
        """Take the next message, whatever it is; say whether one came in time."""
        try:
            got = self._message(until, "listening")
        except LateError:
            return False
        self._take(got)
        return True

    def forget(self) -> None:
        """Forget events for which nobody waits any more."""
        self._events.clear()

    def _call(self, method: str, until: float, session: str | None, given: Message) -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": given}
        if session is not None:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0", until, method)
        return self._last

    def _take(self, got: Message) -> None:
        """Give an event or an answer to whom it concerns."""
        if "id" in got:
            if answered := self._posted.pop(got["id"], None):
                answered(got)
            return
        self._events.append(got)
        if self.listener is not None:
            self.listener(got)

    def _send(self, data: bytes, until: float, what: str) -> None:
        while data:
            _, ready, _ = select.select([], [self._sends], [], max(until - monotonic(), 0))
            if not ready:
                raise LateError(f"{what}: the browser does not listen")
            data = data[os.write(self._sends, data[: select.PIPE_BUF]) :]

    def _message(self, until: float, what: str) -> Message:
        while not self._whole:
            left = max(until - monotonic(), 0)
            ready, _, _ = select.select([self._gets], [], [], min(left, _LOOK_S))
            if not ready and self._has_ended():
                raise EndedError(f"{what}: the browser has ended")
            if not ready and left <= _LOOK_S:
                raise LateError(f"{what}: nothing came in time")
            if not ready:
                continue
            piece = os.read(self._gets, _PIECE)
            if not piece:
                raise EndedError(f"{what}: the browser has ended")
            first, *more = piece.split(b"\0")
            self._begin(first, what)
            for one in more:
                # A long message comes in many pieces: they are put together once.
                self._whole.append(b"".join(self._begun))
                self._begun, self._begun_bytes = [], 0
                self._begin(one, what)
        message: Message = json.loads(self._whole.popleft())
        return message

    def _begin(self, piece: bytes, what: str) -> None:
        self._begun.append(piece)
        self._begun_bytes += len(piece)
        if self._begun_bytes > _LONGEST:
            raise BrowserError(f"{what}: the browser says too much at once")
