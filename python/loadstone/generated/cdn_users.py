"""The users of a generated CDN: who comes when, from where, over what, and asks for what."""

import ipaddress
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from loadstone import experiment, pages
from loadstone._native import LoadstoneError, Scenario
from loadstone.generated.cdn_model import AccessType, CdnModel, Site

SERVED, AFTER = "edge", "after"
"""Hosts of a user's page: `edge-1.test` and so on, one for each connection; and what keeps a load going."""
_SETTLE_MS = 3_000
"""So long the packets after the last response are still seen: its acknowledgement, and repairs."""
_TOGETHER_MS = 200
"""A user's connections begin within so long."""
_LIKE_NEIGHBOURS = 0.5
"""How much of the variance of round trips and losses all users of a prefix share."""
_FIRST_AS = 64_512
"""ASes for private use begin here (RFC 6996)."""
_MOST_LOSS = 60.0
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Prefix:
    """A /24 of a site's users."""

    address: int
    """Its first address."""
    country: str
    site: str
    asn: int
    access: AccessType
    rtt_z: float
    loss_z: float


@dataclass(frozen=True)
class CdnUser:
    """One user, who comes once."""

    start_ms: float
    seed: int
    client: int
    server: int
    """Addresses."""
    scenario: Scenario


def server_address(site: int) -> int:
    """Give the address of a site's server: of those for documentation (RFC 5737)."""
    return int(ipaddress.IPv4Address("192.0.2.1")) + site


def prefixes(model: CdnModel, site: int, seed: int) -> list[Prefix]:
    """Draw where a site's users are."""
    found = []
    of = model.sites[site]
    for number in range(of.prefixes):
        chance = random.Random(f"{seed} {site} prefix {number}")
        (access,) = chance.choices(model.access, [one.share for one in model.access])
        base = int(ipaddress.IPv4Address("10.0.0.0")) + (site << 16) + (number << 8)
        asn = _FIRST_AS + (site << 8) + number % of.networks
        found.append(Prefix(base, of.country, of.name, asn, access, chance.gauss(0, 1), chance.gauss(0, 1)))
    return found


def networks(of_sites: Sequence[Sequence[Prefix]]) -> list[dict[str, str]]:
    """Give what is known of all prefixes, as a table for `analyze --networks`."""
    return [
        {
            "network": f"{ipaddress.IPv4Address(one.address)}/24",
            "site": one.site,
            "country": one.country,
            "asn": f"{one.asn}",
            "access": one.access.name,
        }
        for prefixes in of_sites
        for one in prefixes
    ]


@dataclass(frozen=True)
class Arrival:
    """That a user comes to a site, as its number there."""

    start_ms: float
    site: int
    number: int


def arrivals(model: CdnModel, users: int, seed: int) -> list[Arrival]:
    """Draw when so many users come to each site, in the order of time."""
    found = []
    for site in range(len(model.sites)):
        chance = random.Random(f"{seed} {site} arrivals")
        moments = sorted(chance.uniform(0, model.seconds * 1000) for _ in range(users))
        found += [Arrival(moment, site, number) for number, moment in enumerate(moments)]
    return sorted(found, key=lambda one: (one.start_ms, one.site, one.number))


def user(
    model: CdnModel,
    arrival: Arrival,
    among: Sequence[Prefix],
    seed: int,
    server: Mapping[str, Any] | None = None,
) -> CdnUser:
    """Draw a user; `server` is set otherwise of the servers' TCP than the model says.

    What is drawn does not depend on `server`.

    Raises:
        InputError: if the engine does not take a TCP of the model, or what was drawn.
    """
    site = model.sites[arrival.site]
    chance = random.Random(f"{seed} {arrival.site} user {arrival.number}")
    # Large networks are few, as of words in a text.
    weights = [*accumulate(1 / (place + 2) for place in range(len(among)))]
    (prefix,) = chance.choices(among, cum_weights=weights)
    network, rtt_ms = _network(site, prefix, chance)
    (system,) = chance.choices(model.clients, [one.share for one in model.clients])
    page = {"objects": _objects(model, chance, rtt_ms)}
    tcp = {**model.server, **(server or {})}
    variant = {"tcp": tcp, "client_tcp": {"profile": system.profile}}
    seed_of_load, place = chance.randrange(1, 1 << 31), 1 + chance.randrange(250)
    try:
        load = experiment.scenario(pages.of_document(page), {"network": network, "variant": variant})
    except LoadstoneError as error:
        raise experiment.refusal(error) from None
    client, server_at = prefix.address + place, server_address(arrival.site)
    return CdnUser(arrival.start_ms, seed_of_load, client, server_at, load)


def _network(site: Site, prefix: Prefix, chance: random.Random) -> tuple[str, float]:
    """Draw a user's access link: as those of its prefix, and different."""

    def like(neighbours: float) -> float:
        return math.sqrt(_LIKE_NEIGHBOURS) * neighbours + math.sqrt(1 - _LIKE_NEIGHBOURS) * chance.gauss(0, 1)

    access = prefix.access
    rtt_ms = min(max(site.rtt_ms.at(like(prefix.rtt_z)) * access.rtt_factor, 1), 20_000)
    loss = min(site.loss_percent.at(like(prefix.loss_z)), _MOST_LOSS)
    down = min(max(access.down_mbit.at(chance.gauss(0, 1)), 0.03), 10_000)
    up = max(down * access.up_share, 0.03)
    lost = f",loss={loss:.3f}%/0%" if loss else ""
    return f"{down:.3f}/{up:.3f}mbit,{rtt_ms:.1f}ms{lost},queue={access.queue_ms:g}ms", rtt_ms


def _objects(model: CdnModel, chance: random.Random, rtt_ms: float) -> list[dict[str, Any]]:
    """Draw what a user asks for: each connection has a host of its own, and one request at a time."""
    asks = model.requests
    objects: list[dict[str, Any]] = []
    last = []
    for connection in range(chance.randint(1, asks.most_connections)):
        count = int(min(asks.of_connection.at(chance.gauss(0, 1)), 200))
        for place in range(count):
            size = int(min(max(asks.bytes.at(chance.gauss(0, 1)), 1), _MOST_BYTES))
            url = f"http://{SERVED}-{connection + 1}.test/{place}"
            needs: list[dict[str, Any]] = []
            if place:
                # The server sees the gap with a round trip in it.
                pause = max(asks.gap_ms.at(chance.gauss(0, 1)) - rtt_ms, 0)
                needs = [{"node": objects[-1]["url"], "timer_ms": round(min(pause, 1e6), 3)}]
            elif connection:
                begins = round(chance.uniform(0, _TOGETHER_MS), 3)
                needs = [{"node": objects[0]["url"], "on": "start", "timer_ms": begins}]
            objects.append({"url": url, "bytes": size, "needs": needs})
        last.append(objects[-1]["url"])
    ends = [{"node": url, "timer_ms": _SETTLE_MS} for url in last]
    return [*objects, {"url": f"http://{AFTER}.test/", "bytes": 1, "needs": ends}]
