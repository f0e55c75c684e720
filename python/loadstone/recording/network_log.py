"""What DevTools says of a load's requests, put together: one hop for each request, redirects apart.

Several events of several sessions tell of one request: a worker's script is asked for in the page's session
and answered in the worker's. Redirects share a number. What was really sent and got (`...ExtraInfo`) comes
before or after the rest, in the order of the hops.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.recording.exchange import BodyState, Fields, RecordedExchange

Event = dict[str, Any]


@dataclass
class Hop:
    """One request with what came of it."""

    request: str
    """DevTools' number, which redirects share."""
    sent: dict[str, Any]
    """The parameters of `requestWillBeSent`; without them only the URL is known."""
    response: dict[str, Any] | None = None
    has_extra: bool | None = None
    """Whether DevTools says that there is more; `None` where it does not say."""
    extra_sent: dict[str, Any] = field(default_factory=dict)
    extra_got: dict[str, Any] = field(default_factory=dict)
    responded: float | None = None
    """When the response was there; moments are DevTools', in seconds."""
    ended: float | None = None
    failed: str | None = None
    wire_bytes: int | None = None
    """With the head."""
    data_bytes: int = 0
    """Of the body, decoded, as far as it has come."""
    from_memory: bool = False
    is_lost: bool = False
    """There was a response without a request."""
    is_redirected: bool = False
    session: str = ""
    """Where it was answered: who has the body."""

    @property
    def url(self) -> str:
        """Give its URL, without a fragment."""
        return str(self.sent["request"]["url"])

    @property
    def is_of_network(self) -> bool:
        """Say whether a server answered, and no cache or service worker."""
        one = self.response
        return (
            one is not None
            and self.url.startswith(("http://", "https://"))
            and not self.from_memory
            and not self.from_disk
            and not one.get("fromPrefetchCache")
            and not one.get("fromServiceWorker")
        )

    @property
    def from_disk(self) -> bool:
        """Say whether the cache answered: that of a worker's script has no mark, but no byte of it came."""
        one = self.response or {}
        came = one.get("encodedDataLength") != 0 or self.extra_sent or self.is_redirected
        return bool(one.get("fromDiskCache")) or not came

    @property
    def status(self) -> int:
        """Give the status as it came: 304 where a cache had the body."""
        told = self.extra_got.get("statusCode") or (self.response or {}).get("status") or 0
        return int(told)

    @property
    def head_bytes(self) -> int:
        """Give the bytes of the response's head."""
        return int((self.response or {}).get("encodedDataLength") or 0)

    @property
    def request_fields(self) -> Fields:
        """Give the request's fields as sent, else as Chromium meant to."""
        return fields_of(self.extra_sent.get("headers") or self.sent["request"].get("headers") or {})

    @property
    def response_fields(self) -> Fields:
        """Give the response's fields as they came."""
        return fields_of(self.extra_got.get("headers") or (self.response or {}).get("headers") or {})


def fields_of(headers: dict[str, Any]) -> Fields:
    """Give fields one by one; DevTools joins repeated ones with line feeds."""
    return tuple((name, one) for name, value in headers.items() for one in str(value).split("\n"))


