"""What may be set, and what a load gives, as types.

Written by `make generate` from the engine's definitions.
"""

from typing import Literal, TypedDict


class Settings(TypedDict, total=False):
    """What a load is made under, by the names of the options."""

    network: str
    """Access link, if there is no topology.
    DOWN[/UP],RTTms[,loss=DOWN%[/UP%]|,gemodel=P%/R%[/BAD%[/GOOD%]]][,queue=100ms|64KB|1000p][,aqm=codel|fq_codel][,jitter=5ms][,trace=FILE][,trace-up=FILE],
    or one of cable, dsl, dsl-lossy, fibre, wifi, 5g, 4g, slow-4g, 3g, satellite, plane, mobileSlow4G,
    mobileRegular3G, desktopDense4G, wpt-cable, wpt-dsl, wpt-fios, wpt-lte, wpt-4g, wpt-3gfast, wpt-3g,
    wpt-3gslow. Default: 10/1mbit,100ms."""
    protocol: Literal["http/1.1", "http/1.1+pipelining", "spdy/2", "spdy/3", "spdy/3.1", "h2"]
    """Protocol of all connections. Default: http/1.1."""
    iw: int
    """Servers: Initial window in segments (RFC 6928); if unset, the profile's. Default: 10. 1 to 1,000."""
    tls: Literal["none", "1.0", "1.2", "1.3"]
    """TLS version of all connections, or none. In a scenario file, if unset: 1.3 for https URLs, none for
    http."""
    tls_flights: str
    """Sizes of the flights in a TLS 1.3 handshake: those of a year, `2013` (if unset) or `2026`, or
    client/server/client in bytes, as in `1800/4000/80`, with a fourth number for session tickets."""
    servers: int
    """Distribute the objects over this many hosts in turn; if unset, they stay on their own hosts. 1 to
    64."""
    sharding: Literal["recorded", "hosts", "domains", "one"]
    """Hosts that the objects are on: as recorded (if unset), a server for each host name, one host for
    each registered domain, or one host for all."""
    connections: int
    """Maximum number of simultaneous connections to a host. Default: 6. 1 to 256."""
    connections_in_all: int
    """Maximum number of simultaneous connections of the browser to all hosts; if unset, no limit. 1 to
    256."""
    pipelined_requests: int
    """Maximum number of outstanding requests on a connection with HTTP/1.1 pipelining; if unset, no limit.
    1 to 1,000,000."""
    pipelining_probe: Literal["nothing", "at-start"]
    """How a browser with pipelining finds out whether the path supports it: by a probe at the start, or
    not at all (if unset): it assumes support."""
    browser: Literal["recorded", "2012", "phone-2012"]
    """Browser whose behaviour applies where nothing else is set: the recorded one (if unset), or Firefox
    of 2012, on a desktop or on a phone."""
    requests_per_connection: int
    """Maximum number of requests on a connection, which is then not used again; 1 disables persistent
    connections. If unset, no limit. 1 to 1,000,000."""
    names: Literal["cached", "looked-up"]
    """DNS when the load begins: the browser has all addresses in its cache (if unset), or looks up each
    name before it connects."""
    visit_after: int
    """The browser has visited this page, or the pages of `before`, this many seconds ago; between two of
    those, the same time passes. It has the responses that it may cache, and the connections that are
    still open. If unset, it has neither. 0 to 31,536,000."""
    prefetch: Literal["nothing", "next", "pushed"]
    """What servers do ahead for the next page: nothing (if unset); `next`: name all its objects for
    prefetching; `pushed`: push those on the server of the document, and name the others. Needs
    `visit_after`."""
    compute: str
    """Multiply the computing times of the browser by this factor; `phone` is 4. If unset, 1. 0 to 100."""
    cc: Literal["reno", "cubic", "bbr"]
    """Servers: Congestion control; if unset, the profile's. Default: cubic."""
    policy: Literal["priority", "round-robin", "weighted", "first-come-first-served", "dependencies"]
    """Which of the responses that are ready a server sends next (SPDY, HTTP/2). Default: priority."""
    request_order: Literal["priority", "first-come-first-served"]
    """Which of the requests that are ready at the same time a client sends next (SPDY, HTTP/2). Default:
    priority."""
    frame_bytes: int
    """Maximum payload of a DATA frame, in bytes (SPDY, HTTP/2). Default: 16384. 256 to 16,384."""
    max_streams: int
    """Maximum number of concurrent streams that the peer may open (SPDY, HTTP/2). Default: 100. 1 to
    10,000."""
    priorities: Literal["recorded", "none", "kind", "dependencies"]
    """Priorities that the browser gives to requests: as recorded (if unset), all equal (`none`), by the
    kind of object, or by how many objects wait for it in a row (`dependencies`)."""
    push: Literal["nothing", "embedded", "dependencies", "all", "listed"]
    """Objects that servers push with a response (SPDY, HTTP/2): those embedded in it, of these only the
    ones that others wait for (`dependencies`), all, or those that the page lists. Default: nothing."""
    push_levels: int
    """Levels of embedding that are pushed: with 2, also what is embedded in an object that is embedded in
    the response. Default: 1. 1 to 16."""
    hint: Literal["nothing", "embedded", "dependencies", "all", "listed"]
    """Objects that servers announce, so that the client requests them early; the values are those of
    `push`. Default: nothing."""
    preconnect: Literal["nothing", "hosts"]
    """Hosts to which the first response tells the client to open connections, by Link: none, or all hosts
    of the page. Default: nothing."""
    hint_by: Literal["early-hints", "link", "subresource"]
    """How servers announce objects: by a 103 (Early Hints) response, or in the response by its field Link
    or X-Subresource. Default: early-hints."""
    notsent_lowat: int
    """Servers: Maximum number of bytes that are written to a socket and not sent yet (Linux's
    TCP_NOTSENT_LOWAT); if unset, the profile's, 16,384. The smaller, the later the next data is chosen.
    2,048 to 1,073,741,824."""
    receive_window: int
    """Servers: Receive window in bytes, 2 KiB to 1 GiB; if unset, the profile's. Linux takes half of the
    receive buffer for it, which then does not grow. 2,048 to 1,073,741,824."""
    tcp: Literal["textbook", "linux-2.6", "linux-3.7", "windows-7", "mac-os-x-10.5", "linux-6"]
    """Servers: Operating system whose TCP is modelled; `textbook` follows the RFCs alone. Default:
    linux-6."""
    flows: int
    """Servers: Behave like N connections in one (TCP+ of the study `nsdi`); if unset, 1. 1 to 256."""
    client_iw: int
    """Client: Initial window in segments (RFC 6928); if unset, the profile's. Default: 10. 1 to 1,000."""
    client_cc: Literal["reno", "cubic", "bbr"]
    """Client: Congestion control; if unset, the profile's. Default: cubic."""
    client_receive_window: int
    """Client: Receive window in bytes, 2 KiB to 1 GiB; if unset, the profile's. Linux takes half of the
    receive buffer for it, which then does not grow. 2,048 to 1,073,741,824."""
    client_tcp: Literal["textbook", "linux-2.6", "linux-3.7", "windows-7", "mac-os-x-10.5", "linux-6"]
    """Client: Operating system whose TCP is modelled; `textbook` follows the RFCs alone. Default: as tcp."""
    client_flows: int
    """Client: Behave like N connections in one (TCP+ of the study `nsdi`); if unset, 1. Default: as flows.
    1 to 256."""
    spread: int
    """Vary the rates of each link and the delay of each direction at random, by up to this many percent.
    Above 0, traces also begin at a random point, and programs wake up at random moments. Default: 0. 0
    to 50."""
    spread_times: int
    """Vary the processing times of servers and the times of the page at random, by up to this many
    percent. Computing times of a page that was recorded several times vary as recorded instead, unless
    this is 0. Default: 0. 0 to 50."""
    seed: int
    """Seed of the random decisions of the first run; each further run has the next number. Default: 1."""


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
