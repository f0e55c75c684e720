"""Initial windows of servers: how much each sends before it hears anything of it, and what follows."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from loadstone import _native, text, verb_output
from loadstone.fetch import until_stopped

MSS = (64, 128)
"""What is announced, in bytes. Two, since a window can be so many segments or so many bytes; and small, since
a window can only be seen where there is more to send than it lets go."""
REPEAT = 3
"""How often each, since the end of a flight can be lost without a trace."""

Document = dict[str, Any]
FlightEnd = Literal["congestion_window", "response", "receive_window"]


@dataclass(frozen=True)
class Flight:
    """What a server sent before it heard anything of it, by `InitialFlight` of crates/bed."""

    mss: int
    segments: int
    bytes: int
    longest: int
    lost: int
    round_trip_ms: float
    span_ms: float
    end: FlightEnd

    @property
    def is_exact(self) -> bool:
        """Say whether it is the window; else the window is at least so large."""
        return self.end == "congestion_window"


@dataclass(frozen=True)
class Window:
    """A server's initial window: so many segments, so many bytes, or at least so many segments."""

    segments: int | None
    bytes: int | None
    is_exact: bool

    @property
    def words(self) -> str:
        """Say it."""
        said = f"{self.bytes:,} bytes" if self.segments is None else text.count(self.segments, "segment")
        return said if self.is_exact else f"at least {said}"


@dataclass(frozen=True)
class ProbedServer:
    """What was seen of a server."""

    url: str
    address: str | None
    flights: list[Flight]
    failure: str | None

    def largest(self, mss: int) -> Flight | None:
        """Give the largest flight with this MSS: what is lost at the end of one makes it look smaller."""
        return max((one for one in self.flights if one.mss == mss), key=lambda one: one.bytes, default=None)

    @property
    def window(self) -> Window | None:
        """Give its window; `None` if nothing was seen, or if it goes by another rule."""
        seen = [flight for mss in MSS if (flight := self.largest(mss)) is not None]
        exact = [flight for flight in seen if flight.is_exact]
        if not seen:
            return None
        most = max(flight.segments for flight in seen)
        if not exact:
            return Window(most, None, is_exact=False)
        if all(flight.segments == most for flight in exact) and most == exact[0].segments:
            return Window(most, None, is_exact=True)
        # So many bytes: then the last segment may be cut off or left out.
        least, largest = (pick(flight.bytes for flight in seen) for pick in (min, max))
        if len(exact) == len(seen) and largest - least <= max(flight.longest for flight in seen):
            return Window(None, largest, is_exact=True)
        return None


@dataclass(frozen=True)
class Probed:
    """What was seen of all servers, and whether that is all because the user had enough."""

    client: str
    servers: list[ProbedServer]
    interrupted: bool


def probe(urls: Sequence[str], resolve: Sequence[str], timeout: float) -> Probed:
    """See the windows of the servers of these URLs; Ctrl-C ends it with what was seen."""
    wanted = {"urls": urls, "resolve": resolve, "timeout": timeout, "mss": MSS, "repeat": REPEAT}
    said, interrupted = until_stopped(lambda stopper: _native.probe_windows(json.dumps(wanted), stopper))
    return read(json.loads(said), interrupted=interrupted)


def read(said: Document, *, interrupted: bool = False) -> Probed:
    """Read what crates/py/src/window_probe.rs says."""
    servers = [
        ProbedServer(**{**server, "flights": [Flight(**flight) for flight in server["flights"]]})
        for server in said["servers"]
    ]
    return Probed(said["client"], servers, interrupted)


def document(probed: Probed) -> Document:
    """Give all of it for programs."""
    servers = [
        {**asdict(server), "window": None if server.window is None else asdict(server.window)}
        for server in probed.servers
    ]
    return {"client": probed.client, "servers": servers, "interrupted": probed.interrupted}


def in_words(probed: Probed) -> str:
    """Give it as a table, a line for each server."""
    heads = [f"MSS {mss}" for mss in MSS]
    rows = [["url", "address", "initial window", *heads, "lost", "round trip", "within"]]
    rows += [_row(server) for server in probed.servers if server.flights]
    lines = [text.table(rows)] if len(rows) > 1 else []
    for server in probed.servers:
        if server.failure:
            lines.append(f"failed: {text.printable(server.url)}: {text.printable(server.failure)}")
    if len(rows) > 1:
        lines += ["", *verb_output.wrapped(_EXPLANATION)]
    return "\n".join(lines)


_EXPLANATION = (
    "The columns MSS have the segments of the largest of three flights with that MSS, with >= where the "
    "window may be larger: the server had no more to send. Ask for something larger then."
)


def _row(server: ProbedServer) -> list[str]:
    flights = [server.largest(mss) for mss in MSS]
    window = server.window
    return [
        text.printable(text.shorten(server.url, 50)),
        server.address or "-",
        "by another rule" if window is None else window.words,
        *("-" if one is None else f"{'' if one.is_exact else '>='}{one.segments}" for one in flights),
        str(sum(one.lost for one in server.flights)),
        text.ms(min(one.round_trip_ms for one in server.flights)),
        text.ms(max(one.span_ms for one in server.flights)),
    ]
