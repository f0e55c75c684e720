"""What an attack is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from attacks.client import Pace, at_once
from attacks.protocol import Protocol


class Aim(Enum):
    """What an attack is after, and by what it is judged."""

    MEMORY = "memory"
    PROCESSOR = "processor"


@dataclass(frozen=True)
class Attack:
    """What each connection of an attacker does."""

    name: str
    protocol: Protocol
    aim: Aim
    pieces: Callable[[], Sequence[bytes]]
    """What it sends, one after the other."""
    pace: Pace = at_once
    connections: int = 1
    reads: bool = True
    """Whether it takes what the server answers."""
    repeats: int = 0
    """How often it connects again after the server has closed."""
