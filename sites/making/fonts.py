"""Fonts of a wanted size: TrueType outlines in a WOFF2 file (W3C WOFF 2.0, RFC 7932).

The Brotli stream in it is stored, not compressed: outlines drawn at random hold as much as
those of a real font after compression. Each letter is a polygon of its own.
"""

import struct
from random import Random

KNOWN = ["cmap", "head", "hhea", "hmtx", "maxp", "name", "OS/2", "post", "glyf", "loca"]
NUMBERS = {"cmap": 0, "head": 1, "hhea": 2, "hmtx": 3, "maxp": 4, "name": 5, "OS/2": 6, "post": 7}
NUMBERS |= {"glyf": 10, "loca": 11}
FIRST, LAST = 0x20, 0x17F


def woff2(random: Random, family: str, size: int) -> bytes:
    """Give a font of Latin letters in about `size` bytes."""
    count = LAST - FIRST + 2
    points = max(4, min(250, (size - 2200 - 14 * count) // (5 * count)))
    glyphs = [glyph(random, points) for _ in range(count)]
    tables = {
        "cmap": cmap(),
        "head": struct.pack(
            ">IIIIHHQQhhhhHHhhh",
            0x10000,
            0x10000,
            0,
            0x5F0F3CF5,
            0x0803,
            1000,
            0,
            0,
            0,
            -200,
            1000,
            800,
            0,
            8,
            2,
            1,
            0,
        ),
        "hhea": struct.pack(
            ">IhhhHhhhhhhhhhhhH", 0x10000, 800, -200, 0, 600, 0, 0, 600, 1, 0, 0, *[0] * 5, count
        ),
        "hmtx": struct.pack(">Hh", 600, 0) * count,
        "maxp": struct.pack(">IHHHHHHHHHHHHHH", 0x10000, count, points, 1, 0, 0, 1, *[0] * 8),
        "name": names(family),
        "OS/2": os2(),
        "post": struct.pack(">IIhhIIIII", 0x30000, 0, -100, 50, 0, 0, 0, 0, 0),
        "glyf": b"".join(glyphs),
        "loca": b"".join(struct.pack(">I", sum(len(one) for one in glyphs[:at])) for at in range(count + 1)),
    }
    directory = b"".join(
        bytes([NUMBERS[tag] | (0xC0 if tag in ("glyf", "loca") else 0)]) + base128(len(tables[tag]))
        for tag in KNOWN
    )
    body = stored(b"".join(tables[tag] for tag in KNOWN))
    whole = 12 + 16 * len(KNOWN) + sum(len(table) + -len(table) % 4 for table in tables.values())
    length = 48 + len(directory) + len(body)
    padding = -length % 4
    head = struct.pack(
        ">4sIIHHIIHHIIIII",
        b"wOF2",
        0x10000,
        length + padding,
        len(KNOWN),
        0,
        whole,
        len(body),
        1,
        0,
        *[0] * 5,
    )
    return head + directory + body + bytes(padding)


def glyph(random: Random, points: int) -> bytes:
    """Draw one letter: a closed line through points inside the square."""
    places = [(random.randint(20, 580), random.randint(-180, 780)) for _ in range(points)]
    steps = [
        (x - before[0], y - before[1]) for before, (x, y) in zip([(0, 0), *places], places, strict=False)
    ]
    box = [
        min(x for x, _ in places),
        min(y for _, y in places),
        max(x for x, _ in places),
        max(y for _, y in places),
    ]
    data = struct.pack(">hhhhhHH", 1, *box, points - 1, 0) + b"\x01" * points
    data += b"".join(struct.pack(">h", x) for x, _ in steps) + b"".join(
        struct.pack(">h", y) for _, y in steps
    )
    return data + bytes(-len(data) % 4)


def cmap() -> bytes:
    """Map characters to letters, one after the other (format 4)."""
    segments = [(FIRST, LAST, (1 - FIRST) & 0xFFFF), (0xFFFF, 0xFFFF, 1)]
    columns = [
        [end for _, end, _ in segments],
        [start for start, _, _ in segments],
        [delta for *_, delta in segments],
    ]
    body = struct.pack(">HHHH", 4, 4, 1, 0) + struct.pack(">HH", *columns[0]) + bytes(2)
    body += struct.pack(">HH", *columns[1]) + struct.pack(">HH", *columns[2]) + bytes(4)
    return struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, 6 + len(body), 0) + body


def names(family: str) -> bytes:
    """Write the family's name as the four names that are asked for."""
    shown = family.encode("utf-16-be")
    regular = "Regular".encode("utf-16-be")
    records, strings = b"", b""
    for number in (1, 2, 4, 6):
        one = regular if number == 2 else shown
        records += struct.pack(">HHHHHH", 3, 1, 0x409, number, len(one), len(strings))
        strings += one
    return struct.pack(">HHH", 0, 4, 6 + len(records)) + records + strings


def os2() -> bytes:
    """Write the table of measures, version 4."""
    head = struct.pack(">HhHHH", 4, 600, 400, 5, 0) + struct.pack(">10h", *[100] * 10) + struct.pack(">h", 0)
    middle = bytes(10) + struct.pack(">IIII", 3, 0, 0, 0) + b"TEST"
    tail = struct.pack(">HHHhhhHH", 0x40, FIRST, LAST, 800, -200, 0, 800, 200) + struct.pack(">II", 1, 0)
    return head + middle + tail + struct.pack(">hhHHH", 500, 700, 0, FIRST, 0)


def base128(number: int) -> bytes:
    """Write a number in groups of seven bits."""
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(0x80 | number & 0x7F)
    return bytes(reversed(groups))


def stored(data: bytes) -> bytes:
    """Write a Brotli stream of blocks that are not compressed."""
    done = b""
    for at in range(0, len(data), 1 << 16):
        part = data[at : at + (1 << 16)]
        # A block: not the last, length in four nibbles, not compressed. Before the first, the window's size.
        bits = (len(part) - 1) << 3 | 1 << 19
        bits = bits << 4 | 0xB if at == 0 else bits
        done += bits.to_bytes(3, "little") + part
    return done + b"\x03"
