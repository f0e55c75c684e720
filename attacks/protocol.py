"""What a client of any protocol needs: how to ask, and what it heard."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass
class Heard:
    """What a server said on one connection."""

    answered: int = 0
    """Heads of responses."""
    completed: int = 0
    """Responses that came to their end."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Of HTTP/1.1, which needs no decompression."""
    resets: int = 0
    acknowledged: int = 0
    """Answers to PING and SETTINGS."""
    goaway: str | None = None
    """Its error code's name."""
    window: Counter[int] = field(default_factory=Counter)
    """What WINDOW_UPDATE gave, by stream."""
    initial_window: int = 65_535
    """What a stream has before that (RFC 9113, section 6.5.2)."""
    closed: str | None = None


class Protocol(NamedTuple):
    """A protocol as far as attackers and other clients speak it."""

    name: str
    requests: Callable[[], Iterator[bytes]]
    """What one connection sends to ask for the small file, again and again."""
    hear: Callable[[bytearray, Heard], None]
    """Takes what is complete from the beginning of what came, and notes it."""


SMALL = "/"
"""A file of a few bytes, which every server has."""
LARGE = "/large"
"""A file that is larger than all buffers of a connection."""
UPLOAD = "/echo"
"""Takes bodies."""
HOST = "localhost"
