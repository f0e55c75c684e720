"""What may be set, and what a load gives, as types.

Written by `make generate` from the engine's definitions.
"""

from typing import Literal, TypedDict


class Settings(TypedDict, total=False):
    """What a load is made under, by the names of the options."""

    network: str
    """The access link, where there is no topology.
    DOWN[/UP],RTTms[,loss=DOWN%[/UP%]|,gemodel=P%/R%[/BAD%[/GOOD%]]][,queue=100ms|64KB|1000p][,aqm=codel|fq_codel][,jitter=5ms][,trace=FILE][,trace-up=FILE],
    or one of cable, dsl, dsl-lossy, fibre, wifi, 5g, 4g, slow-4g, 3g, satellite, plane, mobileSlow4G,
    mobileRegular3G, desktopDense4G, wpt-cable, wpt-dsl, wpt-fios, wpt-lte, wpt-4g, wpt-3gfast, wpt-3g,
    wpt-3gslow. Default: 10/1mbit,100ms."""
    protocol: Literal["http/1.1", "http/1.1+pipelining", "spdy/2", "spdy/3", "spdy/3.1", "h2"]
    """The protocol of all connections. Default: http/1.1."""
    iw: int
    """Servers: The initial window in segments (RFC 6928); the profile's if it is left out. Default: 10. 1
    to 1,000."""
    tls: Literal["none", "1.0", "1.2", "1.3"]
    """TLS on all connections, or on none; if it is left out, by each URL's scheme: 1.3 or none."""
    tls_flights: str
    """How long the flights of TLS 1.3 are: as of a year, `2013` or `2026`, or in bytes, `1800/4000/80`,
    with a fourth for the tickets behind it."""
    servers: int
    """Deals the objects in turn over this many hosts; if it is left out, they stay where they are. 1 to
    64."""
    sharding: Literal["recorded", "hosts", "domains", "one"]
    """Over which hosts the objects are spread."""
    connections: int
    """The most connections to a host at a time. Default: 6. 1 to 256."""
    connections_in_all: int
    """The most connections of the browser to all hosts at a time; if it is left out, any number. 1 to 256."""
    pipelined_requests: int
    """The most requests that a browser has under way on a connection of HTTP/1.1 with pipelining; if it is
    left out, any number. 1 to 1,000,000."""
    pipelining_probe: Literal["nothing", "at-start"]
    """How a browser with pipelining finds out whether pipelines come through; if it is left out, it takes
    it that they do."""
    browser: Literal["recorded", "2012", "phone-2012"]
    """How the browser behaves where nothing else is set."""
    requests_per_connection: int
    """The most requests that a server answers on a connection before it leaves it: with 1 it keeps no
    connection alive. If it is left out, any number. 1 to 1,000,000."""
    names: Literal["cached", "looked-up"]
    """What the browser knows of the names of hosts when the load begins; if it is left out, all addresses."""
    visit_after: int
    """That the browser has visited the page before, or those that `before` names, and how many seconds ago
    that was loaded, or each before the next. It has its cache, as the heads of those pages say, and
    connections that are still open. If it is left out, the browser has nothing. 0 to 31,536,000."""
    prefetch: Literal["nothing", "next", "pushed"]
    """What the servers of each page before give or name of the one after: nothing, `next` for prefetches
    of all that it has, `pushed` for pushes of what is the document's server's and prefetches of the
    rest. Needs `visit_after`."""
    compute: str
    """How many times as long the browser computes: a number, or `phone`, which is 4. 0 to 100."""
    cc: Literal["reno", "cubic", "bbr"]
    """Servers: The congestion control; the profile's if it is left out. Default: cubic."""
    policy: Literal["priority", "round-robin", "weighted", "first-come-first-served", "dependencies"]
    """Which response a server of SPDY or HTTP/2 sends next. Default: priority."""
    request_order: Literal["priority", "first-come-first-served"]
    """Which request a client of SPDY or HTTP/2 sends next, of those that it has at the same time. Default:
    priority."""
    frame_bytes: int
    """The most bytes of content in a DATA frame (SPDY, HTTP/2). Default: 16384. 256 to 16,384."""
    max_streams: int
    """The most streams that the peer may have open at a time (SPDY, HTTP/2). Default: 100. 1 to 10,000."""
    priorities: Literal["recorded", "none", "kind", "dependencies"]
    """How urgent the browser says that objects are."""
    push: Literal["nothing", "embedded", "dependencies", "all", "listed"]
    """What servers push with a response (SPDY, HTTP/2). Default: nothing."""
    push_levels: int
    """Down to how many levels of embedding: what stands in an object that stands in the response, and so
    on. Default: 1. 1 to 16."""
    hint: Literal["nothing", "embedded", "dependencies", "all", "listed"]
    """What servers tell the client to fetch by itself. Default: nothing."""
    preconnect: Literal["nothing", "hosts"]
    """To which hosts the first response tells the client to open connections, by Link. Default: nothing."""
    hint_by: Literal["early-hints", "link", "subresource"]
    """How they tell it: by a response 103, by Link or by X-Subresource in the response. Default:
    early-hints."""
    notsent_lowat: int
    """Servers: The most bytes that are written but unsent (Linux's TCP_NOTSENT_LOWAT); the profile's,
    16,384, if it is left out. The fewer, the later the next data is chosen. 2,048 to 1,073,741,824."""
    receive_window: int
    """Servers: The receive window in bytes, 2 KiB to 1 GiB; the profile's if it is left out. Linux reckons
    it as half of a buffer, which then does not grow. 2,048 to 1,073,741,824."""
    tcp: Literal["textbook", "linux-2.6", "linux-3.7", "windows-7", "mac-os-x-10.5", "linux-6"]
    """Servers: The system whose TCP it has. Default: linux-6."""
    flows: int
    """Servers: Behaves like n connections in one (TCP+ of the study `nsdi`); 1 if it is left out. 1 to
    256."""
    client_iw: int
    """Client: The initial window in segments (RFC 6928); the profile's if it is left out. Default: 10. 1
    to 1,000."""
    client_cc: Literal["reno", "cubic", "bbr"]
    """Client: The congestion control; the profile's if it is left out. Default: cubic."""
    client_receive_window: int
    """Client: The receive window in bytes, 2 KiB to 1 GiB; the profile's if it is left out. Linux reckons
    it as half of a buffer, which then does not grow. 2,048 to 1,073,741,824."""
    client_tcp: Literal["textbook", "linux-2.6", "linux-3.7", "windows-7", "mac-os-x-10.5", "linux-6"]
    """Client: The system whose TCP it has. Default: as tcp."""
    client_flows: int
    """Client: Behaves like n connections in one (TCP+ of the study `nsdi`); 1 if it is left out. Default:
    as flows. 1 to 256."""
    spread: int
    """By how much in percent each link's rates and each way's delay may be more or less than stated. Above
    0, traces begin anywhere and programs wake up at their own moments. Default: 0. 0 to 50."""
    spread_times: int
    """By how much in percent each of the servers' and the page's own times may be more or less than
    stated. Where several loads of a page say how its computing differs, that differs so instead, unless
    this is 0. Default: 0. 0 to 50."""
    seed: int
    """The seed of the first run, from which every random decision draws; run k has this plus k. Default:
    1."""