class NetworkLog:
    """Takes the events of a load, and gives its hops."""

    def __init__(self) -> None:
        self._by_request: dict[str, list[Hop]] = {}
        self._order: list[Hop] = []
        self._extra_sent: dict[str, list[dict[str, Any]]] = {}
        self._extra_got: dict[str, list[dict[str, Any]]] = {}
        self.last_sent = 0.0
        """When the last request began, by the clock of who takes the events."""
        self.open: dict[str, Hop] = {}
        """Those that have neither ended nor failed, by their numbers."""

    def take(self, event: Event, now: float = 0.0) -> None:
        """Take an event of the domain Network; others are nothing to it."""
        handler = _HANDLERS.get(event["method"])
        if handler is not None:
            handler(self, event["params"], str(event.get("sessionId", "")))
            if handler is NetworkLog._sent:
                self.last_sent = now

    def hop(self, request: str) -> Hop | None:
        """Give the last hop of a request."""
        hops = self._by_request.get(request)
        return hops[-1] if hops else None

    def hops(self) -> Sequence[Hop]:
        """Give all, in the order in which they began, with what was really sent and got."""
        for request, hops in self._by_request.items():
            given = zip_extras(hops, self._extra_sent.get(request, []), self._extra_got.get(request, []))
            for hop, sent, got in given:
                hop.extra_sent, hop.extra_got = sent, got
        return self._order

    def _sent(self, params: Event, session: str) -> None:
        hops = self._by_request.setdefault(params["requestId"], [])
        if hops and (response := params.get("redirectResponse")) is not None:
            hops[-1].response, hops[-1].has_extra = response, params.get("redirectHasExtraInfo")
            hops[-1].responded = hops[-1].ended = params["timestamp"]
            hops[-1].wire_bytes = int(response.get("encodedDataLength") or 0)
            hops[-1].is_redirected = True
        elif hops:
            # A second session tells of the same request.
            return
        hop = Hop(params["requestId"], params, session=session)
        hops.append(hop)
        self._order.append(hop)
        self.open[hop.request] = hop

    def _sent_extra(self, params: Event, _: str) -> None:
        self._extra_sent.setdefault(params["requestId"], []).append(params)

    def _got_extra(self, params: Event, _: str) -> None:
        self._extra_got.setdefault(params["requestId"], []).append(params)

    def _responded(self, params: Event, session: str) -> None:
        hop = self.hop(params["requestId"])
        if hop is None:
            hop = self._lost(params, session)
        hop.response, hop.has_extra = params["response"], params.get("hasExtraInfo")
        hop.responded, hop.session = params["timestamp"], session
        hop.sent.setdefault("type", params.get("type", "Other"))

    def _lost(self, params: Event, session: str) -> Hop:
        response = params["response"]
        sent = {
            "request": {"url": response["url"], "method": "GET", "headers": {}},
            "timestamp": params["timestamp"],
            "frameId": params.get("frameId", ""),
            "initiator": {"type": "other"},
        }
        hop = Hop(params["requestId"], sent, session=session, is_lost=True)
        self._by_request[hop.request] = [hop]
        self._order.append(hop)
        self.open[hop.request] = hop
        return hop

    def _data(self, params: Event, _: str) -> None:
        if hop := self.hop(params["requestId"]):
            hop.data_bytes += int(params.get("dataLength", 0))

    def _cached(self, params: Event, _: str) -> None:
        if hop := self.hop(params["requestId"]):
            hop.from_memory = True

    def _finished(self, params: Event, session: str) -> None:
        if hop := self.hop(params["requestId"]):
            hop.ended, hop.wire_bytes = params["timestamp"], int(params.get("encodedDataLength", 0))
            hop.session = session
        self.open.pop(params["requestId"], None)

    def _failed(self, params: Event, _: str) -> None:
        if hop := self.hop(params["requestId"]):
            hop.ended, hop.failed = params["timestamp"], params.get("errorText", "failed")
        self.open.pop(params["requestId"], None)


_HANDLERS = {
    "Network.requestWillBeSent": NetworkLog._sent,
    "Network.requestWillBeSentExtraInfo": NetworkLog._sent_extra,
    "Network.responseReceivedExtraInfo": NetworkLog._got_extra,
    "Network.responseReceived": NetworkLog._responded,
    "Network.dataReceived": NetworkLog._data,
    "Network.requestServedFromCache": NetworkLog._cached,
    "Network.loadingFinished": NetworkLog._finished,
    "Network.loadingFailed": NetworkLog._failed,
}


def zip_extras(
    hops: Sequence[Hop], sent: Sequence[Event], got: Sequence[Event]
) -> Iterable[tuple[Hop, Event, Event]]:
    """Give each hop what was really sent and got of it: those that have more, in their order."""
    given_sent, given_got = iter(sent), iter(got)
    for hop in hops:
        if hop.has_extra is False:
            yield hop, {}, {}
        else:
            yield hop, next(given_sent, {}), next(given_got, {})


Body = tuple[bytes, BodyState]


def exchange_of(hop: Hop, load: int, clock: float, body: Body, sent_body: bytes) -> RecordedExchange:
    """Make an exchange of a hop; `clock` is what to add to DevTools' moments for seconds since 1970."""
    response = hop.response or {}
    data, state = body
    wire = None if hop.wire_bytes is None else max(hop.wire_bytes - hop.head_bytes, 0)
    return RecordedExchange(
        url=hop.url,
        method=hop.sent["request"]["method"],
        request_fields=hop.request_fields,
        request_body=sent_body,
        status=hop.status,
        response_fields=hop.response_fields,
        body=data,
        body_state=state,
        # Of a worker's script Chromium says 0.
        wire_bytes=None if wire == 0 and hop.data_bytes else wire,
        raw=None,
        resource_type=hop.sent.get("type") or "Other",
        frame=hop.sent.get("frameId") or "",
        load=load,
        request=hop.request,
        protocol=response.get("protocol") or "http/1.1",
        address=response.get("remoteIPAddress") or "",
        started=hop.sent.get("wallTime") or hop.sent["timestamp"] + clock,
    )
