"""Where the edges of a CDN stand that is simulated: DNS names the nearest (`yahoo`, section 2.1)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loadstone.files import InputError

_FIELDS = ("rtt_ms", "backhaul")


@dataclass(frozen=True)
class EdgePlace:
    """Where an edge stands."""

    backhaul: str
    """The network between it and its origins."""
    name: str = "edge"
    rtt_ms: float = 0
    """From the end of the access link to it and back."""

    @property
    def way(self) -> str:
        """Give the network from the end of the access link to it, whose rate does not matter."""
        return f"1000gbit,{self.rtt_ms:g}ms,queue=100000p"


def read(path: str, listed: Any, backhaul_at: Callable[[str, Any], str]) -> tuple[EdgePlace, ...]:
    """Read the table `simulated.edges`, the nearest first; `backhaul_at` checks a network, with its place."""
    place = f"{path}: simulated.edges"
    if not isinstance(listed, Mapping) or not listed:
        raise InputError(
            f'{place}: name each edge, as in frankfurt = {{ rtt_ms = 5, backhaul = "1gbit,90ms" }}'
        )
    places = []
    for name, fields in listed.items():
        if not isinstance(fields, Mapping) or sorted(fields) != sorted(_FIELDS):
            raise InputError(f"{place}.{name}: give {' and '.join(_FIELDS)}, and nothing else")
        rtt_ms = fields["rtt_ms"]
        if type(rtt_ms) not in (int, float) or not 0 <= rtt_ms <= 10_000:
            raise InputError(f"{place}.{name}.rtt_ms: {rtt_ms!r} is no number from 0 to 10,000")
        backhaul = backhaul_at(f"{place}.{name}.backhaul", fields["backhaul"])
        places.append(EdgePlace(backhaul, name, rtt_ms))
    return tuple(sorted(places, key=lambda one: one.rtt_ms))