class Connections(TypedDict):
    """The connections of a run, in the order of opening."""

    host: list[str]
    """The server."""
    opened_ms: list[float]
    """When its first SYN entered the link, in ms."""
    established_ms: list[float | None]
    """When the browser could use it, in ms."""
    closed_ms: list[float | None]
    """When the browser closed it; missing if it was open to the end, in ms."""
    content_up: list[int]
    """Bytes that the browser wrote, in bytes."""
    content_down: list[int]
    """Bytes that the server wrote, in bytes."""
    retransmissions: list[int]
    """Segments sent again, by either end, in segments."""


class Path(TypedDict):
    """The spans of a run's critical path; they follow one another without gaps."""

    name: list[str]
    """What was waited for."""
    part: list[str]
    """The part of the account."""
    from_ms: list[float]
    """Its beginning, in ms."""
    to_ms: list[float]
    """Its end, in ms."""


class Waterfall(TypedDict):
    """The marks of a run's objects, in page order."""

    name: list[str]
    """The object."""
    kind: list[str]
    """What sort of thing it is: html, css, js, image, ."""
    bytes: list[int]
    """Bytes of the response's body, in bytes."""
    connection: list[int | None]
    """The connection it came by."""
    found_ms: list[float | None]
    """When the browser knew of it, in ms."""
    found_by: list[str]
    """How the browser came to know of it: page, hint or push."""
    retried_ms: list[float | None]
    """When the browser asked for it again, if it did, in ms."""
    sent_ms: list[float | None]
    """When its request was sent, in ms."""
    arrived_ms: list[float | None]
    """When its request was at the server, in ms."""
    answered_ms: list[float | None]
    """When the server had its answer, in ms."""
    first_byte_ms: list[float | None]
    """When the first byte of the answer arrived, in ms."""
    last_byte_ms: list[float | None]
    """When the last byte of the answer arrived, in ms."""
