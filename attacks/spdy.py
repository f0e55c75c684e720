"""SPDY/3.1 as bytes: control frames and header blocks (draft 3, section 2.6)."""

import zlib
from collections.abc import Callable, Iterator
from itertools import count

from attacks.protocol import HOST, SMALL, Heard, Protocol

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, NOOP, PING, GOAWAY, HEADERS, WINDOW_UPDATE = range(1, 10)
FLAG_FIN = 1
INITIAL_WINDOW_SIZE = 7
CANCEL = 5
ERRORS = ("OK", "PROTOCOL_ERROR", "INTERNAL_ERROR")

_WORDS = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|"
    "accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-encoding|"
    "content-language|content-length|content-location|content-md5|content-range|content-type|date|etag|"
    "expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|"
    "last-modified|location|max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|"
    "retry-after|server|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|"
    "www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|keep-alive|origin"
)
_VALUES = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
    "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 "
    "Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb "
    "Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,"
    "text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def text(content: bytes) -> bytes:
    """Write a string with its length."""
    return len(content).to_bytes(4) + content


DICTIONARY = b"".join(text(word.encode()) for word in _WORDS.split("|")) + _VALUES.encode()
"""What compression begins with (draft 3, section 2.6.10.1)."""


def control(kind: int, payload: bytes, flags: int = 0) -> bytes:
    """Write a control frame."""
    return b"\x80\x03" + kind.to_bytes(2) + bytes([flags]) + len(payload).to_bytes(3) + payload


def settings(*entries: tuple[int, int]) -> bytes:
    """Write SETTINGS."""
    written = b"".join(name.to_bytes(4) + value.to_bytes(4) for name, value in entries)
    return control(SETTINGS, len(entries).to_bytes(4) + written)


def rst_stream(stream: int) -> bytes:
    """Write RST_STREAM."""
    return control(RST_STREAM, stream.to_bytes(4) + CANCEL.to_bytes(4))


def syn_stream(stream: int, block: bytes) -> bytes:
    """Write SYN_STREAM of a request without body."""
    return control(SYN_STREAM, stream.to_bytes(4) + bytes(6) + block, FLAG_FIN)


def head(**more: bytes) -> bytes:
    """Write the fields of a request for the small file, and these."""
    fields = {
        ":method": b"GET",
        ":path": SMALL.encode(),
        ":scheme": b"http",
        ":host": HOST.encode(),
        ":version": b"HTTP/1.1",
        **more,
    }
    written = b"".join(text(name.encode()) + text(value) for name, value in fields.items())
    return len(fields).to_bytes(4) + written


def compressor() -> Callable[[bytes], bytes]:
    """Begin the compression of a connection: all its blocks are one stream of zlib."""
    stream = zlib.compressobj(9, zdict=DICTIONARY)
    return lambda block: stream.compress(block) + stream.flush(zlib.Z_SYNC_FLUSH)


def requests() -> Iterator[bytes]:
    """Ask for the small file on stream after stream."""
    compress = compressor()
    # Where there is nothing to say at the beginning, a window that is never in the way.
    yield control(WINDOW_UPDATE, bytes(4) + (2**30).to_bytes(4))
    for stream in count(1, 2):
        yield syn_stream(stream, compress(head()))


def hear(came: bytearray, heard: Heard) -> None:
    """Note the frames that are complete."""
    at = 0
    while at + 8 <= len(came):
        end = at + 8 + int.from_bytes(came[at + 5 : at + 8])
        if end > len(came):
            break
        kind = int.from_bytes(came[at + 2 : at + 4]) if came[at] & 0x80 else 0
        if kind == SYN_REPLY:
            heard.answered += 1
        if kind in (0, SYN_REPLY) and came[at + 4] & FLAG_FIN:
            heard.completed += 1
        elif kind == PING:
            heard.acknowledged += 1
        elif kind == RST_STREAM:
            heard.resets += 1
        elif kind == GOAWAY:
            heard.goaway = ERRORS[int.from_bytes(came[at + 12 : at + 16])]
        at = end
    del came[:at]


PROTOCOL = Protocol("spdy/3.1", requests, hear)
