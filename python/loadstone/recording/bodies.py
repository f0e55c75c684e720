"""Bodies of responses, asked for as soon as each is whole: Chromium gives up old ones when it has too many."""

import base64
from typing import Any

from loadstone.browser.devtools import Devtools
from loadstone.recording.exchange import BodyState
from loadstone.recording.network_log import Body, Hop, NetworkLog

MOST_BODY = 128 << 20
"""Of one object; what is longer is cut."""
MOST_BODIES = 1 << 29
"""Of one load."""
_NO_BODY = {101, 204, 205, 304}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Bodies:
    """Asks for bodies, and keeps them."""

    def __init__(self, devtools: Devtools, log: NetworkLog) -> None:
        self._devtools = devtools
        self._log = log
        self._had: dict[str, Body] = {}
        self._sent: dict[str, bytes] = {}
        self._total = 0
        self.awaited = 0
        """How many have been asked for and have not come."""

    def ask(self, request: str, session: str, until: float) -> None:
        """Ask for the body of a response that is whole."""
        hop = self._log.hop(request)
        if hop is None or not hop.is_of_network:
            return
        self.awaited += 1
        self._devtools.post(
            "Network.getResponseBody",
            until,
            session,
            lambda answer: self._came(hop, answer),
            requestId=request,
        )

    def ask_sent(self, request: str, session: str, until: float) -> None:
        """Ask for the body of a request, where its event did not bring it."""

        def came(answer: dict[str, Any]) -> None:
            self._sent[request] = str(answer.get("result", {}).get("postData", "")).encode()

        self._devtools.post("Network.getRequestPostData", until, session, came, requestId=request)

    def _came(self, hop: Hop, answer: dict[str, Any]) -> None:
        self.awaited -= 1
        result = answer.get("result")
        if result is None:
            return
        body = decoded(result, hop)
        room = min(MOST_BODY, MOST_BODIES - self._total)
        if len(body[0]) > room:
            body = body[0][:room], BodyState.CUT
        self._total += len(body[0])
        self._had[hop.request] = body

    def of(self, hop: Hop) -> Body:
        """Give the body of a response."""
        if hop.is_redirected or hop.status in _NO_BODY or hop.sent["request"]["method"] == "HEAD":
            return b"", BodyState.WHOLE
        missing = BodyState.WHOLE if hop.ended is not None and not hop.data_bytes else BodyState.MISSING
        return self._had.get(hop.request, (b"", missing))

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
    charset = (hop.response or {}).get("charset") or "utf-8"
    try:
        data = text.encode(charset)
    except (LookupError, UnicodeError):
        data = text.encode("utf-8", "surrogatepass")
    if len(data) + len(_BYTE_ORDER_MARK) == hop.data_bytes and charset.lower() in ("utf-8", "utf8"):
        data = _BYTE_ORDER_MARK + data
    exact = len(data) == hop.data_bytes and "\N{REPLACEMENT CHARACTER}" not in text
    return data, BodyState.WHOLE if exact else BodyState.TEXT
