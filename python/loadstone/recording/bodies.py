"""Bodies of responses, asked for when no load is disturbed by it: the main thread of a page has to give them.

A page that has gone on to another has those of the first no more.
Chromium gives bodies that it takes for text as text, so bytes that are none of its charset are lost. What is
not as long as it came, or not there at all, is asked for once more when the load is over: from the cache if
it is there.
"""

import base64
from collections import deque
from collections.abc import Iterable
from time import monotonic
from typing import Any

from loadstone.browser.devtools import BrowserError, Devtools, EndedError
from loadstone.recording.exchange import BodyState
from loadstone.recording.network_log import Body, Hop, NetworkLog

MOST_BODY = 128 << 20
"""Of one object; what is longer is cut."""
MOST_BODIES = 1 << 29
"""Of one load."""
MOST_AGAIN = 16 << 20
"""Of an object that is asked for again."""
_PIECE = 1 << 20
_AT_ONCE = 16
"""How many bodies are on their way at a time."""
_NO_BODY = {101, 204, 205, 304}
_NOT_AGAIN = {206, 301, 302, 303, 307, 308}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Bodies:
    """Asks for bodies, and keeps them."""

    def __init__(self, devtools: Devtools, log: NetworkLog) -> None:
        self._devtools = devtools
        self._log = log
        self._had: dict[str, Body] = {}
        self._sent: dict[str, bytes] = {}
        self._total = 0
        self._awaited = 0
        self._held: deque[tuple[Hop, str]] = deque()

    def hold(self, request: str, session: str) -> None:
        """Take note of a response that is whole, whose body is to be asked for."""
        hop = self._log.hop(request)
        if hop is not None and hop.is_of_network:
            self._held.append((hop, session))

    def ask(self, session: str, until: float) -> None:
        """Ask for the bodies that a session has."""
        asked = [held for held in self._held if held[1] == session]
        self._held = deque(held for held in self._held if held[1] != session)
        for hop, _ in asked:
            self._post("Network.getResponseBody", hop, session, until)

    def ask_for_streams(self, until: float) -> None:
        """Ask for what has come of responses that have not ended."""
        for hop in [*self._log.open.values()]:
            if hop.is_of_network and hop.data_bytes and hop.request not in self._had:
                self._post("Network.streamResourceContent", hop, hop.session, until)

    def ask_sent(self, request: str, session: str, until: float) -> None:
        """Ask for the body of a request, where its event did not bring it."""

        def came(answer: dict[str, Any]) -> None:
            self._sent[request] = str(answer.get("result", {}).get("postData", "")).encode()

        self._devtools.post("Network.getRequestPostData", until, session, came, requestId=request)

    def wait(self, patience_s: float) -> None:
        """Ask for what has not been asked for yet, and wait for all, while something comes."""
        while self._held or self._awaited:
            until = monotonic() + patience_s
            while self._held and self._awaited < _AT_ONCE:
                self._post("Network.getResponseBody", *self._held.popleft(), until)
            awaited = self._awaited
            while self._awaited == awaited:
                if not self._devtools.hear(until):
                    return

    def _post(self, method: str, hop: Hop, session: str, until: float) -> None:
        def came(answer: dict[str, Any]) -> None:
            self._awaited -= 1
            result = answer.get("result", {})
            if "bufferedData" in result:
                self._keep(hop, base64.b64decode(result["bufferedData"]), BodyState.CUT)
            elif "body" in result:
                self._keep(hop, *decoded(result, hop))

        self._awaited += 1
        self._devtools.post(method, until, session, came, requestId=hop.request)

    def _keep(self, hop: Hop, data: bytes, state: BodyState) -> None:
        room = min(MOST_BODY, MOST_BODIES - self._total)
        if len(data) > room:
            data, state = data[:room], BodyState.CUT
        self._total += len(data)
        self._had[hop.request] = data, state

    # --- what was not had ---

    def ask_again(self, hops: Iterable[Hop], session: str, frame: str, until: float) -> None:
        """Load what is missing, or not exact, once more, one after another."""
        for hop in hops:
            if not hop.is_of_network or hop.sent["request"]["method"] != "GET" or hop.status in _NOT_AGAIN:
                continue
            state = self.of(hop)[1]
            is_needed = state is BodyState.TEXT or (state is BodyState.MISSING and hop.ended is not None)
            if is_needed and monotonic() < until:
                try:
                    self._again(hop, state, session, frame, until)
                except EndedError:
                    raise
                except BrowserError:
                    # It stays as it is, and is marked so.
                    continue

    def _again(self, hop: Hop, state: BodyState, session: str, frame: str, until: float) -> None:
        options = {"disableCache": False, "includeCredentials": True}
        loaded = self._devtools.call(
            "Network.loadNetworkResource", until, session, frameId=frame, url=hop.url, options=options
        )["resource"]
        if not loaded.get("success") or "stream" not in loaded:
            return
        data, is_whole = self._read(loaded["stream"], session, until)
        if state is BodyState.TEXT and len(data) != hop.data_bytes:
            # Another one than the page had: what there is of that is better.
            return
        self._total -= len(self._had.get(hop.request, (b"",))[0])
        self._keep(hop, data, BodyState.AGAIN if is_whole else BodyState.CUT)

    def _read(self, stream: str, session: str, until: float) -> tuple[bytes, bool]:
        data, is_over = bytearray(), False
        while not is_over and len(data) <= MOST_AGAIN:
            piece = self._devtools.call("IO.read", until, session, handle=stream, size=_PIECE)
            text = piece["data"]
            data += base64.b64decode(text) if piece.get("base64Encoded") else text.encode()
            is_over = piece["eof"]
        self._devtools.call("IO.close", until, session, handle=stream)
        return bytes(data[:MOST_AGAIN]), is_over and len(data) <= MOST_AGAIN

    # --- what is known ---

    def of(self, hop: Hop) -> Body:
        """Give the body of a response."""
        if hop.is_redirected or hop.status in _NO_BODY or hop.sent["request"]["method"] == "HEAD":
            return b"", BodyState.WHOLE
        # A `fetch` of nothing is told as aborted.
        is_empty = ("content-length", "0") in ((name.lower(), value) for name, value in hop.response_fields)
        is_empty |= hop.ended is not None and hop.failed is None and not hop.data_bytes
        return self._had.get(hop.request, (b"", BodyState.WHOLE if is_empty else BodyState.MISSING))

    def of_request(self, hop: Hop) -> bytes:
        """Give the body of a request."""
        request = hop.sent["request"]
        if entries := request.get("postDataEntries"):
            return b"".join(base64.b64decode(one.get("bytes", "")) for one in entries)
        return self._sent.get(hop.request, b"") or str(request.get("postData") or "").encode()


def decoded(result: dict[str, Any], hop: Hop) -> Body:
    """Give the bytes of a body; where Chromium gives text, those that its charset makes of it again."""
    if result["base64Encoded"]:
        return base64.b64decode(result["body"]), BodyState.WHOLE
    text: str = result["body"]
    charset = str((hop.response or {}).get("charset") or "utf-8").lower()
    # As the web has it (WHATWG Encoding).
    charset = "cp1252" if charset in ("iso-8859-1", "latin1", "us-ascii", "ascii") else charset
    try:
        data = text.encode(charset)
    except (LookupError, UnicodeError):
        data = text.encode("utf-8", "surrogatepass")
    if len(data) + len(_BYTE_ORDER_MARK) == hop.data_bytes and charset in ("utf-8", "utf8"):
        data = _BYTE_ORDER_MARK + data
    exact = len(data) == hop.data_bytes and "\N{REPLACEMENT CHARACTER}" not in text
    return data, BodyState.WHOLE if exact else BodyState.TEXT
