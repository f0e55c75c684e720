"""Pictures of a wanted size: baseline JPEG and PNG, written from the formats' descriptions.

A JPEG is composed of coefficients directly: each block has its own brightness, taken from a landscape of
smooth hills, and a texture drawn from a stock of ready strings of bits. So a picture of half a megapixel
takes a fraction of a second, looks like a blurred photograph and has as many bytes as wanted.
"""

import math
import struct
import zlib
from random import Random

STOCK = 64
QUANT = 12


def jpeg(random: Random, width: int, height: int, size: int) -> bytes:
    """Give a JPEG (ITU-T T.81, baseline, 4:2:0) of about `size` bytes."""
    across, down = -(-width // 16), -(-height // 16)
    bits = max(4.0, (size - 700) * 8 / (across * down * 4) - 8)
    stock = [texture(random, bits * (0.3 + 1.4 * at / STOCK)) for at in range(STOCK)]
    scene = [landscape(random) for _ in range(3)]
    before = [0, 0, 0]
    stream: list[str] = []
    for top in range(down):
        for left in range(across):
            for at in range(4):
                x, y = left * 2 + at % 2, top * 2 + at // 2
                light = level(scene[0], x / (2 * across), y / (2 * down))
                stream.append(direct(light - before[0]) + stock[random.randrange(STOCK)])
                before[0] = light
            for part in (1, 2):
                tint = level(scene[part], left / across, top / down) // 2
                stream.append(direct(tint - before[part]) + "00000000")
                before[part] = tint
    text = "".join(stream)
    text += "1" * (-len(text) % 8)
    body = int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\x00")
    return heads(width, height) + body + b"\xff\xd9"


def landscape(random: Random) -> list[tuple[float, float, float, float]]:
    """Draw some hills: place, width and height of each."""
    return [
        (random.random(), random.random(), random.uniform(2, 9), random.uniform(-60, 60)) for _ in range(6)
    ]


def level(scene: list[tuple[float, float, float, float]], x: float, y: float) -> int:
    """Give the height of a landscape at a place; only sums and products, the same on every machine."""
    total = 0.0
    for place_x, place_y, steep, height in scene:
        apart = steep * ((x - place_x) * (x - place_x) + (y - place_y) * (y - place_y))
        total += height / (1 + apart * apart)
    return int(max(-80.0, min(80.0, total)))


def category(value: int) -> tuple[int, str]:
    """Give how many bits a number has, and these bits as JPEG writes them."""
    bits = abs(value).bit_length()
    shown = value if value >= 0 else value + (1 << bits) - 1
    return bits, format(shown, f"0{bits}b") if bits else ""


def direct(difference: int) -> str:
    """Write a block's mean: its code is its category in four bits."""
    bits, shown = category(difference)
    return format(bits, "04b") + shown


def texture(random: Random, bits: float) -> str:
    """Write the other coefficients of a block: code (run and category, eight bits) and value."""
    done, place = "", 1
    while len(done) + 8 < bits and place < 60:
        run = min(int(random.expovariate(1.2)), 63 - place)
        place += run + 1
        size = max(1, min(4, int(random.gauss(2.6 - place / 24, 0.8))))
        value = random.randint(1 << (size - 1), (1 << size) - 1) * random.choice((-1, 1))
        done += format(1 + run * 10 + size - 1, "08b") + category(value)[1]
    return done + "00000000"


def heads(width: int, height: int) -> bytes:
    """Write all that stands before the coefficients."""
    tables = bytes([0]) + bytes(QUANT + at // 4 for at in range(64))
    frame = struct.pack(">BHHB", 8, height, width, 3) + bytes([1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0])
    # Twelve categories of means have codes of four bits; end of block and 160 pairs have codes of eight.
    means = bytes([0x00, 0, 0, 0, 12, *[0] * 12, *range(12)])
    pairs = [0x00, *((run << 4) | size for run in range(16) for size in range(1, 11))]
    others = bytes([0x10, *[0] * 7, len(pairs), *[0] * 8, *pairs])
    scan = bytes([3, 1, 0x00, 2, 0x00, 3, 0x00, 0, 63, 0])
    parts = [(0xDB, tables), (0xC0, frame), (0xC4, means), (0xC4, others), (0xDA, scan)]
    jfif = b"JFIF\0" + bytes([1, 1, 0, 0, 1, 0, 1, 0, 0])
    return b"\xff\xd8" + b"".join(
        struct.pack(">BBH", 0xFF, mark, len(data) + 2) + data for mark, data in [(0xE0, jfif), *parts]
    )


def png(random: Random, width: int, height: int, size: int) -> bytes:
    """Give a PNG of shapes with a palette, speckled until it has about `size` bytes."""
    palette = bytes(random.randrange(256) for _ in range(3 * 256))
    discs = [
        (random.random() * width, random.random() * height, random.random() * width / 3) for _ in range(6)
    ]
    rows = [bytearray(width) for _ in range(height)]
    for number, (x, y, radius) in enumerate(discs):
        for at in range(max(0, int(y - radius)), min(height, int(y + radius))):
            half = int(math.sqrt(max(0.0, radius * radius - (at - y) * (at - y))))
            begin, end = max(0, int(x) - half), min(width, int(x) + half)
            rows[at][begin:end] = bytes([17 * number + 9]) * max(0, end - begin)
    for _ in range(max(0, size - 1400) * 2 // 5):
        rows[random.randrange(height)][random.randrange(width)] = random.randrange(256)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", palette), (b"IDAT", data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
        for kind, part in chunks
    )
